package admission_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/admission"
)

// objects is an Access that reads them by resource. It writes nothing.
type objects map[string][]metav1.Object

func (o objects) Get(_ context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error) {
	for _, obj := range o[gvr.Resource] {
		if obj.GetName() == key.Name && obj.GetNamespace() == key.Namespace {
			return obj, nil
		}
	}
	return nil, apierrors.NewNotFound(gvr.GroupResource(), key.Name)
}

func (o objects) List(_ context.Context, gvr schema.GroupVersionResource, namespace string, selector labels.Selector) ([]metav1.Object, error) {
	var found []metav1.Object
	for _, obj := range o[gvr.Resource] {
		if (namespace == "" || obj.GetNamespace() == namespace) && selector.Matches(labels.Set(obj.GetLabels())) {
			found = append(found, obj)
		}
	}
	return found, nil
}

func (o objects) Latest(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error) {
	return o.Get(ctx, gvr, key)
}

func (o objects) Contents(context.Context, schema.GroupVersionResource) (admission.Contents, error) {
	panic("not used by these plugins")
}

func (o objects) ResourceOf(schema.GroupVersionKind) (schema.GroupVersionResource, bool, bool) {
	panic("not used by these plugins")
}

func (o objects) Create(context.Context, schema.GroupVersionResource, metav1.Object) error {
	panic("not used by these plugins")
}

func (o objects) ChangeStatus(context.Context, schema.GroupVersionResource, types.NamespacedName, func(metav1.Object) error) error {
	panic("not used by these plugins")
}

// plugin makes a built-in plugin.
func plugin(t testing.TB, name string, access admission.Access, o admission.Options) admission.Plugin {
	t.Helper()
	p, err := tryPlugin(t, name, access, o)
	require.NoError(t, err)
	return p
}

func tryPlugin(t testing.TB, name string, access admission.Access, o admission.Options) (admission.Plugin, error) {
	t.Helper()
	all := admission.Factories()
	i := slices.IndexFunc(all, func(f admission.Factory) bool { return f.Name == name })
	require.GreaterOrEqual(t, i, 0, "no plugin has this name")
	return all[i].New(access, o)
}
