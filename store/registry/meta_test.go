package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/registry"
)

func resourceOf(t *testing.T, r *registry.Registry, resource string) *registry.Resource {
	t.Helper()
	res := r.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource})
	require.NotNil(t, res)
	return res
}

// causes counts the causes of err by field.
func causes(t *testing.T, err error) map[string]int {
	t.Helper()
	var status *apierrors.StatusError
	require.ErrorAs(t, err, &status)
	out := map[string]int{}
	for _, c := range status.ErrStatus.Details.Causes {
		out[c.Field]++
	}
	return out
}

func TestMetadataFindingsAreCountedAsUpstream(t *testing.T) {
	r := start(t)
	for resource, c := range map[string]struct {
		obj  metav1.Object
		want map[string]int
	}{
		"configmaps":   {&corev1.ConfigMap{}, map[string]int{"metadata.labels": 4, "metadata.generateName": 2, "metadata.finalizers[0]": 2}},
		"podtemplates": {podTemplate(), map[string]int{"metadata.labels": 3, "metadata.generateName": 1, "metadata.finalizers[0]": 1}},
		"events":       {&corev1.Event{}, map[string]int{"metadata.labels": 2, "metadata.generateName": 1}},
	} {
		res := resourceOf(t, r, resource)
		c.obj.SetName("x")
		_, err := res.Create(t.Context(), "default", c.obj, registry.Write{})
		require.NoError(t, err, resource)
		_, _, err = res.Update(t.Context(), key("x"), func(cur registry.Current) (metav1.Object, error) {
			obj, err := cur.Copy(t.Context())
			if err == nil {
				obj.SetLabels(map[string]string{"a b": ""})
				obj.SetGenerateName("a%")
				obj.SetFinalizers([]string{"x"})
			}
			return obj, err
		}, registry.UpdateOptions{})
		require.Equal(t, c.want, causes(t, err), resource)
	}
}

func podTemplate() *corev1.PodTemplate {
	var p corev1.PodTemplate
	p.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "a:1"}}
	return &p
}

func TestLooseMetadata(t *testing.T) {
	res := resourceOf(t, start(t), "events")
	event := func(name, about string) *corev1.Event {
		e := &corev1.Event{InvolvedObject: corev1.ObjectReference{Namespace: about}}
		e.Name, e.Labels, e.Finalizers = name, map[string]string{}, []string{"x"}
		return e
	}
	_, err := res.Create(t.Context(), "default", event("A B", "default"), registry.Write{})
	require.NoError(t, err)
	_, err = res.Create(t.Context(), "default", event("a/b", "default"), registry.Write{})
	require.Equal(t, map[string]int{"metadata.name": 1}, causes(t, err))
	_, err = res.Create(t.Context(), "default", event("a/b", "other"), registry.Write{})
	require.Equal(t, map[string]int{"involvedObject.namespace": 1}, causes(t, err))
}

func TestWrittenObjectsAreNormalized(t *testing.T) {
	r := start(t)
	var warnings []string
	w := registry.Write{Warn: func(text string) { warnings = append(warnings, text) }}

	cm := configMap("owned")
	cm.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u"}, {APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u"}, {APIVersion: "v1", Kind: "Pod", Name: "q", UID: "u"},
	}
	obj, err := resourceOf(t, r, "configmaps").Create(t.Context(), "default", cm, w)
	require.NoError(t, err)
	require.Len(t, metav1.MetaOf(obj).OwnerReferences, 2)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "duplicate UID(s) observed: u")

	sa := &corev1.ServiceAccount{Secrets: []corev1.ObjectReference{{Kind: "Secret", Name: "s", Namespace: "other"}}}
	sa.Name = "sa"
	obj, err = resourceOf(t, r, "serviceaccounts").Create(t.Context(), "default", sa, registry.Write{})
	require.NoError(t, err)
	require.Equal(t, []corev1.ObjectReference{{Name: "s"}}, obj.(*corev1.ServiceAccount).Secrets)

	obj, err = resourceOf(t, r, "limitranges").Create(t.Context(), "default", &corev1.LimitRange{}, registry.Write{})
	require.NoError(t, err)
	require.Len(t, obj.GetName(), len("f47e5614-bded-4379-9dc0-ad0cae534244"))

	node := &corev1.Node{}
	node.Name, node.Namespace = "n", "anywhere"
	obj, err = resourceOf(t, r, "nodes").Create(t.Context(), "", node, registry.Write{})
	require.NoError(t, err)
	require.Empty(t, obj.GetNamespace())
}
