package apiserver

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/registry"
)

var (
	errNotScalable   = errors.New("the object has no scale")
	errScaleModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")
	scaleType        = reflect.TypeFor[autoscalingv1.Scale]()
)

// customScale reads the Scale of a custom object along the paths its definition names.
func customScale(o *metav1.Unstructured, paths *registry.ScalePaths, s *autoscalingv1.Scale) error {
	if paths == nil {
		return apierrors.NewInternalError(errNotScalable)
	}
	if v, ok := o.Nested(registry.SplitScalePath(paths.Spec)...); ok {
		s.Spec.Replicas = int32(number(v))
	}
	if v, ok := o.Nested(registry.SplitScalePath(paths.Status)...); ok {
		s.Status.Replicas = int32(number(v))
	}
	if paths.Selector != "" {
		if v, ok := o.Nested(registry.SplitScalePath(paths.Selector)...); ok {
			s.Status.Selector, _ = v.(string)
		}
	}
	return nil
}

// wantsReplicas returns an error for a custom object that does not set the number of replicas:
// none is not a number.
func wantsReplicas(obj metav1.Object, paths *registry.ScalePaths) error {
	u, ok := obj.(*metav1.Unstructured)
	if !ok || paths == nil {
		return nil
	}
	if _, ok := u.Nested(registry.SplitScalePath(paths.Spec)...); !ok {
		return apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", paths.Spec))
	}
	return nil
}

func number(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}
