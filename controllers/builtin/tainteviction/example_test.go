package tainteviction_test

import (
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/builtin/tainteviction"
)

// How long a pod may stay on a node that is not ready.
func ExampleTolerated() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	taints := []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute, TimeAdded: new(metav1.NewTime(now))}}
	for _, tolerations := range [][]corev1.Toleration{
		nil,
		{{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(300))}},
		{{Operator: corev1.TolerationOpExists}},
	} {
		fmt.Println(tainteviction.Tolerated(tolerations, taints, now.Add(-time.Hour), now))
	}
	// Output:
	// false 0s
	// true 5m0s
	// true 0s
}
