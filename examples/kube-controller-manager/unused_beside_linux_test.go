package main

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// The condition Unused of claims goes through the same states under both programs, with pods that name a
// claim, end, are deleted and return.
func TestUnusedClaimsBeside(t *testing.T) {
	ours, theirs := programs(t)
	require.Equal(t, unusedStates(t, theirs), unusedStates(t, ours))
}

// unusedStates returns the condition of a claim after each step of a history.
func unusedStates(t *testing.T, program string) (states []string) {
	c := controllertest.Start(t, controllertest.Options{})
	s := &side{t: t, c: c, log: &bytes.Buffer{}}
	s.start(program, "--feature-gates=PersistentVolumeClaimUnusedSinceTime=true")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "data")}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	newPod := func(name, node string) {
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
		p.Spec.NodeName, p.Spec.Containers = node, []corev1.Container{{Name: "main", Image: "app:1"}}
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		controllertest.Create(c, p)
	}
	kill := func(name string) {
		controllertest.Delete[*corev1.Pod](c, "default", name, client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	}
	// after notes the condition when it has the status that a step leads to.
	after := func(step string, want corev1.ConditionStatus, do func()) {
		do()
		require.Eventually(t, func() bool {
			conditions := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "data").Status.Conditions
			if len(conditions) != 1 || conditions[0].Status != want {
				return false
			}
			states = append(states, fmt.Sprintf("%s: %s %s %s %s", step, conditions[0].Type, want, conditions[0].Reason, conditions[0].Message))
			return true
		}, time.Minute, 10*time.Millisecond, step)
	}
	after("created", corev1.ConditionTrue, func() { controllertest.Create(c, claim) })
	after("named by a pod without a node", corev1.ConditionFalse, func() { newPod("a", "") })
	after("without it", corev1.ConditionTrue, func() { kill("a") })
	after("named by a pod on a node", corev1.ConditionFalse, func() { newPod("b", "node") })
	after("which has ended", corev1.ConditionTrue, func() {
		controllertest.UpdateStatus(c, "default", "b", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	})
	after("named by another one", corev1.ConditionFalse, func() { newPod("c", "node") })
	after("which is being deleted and does not run", corev1.ConditionTrue, func() { controllertest.Delete[*corev1.Pod](c, "default", "c") })
	return states
}
