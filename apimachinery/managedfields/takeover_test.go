package managedfields_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/patch"
)

const lastApplied = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":{"replicas":3,"paused":true}}` + "\n"

// clientApplied is a Deployment as "kubectl apply" leaves it: written by updates, with the annotation. Then
// another client set paused to false.
func clientApplied(t *testing.T) (*managedfields.Type, *appsv1.Deployment) {
	t.Helper()
	typ, err := managedfields.ForType(reflect.TypeFor[appsv1.Deployment]())
	require.NoError(t, err)
	made := &appsv1.Deployment{}
	require.NoError(t, codec.Unmarshal([]byte(lastApplied), made))
	made.Annotations = map[string]string{managedfields.LastAppliedAnnotation: lastApplied}
	require.NoError(t, typ.Update(nil, made, managedfields.Write{Manager: "kubectl-client-side-apply", APIVersion: "apps/v1"}))
	made.UID = "u"
	live := codec.DeepCopy(made)
	live.Spec.Paused = false
	require.NoError(t, typ.Update(made, live, managedfields.Write{Manager: "kubectl-edit", APIVersion: "apps/v1"}))
	return typ, live
}

func deployment(spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "x"}, "spec": spec}
}

// kubectl takes over the fields that it applied on the client's side and that did not change since; other
// managers do not.
func TestKubectlTakesOver(t *testing.T) {
	typ, live := clientApplied(t)
	scaled := deployment(map[string]any{"replicas": int64(4)})
	_, _, err := typ.Apply(live, scaled, managedfields.Write{Manager: "other", APIVersion: "apps/v1"}, false)
	require.ErrorContains(t, err, `conflict with "kubectl-client-side-apply" using apps/v1`)

	write := managedfields.Write{Manager: "kubectl", APIVersion: "apps/v1"}
	merged, changed, err := typ.Apply(live, scaled, write, false)
	require.NoError(t, err)
	require.True(t, changed)
	d := merged.(*appsv1.Deployment)
	require.EqualValues(t, 4, *d.Spec.Replicas)
	require.Equal(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":{"replicas":4}}`+"\n", d.Annotations[managedfields.LastAppliedAnnotation])
	require.Contains(t, entriesText(t, d), "Apply kubectl: spec.replicas")
	require.Equal(t, lastApplied, live.Annotations[managedfields.LastAppliedAnnotation], "live is not changed")

	again, changed, err := typ.Apply(merged, scaled, write, false)
	require.NoError(t, err)
	require.False(t, changed)
	require.Same(t, merged, again)
}

// A field that was changed since is a conflict for kubectl too, and the only one reported.
func TestKubectlDoesNotTakeOthersChanges(t *testing.T) {
	typ, live := clientApplied(t)
	live2 := codec.DeepCopy(live)
	live2.Spec.Paused, live2.Spec.MinReadySeconds = true, 5
	require.NoError(t, typ.Update(live, live2, managedfields.Write{Manager: "kubectl-edit", APIVersion: "apps/v1"}))
	config := deployment(map[string]any{"replicas": int64(4), "minReadySeconds": int64(6)})
	_, _, err := typ.Apply(live2, config, managedfields.Write{Manager: "kubectl", APIVersion: "apps/v1"}, false)
	var conflicts *managedfields.ConflictError
	require.ErrorAs(t, err, &conflicts)
	require.Len(t, conflicts.Conflicts, 1)
	require.Equal(t, ".spec.minReadySeconds", conflicts.Conflicts[0].Path.String())
}

// After an upgrade the fields that the applier stops to apply disappear.
func TestUpgrade(t *testing.T) {
	typ, live := clientApplied(t)
	live.ResourceVersion = "7"
	text, err := managedfields.UpgradePatch(live, []string{"kubectl-client-side-apply", "kubectl-edit", "nobody"}, "kubectl", "")
	require.NoError(t, err)
	doc, err := codec.Marshal(live)
	require.NoError(t, err)
	doc, err = patch.JSON(doc, text)
	require.NoError(t, err)
	upgraded := &appsv1.Deployment{}
	require.NoError(t, codec.Unmarshal(doc, upgraded))
	require.Equal(t, "7", upgraded.ResourceVersion)
	require.Len(t, upgraded.ManagedFields, 1)
	require.Equal(t, metav1.ManagedFieldsOperationApply, upgraded.ManagedFields[0].Operation)

	merged, _, err := typ.Apply(upgraded, deployment(map[string]any{"paused": true}), managedfields.Write{Manager: "kubectl", APIVersion: "apps/v1"}, false)
	require.NoError(t, err)
	require.Nil(t, merged.(*appsv1.Deployment).Spec.Replicas)

	none, err := managedfields.UpgradePatch(upgraded, []string{"kubectl-client-side-apply"}, "kubectl", "")
	require.NoError(t, err)
	require.Nil(t, none)
	_, err = managedfields.Upgrade([]metav1.ManagedFieldsEntry{{Manager: "a", Operation: "Update", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"x`)}}}, []string{"a"}, "b", "")
	var bad *managedfields.SyntaxError
	require.ErrorAs(t, err, &bad)
}

func ExampleUpgrade() {
	fields := []metav1.ManagedFieldsEntry{{
		Manager: "kubectl-client-side-apply", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
		FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{"f:a":{}}}`)},
	}}
	fields, err := managedfields.Upgrade(fields, []string{"kubectl-client-side-apply"}, "my-controller", "")
	fmt.Println(fields[0].Manager, fields[0].Operation, err)
	// Output: my-controller Apply <nil>
}
