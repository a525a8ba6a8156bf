package kubelet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// The kubelet's own statuses come back as changed pods, for which no volume is looked at; all that volumes
// show of a pod counts.
func TestVolumesFollowWhatTheyShow(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1", Labels: map[string]string{"a": "b"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}, InitContainers: []corev1.Container{{Name: "i"}}}}
	limits := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	for name, c := range map[string]struct {
		change func(p *corev1.Pod)
		same   bool
	}{
		"status":         {func(p *corev1.Pod) { p.ResourceVersion, p.Status.Phase = "2", corev1.PodRunning }, true},
		"label":          {func(p *corev1.Pod) { p.Labels["a"] = "c" }, false},
		"annotation":     {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "c"} }, false},
		"spec":           {func(p *corev1.Pod) { p.Generation++ }, false},
		"container":      {func(p *corev1.Pod) { p.Spec.Containers[0].Resources = limits }, false},
		"init container": {func(p *corev1.Pod) { p.Spec.InitContainers[0].Resources = limits }, false},
		"pod":            {func(p *corev1.Pod) { p.Spec.Resources = &limits }, false},
	} {
		now := codec.DeepCopy(pod)
		c.change(now)
		r := &refresher{nudge: make(chan struct{}, 1), pod: pod}
		r.update(now)
		require.Same(t, now, r.pod)
		require.Equal(t, c.same, len(r.nudge) == 0, name)
	}
}
