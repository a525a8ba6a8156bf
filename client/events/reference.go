package events

import (
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Reference returns a reference to obj. Its kind is the one registered for obj's type, or the one obj
// carries. obj must not be a *corev1.ObjectReference.
func Reference(s *scheme.Scheme, obj metav1.Object) (corev1.ObjectReference, error) {
	if v := reflect.ValueOf(obj); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return corev1.ObjectReference{}, fmt.Errorf("events: reference to nil")
	}
	m := metav1.MetaOf(obj)
	gvk := manifest.KindOf(s, obj)
	if gvk.Kind == "" {
		return corev1.ObjectReference{}, fmt.Errorf("events: unknown kind of %T", obj)
	}
	return corev1.ObjectReference{
		Kind: gvk.Kind, APIVersion: gvk.APIVersion(), Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
	}, nil
}
