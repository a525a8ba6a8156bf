package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// The subresources of a pod change only their part of it. Of its metadata, status can change labels,
// annotations and finalizers, and the others nothing.
func TestSubresourcesOfPodsKeepMetadata(t *testing.T) {
	p := planetest.Start(t)
	p.Account("default", "default")
	pods := client.For[*corev1.Pod](p.Admin())
	limits := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: "u"}
	old := planetest.Create(t, p.Admin(), planetest.Pod("p", func(p *corev1.Pod) {
		p.Labels, p.Annotations = map[string]string{"app": "a"}, map[string]string{"note": "b"}
		p.OwnerReferences = []metav1.OwnerReference{owner}
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: limits, Limits: limits}
	}))
	taken := func(p *corev1.Pod) {
		p.Labels, p.Annotations = map[string]string{"app": "taken"}, map[string]string{"note": "taken"}
		p.Finalizers = []string{"taken.test/f"}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "v"}}
	}
	debugger := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "x"}}
	const patch = `{"metadata":{"labels":{"app":"taken"},"annotations":{"note":"taken"},"finalizers":["taken.test/f"],"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"v"}]}`
	for _, c := range []struct {
		subresource string
		change      func(*corev1.Pod)
		patch       string
		changed     func(*corev1.Pod) bool
	}{
		{"ephemeralcontainers", func(p *corev1.Pod) { p.Spec.EphemeralContainers = []corev1.EphemeralContainer{debugger} },
			`,"spec":{"ephemeralContainers":[{"name":"debug","image":"x"},{"name":"second","image":"x"}]}}`,
			func(p *corev1.Pod) bool { return len(p.Spec.EphemeralContainers) > 0 }},
		{"resize", func(p *corev1.Pod) {
			more := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: more, Limits: more}
		}, `,"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"3"},"limits":{"cpu":"3"}}}]}}`,
			func(p *corev1.Pod) bool {
				cpu := p.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU]
				return cpu.MilliValue() > 1000
			}},
		{"status", func(p *corev1.Pod) { p.Status.Message = "m" }, `,"status":{"message":"n"}}`, func(p *corev1.Pod) bool { return p.Status.Message != "" }},
	} {
		now, err := pods.Get(t.Context(), planetest.Key("default", "p"))
		require.NoError(t, err)
		taken(now)
		c.change(now)
		check := func(got *corev1.Pod, err error) {
			t.Helper()
			require.NoError(t, err, c.subresource)
			require.True(t, c.changed(got), c.subresource)
			require.Equal(t, old.OwnerReferences, got.OwnerReferences, c.subresource)
			if c.subresource == "status" {
				require.Equal(t, "taken", got.Labels["app"], "as upstream")
				return
			}
			require.Equal(t, old.Labels, got.Labels, c.subresource)
			require.Equal(t, old.Annotations, got.Annotations, c.subresource)
			require.Empty(t, got.Finalizers, c.subresource)
		}
		part := client.Subresource[*corev1.Pod](pods, c.subresource)
		check(part.Update(t.Context(), planetest.Key("default", "p"), now))
		check(part.Patch(t.Context(), planetest.Key("default", "p"), client.Patch{Type: "application/strategic-merge-patch+json", Data: []byte(patch + c.patch)}))
	}
}

// Resources of the pod as a whole are resized through the server, and only by the resize subresource. Renamed
// containers and removed resources are refused, not dropped.
func TestResizeOfPodLevelResources(t *testing.T) {
	p := planetest.Start(t)
	p.Account("default", "default")
	pods := client.For[*corev1.Pod](p.Admin())
	level := func(cpu string) *corev1.ResourceRequirements {
		return &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
	}
	planetest.Create(t, p.Admin(), planetest.Pod("p", func(p *corev1.Pod) { p.Spec.Resources = level("1") }))
	cpu := func(p *corev1.Pod) string {
		q := p.Spec.Resources.Requests[corev1.ResourceCPU]
		return q.String()
	}
	part := client.Subresource[*corev1.Pod](pods, "resize")
	key := planetest.Key("default", "p")
	resize := func(change func(*corev1.Pod)) (*corev1.Pod, error) {
		now, err := pods.Get(t.Context(), key)
		require.NoError(t, err)
		change(now)
		return part.Update(t.Context(), key, now)
	}
	got, err := resize(func(p *corev1.Pod) { p.Spec.Resources = level("2") })
	require.NoError(t, err)
	require.Equal(t, "2", cpu(got))
	generation := got.Generation
	got, err = part.Patch(t.Context(), key, client.Patch{Type: "application/merge-patch+json", Data: []byte(`{"spec":{"resources":{"requests":{"cpu":"3"}}}}`)})
	require.NoError(t, err)
	require.Equal(t, "3", cpu(got))
	require.Equal(t, generation+1, got.Generation)

	_, err = resize(func(p *corev1.Pod) { p.Spec.Resources = nil })
	require.ErrorContains(t, err, "pod-level resources cannot be removed")
	_, err = resize(func(p *corev1.Pod) { p.Spec.Containers[0].Name = "other" })
	require.ErrorContains(t, err, "containers may not be renamed or reordered on resize")
	now, err := pods.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, "3", cpu(now))
	now.Spec.Resources = level("4")
	_, err = pods.Update(t.Context(), now)
	require.True(t, apierrors.IsInvalid(err), "%v", err)
}
