package manifest

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// FromMap returns the object of a JSON tree: map[string]any, []any, string, bool, int64, float64 and nil;
// Go's other numbers and strings are converted. It shares nothing with the tree. A tree without apiVersion
// and kind is an error, and so is metadata that is not that of an object.
func FromMap(tree map[string]any) (*metav1.Unstructured, error) {
	u, err := fromTree(tree)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return u, nil
}

func fromTree(tree map[string]any) (*metav1.Unstructured, error) {
	raw, err := codec.Marshal(tree)
	if err != nil {
		return nil, err
	}
	u := &metav1.Unstructured{}
	issues, err := codec.UnmarshalOptions(raw, u, codec.DecodeOptions{Strict: true})
	if err != nil {
		return nil, err
	}
	if len(issues) > 0 {
		return nil, errors.New(issues[0].String()) // of the metadata: what it cannot hold would be lost
	}
	if u.Kind == "" || u.APIVersion == "" {
		return nil, fmt.Errorf("the object %q has no apiVersion or no kind", u.Name)
	}
	return u, nil
}

// ToMap returns the JSON tree of an object. It shares nothing with it.
func ToMap(obj metav1.Object) (map[string]any, error) {
	raw, err := codec.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	tree := map[string]any{}
	if err := codec.Unmarshal(raw, &tree); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return tree, nil
}

// FromObject returns an object of any Go type as Unstructured, with the kind that s has for its type, or its
// own.
func FromObject(s *scheme.Scheme, obj metav1.Object) (*metav1.Unstructured, error) {
	gvk := KindOf(s, obj)
	if gvk.Kind == "" || gvk.Version == "" {
		return nil, &scheme.UnregisteredError{Type: reflect.TypeOf(obj)}
	}
	tree, err := ToMap(obj)
	if err != nil {
		return nil, err
	}
	tree["apiVersion"], tree["kind"] = gvk.APIVersion(), gvk.Kind
	return FromMap(tree)
}

// KindOf returns the kind that s has for the Go type of an object, or the one it carries; zero if neither is
// known. The types that serve many kinds, Unstructured and PartialObjectMetadata, carry theirs. s may be nil.
func KindOf(s *scheme.Scheme, obj metav1.Object) schema.GroupVersionKind {
	own, carries := obj.(interface {
		GroupVersionKind() schema.GroupVersionKind
	})
	switch obj.(type) {
	case *metav1.Unstructured, *metav1.PartialObjectMetadata:
		return own.GroupVersionKind()
	}
	if s != nil {
		if info := s.ForObject(obj); info != nil {
			return info.GVK
		}
	}
	if carries {
		return own.GroupVersionKind()
	}
	return schema.GroupVersionKind{}
}
