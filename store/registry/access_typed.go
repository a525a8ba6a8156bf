package registry

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Get is Access.Get with a Go type: registry.Get[*corev1.Namespace](ctx, access, gvr, key).
func Get[T metav1.Object](ctx context.Context, a Access, gvr schema.GroupVersionResource, key types.NamespacedName) (T, error) {
	obj, err := a.Get(ctx, gvr, key)
	if err != nil {
		var none T
		return none, err
	}
	return assertType[T](obj)
}

// List is Access.List with a Go type.
func List[T metav1.Object](ctx context.Context, a Access, gvr schema.GroupVersionResource, namespace string, sel labels.Selector) ([]T, error) {
	objs, err := a.List(ctx, gvr, namespace, sel)
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(objs))
	for _, obj := range objs {
		o, err := assertType[T](obj)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func assertType[T metav1.Object](obj metav1.Object) (T, error) {
	o, ok := obj.(T)
	if !ok {
		return o, apierrors.NewInternalError(fmt.Errorf("an object is a %T, not a %T", obj, o))
	}
	return o, nil
}
