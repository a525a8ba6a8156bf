package registry

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Scale is the scale subresource of a kind: where its objects keep their replicas.
type Scale struct {
	// Replicas is the path of the desired number, for the ownership of fields.
	Replicas []string
	// Get returns what a Scale shows of obj, with zeros for what obj does not set.
	Get func(obj metav1.Object) (Replicas, error)
	// Set changes the desired number of obj.
	Set func(obj metav1.Object, n int32) error
	// Shows returns an error if a get of obj's Scale must fail; nil means never.
	Shows func(obj metav1.Object) error
	// Validate checks what a Scale shows of obj on every write of it, without the desired number if
	// statusOnly is set, and takes the place of the validation of a Scale that a client sends. Nil means that
	// the rules of the kind do.
	Validate func(obj metav1.Object, statusOnly bool) validation.ErrorList
}

// Replicas is what a Scale shows of an object.
type Replicas struct {
	Desired, Current int32
	Selector         string // of the pods; empty for none
}

// validate checks the members that a Scale shows.
func (s *Scale) validate(obj metav1.Object, statusOnly bool) validation.ErrorList {
	if s == nil || s.Validate == nil {
		return nil
	}
	return s.Validate(obj, statusOnly)
}

// ScalePaths are the JSON paths of a custom resource's scale subresource, such as .spec.replicas. Selector
// may be empty.
type ScalePaths struct {
	Spec, Status, Selector string
}

// Scale returns the scale subresource of a custom resource along the paths.
func (p ScalePaths) Scale() *Scale {
	return &Scale{Replicas: splitPath(p.Spec), Get: p.get, Set: p.set, Shows: p.shows, Validate: p.validate}
}

// splitPath returns the field names of a simple JSON path.
func splitPath(p string) []string { return strings.Split(strings.TrimPrefix(p, "."), ".") }

var errNotScalable = errors.New("the object has no scale")

func (p ScalePaths) get(obj metav1.Object) (Replicas, error) {
	u, ok := obj.(*metav1.Unstructured)
	if !ok {
		return Replicas{}, errNotScalable
	}
	out := Replicas{Desired: number(u, p.Spec), Current: number(u, p.Status)}
	if p.Selector != "" {
		if v, ok := u.Nested(splitPath(p.Selector)...); ok {
			out.Selector, _ = v.(string)
		}
	}
	return out, nil
}

func (p ScalePaths) set(obj metav1.Object, n int32) error {
	if u, ok := obj.(*metav1.Unstructured); !ok || !u.SetNested(int64(n), splitPath(p.Spec)...) {
		return errNotScalable
	}
	return nil
}

// shows returns an error for an object that does not set the number of replicas: none is not a number.
func (p ScalePaths) shows(obj metav1.Object) error {
	u, ok := obj.(*metav1.Unstructured)
	if !ok {
		return errNotScalable
	}
	if _, ok := u.Nested(splitPath(p.Spec)...); !ok {
		return fmt.Errorf("the spec replicas field %q does not exist", p.Spec)
	}
	return nil
}

// number returns the number at a path, or zero.
func number(u *metav1.Unstructured, path string) int32 {
	v, _ := u.Nested(splitPath(path)...)
	switch n := v.(type) {
	case int64:
		return int32(n)
	case float64:
		return int32(int64(n))
	}
	return 0
}

// validate checks the members that a Scale shows, whatever their schema: replicas must fit a Scale, and the
// selector must be a string. With statusOnly spec.replicas is not checked.
func (p ScalePaths) validate(obj metav1.Object, statusOnly bool) validation.ErrorList {
	u, ok := obj.(*metav1.Unstructured)
	if !ok {
		return nil
	}
	var errs validation.ErrorList
	if !statusOnly {
		errs = append(errs, validateReplicas(u, p.Spec)...)
	}
	errs = append(errs, validateReplicas(u, p.Status)...)
	if p.Selector == "" {
		return errs
	}
	if v, found := nested(u, p.Selector); found {
		if _, ok := v.(string); !ok {
			errs = append(errs, validation.Invalid(validation.NewPath(p.Selector), v, "must be a string"))
		}
	}
	return errs
}

func validateReplicas(u *metav1.Unstructured, path string) validation.ErrorList {
	v, found := nested(u, path)
	if !found {
		return nil
	}
	reason := ""
	switch n, ok := v.(int64); {
	case !ok:
		reason = "must be an integer"
	case n < 0:
		reason = "should be a non-negative integer"
	case n > math.MaxInt32:
		reason = fmt.Sprintf("should be less than or equal to %d", math.MaxInt32)
	default:
		return nil
	}
	return validation.ErrorList{validation.Invalid(validation.NewPath(path), v, reason)}
}

// nested returns the value at a path, or the value on the way there that has no members; found is false if
// there is neither.
func nested(u *metav1.Unstructured, path string) (v any, found bool) {
	names := splitPath(path)
	for i := range names {
		if v, found = u.Nested(names[:i+1]...); !found {
			return nil, false
		}
		if _, ok := v.(map[string]any); !ok {
			return v, true
		}
	}
	return v, true
}
