package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

// What a writer reports to its cache equals what another server reads from the stored bytes.
func TestWritersKnowTheAttributes(t *testing.T) {
	s := memory.New(memory.Options{})
	writer, reader := startOver(t, s), startOver(t, s)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", Labels: map[string]string{"app": "web", "tier": ""}}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	pod.Spec.NodeName = "n1"
	bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "default"}}
	bare.Spec.Containers = pod.Spec.Containers
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "default"}, Reason: "Because"}
	event.InvolvedObject = corev1.ObjectReference{Namespace: "default", Name: "a", Kind: "Pod"}
	for resource, objs := range map[string][]metav1.Object{
		"pods":       {pod, bare},
		"secrets":    {&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default"}, Type: "example.com/kind"}},
		"nodes":      {&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": "z"}}}},
		"namespaces": {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}},
		"configmaps": {configMap("m")},
		"events":     {event},
	} {
		gvr := schema.GroupVersionResource{Version: "v1", Resource: resource}
		agree := func() {
			var attrs [2][]cache.Attrs
			for i, r := range []*registry.Registry{writer, reader} {
				snap, err := r.Resource(gvr).Snapshot(t.Context(), registry.Freshness{})
				require.NoError(t, err)
				for o := range snap.Range("", "") {
					require.NoError(t, o.Err)
					attrs[i] = append(attrs[i], o.Attrs)
				}
			}
			require.Len(t, attrs[1], len(objs), resource)
			for i, want := range attrs[1] {
				require.Equal(t, want.UID, attrs[0][i].UID)
				require.Equal(t, want.Fields, attrs[0][i].Fields, resource)
				require.Len(t, attrs[0][i].Labels, len(want.Labels))
				for k, v := range want.Labels {
					require.Equal(t, v, attrs[0][i].Labels[k])
				}
			}
		}
		_, err := writer.Resource(gvr).Snapshot(t.Context(), registry.Freshness{}) // the cache runs
		require.NoError(t, err)
		var made []metav1.Object
		for _, obj := range objs {
			stored, err := writer.Access().Create(t.Context(), gvr, obj, registry.Write{})
			require.NoError(t, err)
			made = append(made, stored)
		}
		agree()
		for _, obj := range made {
			_, err = writer.Access().Update(t.Context(), gvr, metav1.KeyOf(obj), func(obj metav1.Object) error {
				obj.SetLabels(map[string]string{"changed": "yes"})
				return nil
			}, registry.Write{})
			require.NoError(t, err)
		}
		agree()
	}
	_, err := writer.Access().Update(t.Context(), schema.GroupVersionResource{Version: "v1", Resource: "pods"}, key("a"), func(obj metav1.Object) error {
		obj.(*corev1.Pod).Status.Phase = corev1.PodRunning
		return nil
	}, registry.Write{Subresource: "status"})
	require.NoError(t, err)
	for _, r := range []*registry.Registry{writer, reader} {
		res := r.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
		snap, err := res.Snapshot(t.Context(), registry.Freshness{})
		require.NoError(t, err)
		o, ok := snap.Get(res.Key(key("a")))
		require.True(t, ok)
		require.Equal(t, "Running", o.Attrs.Fields["status.phase"])
		require.Equal(t, "n1", o.Attrs.Fields["spec.nodeName"])
	}
}
