package registry

import (
	"fmt"
	"math"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ScalePaths are the JSON paths of a custom resource's scale subresource, such as .spec.replicas.
type ScalePaths struct {
	Spec, Status, Selector string
}

// SplitScalePath returns the field names of a simple JSON path such as .spec.replicas.
func SplitScalePath(p string) []string { return strings.Split(strings.TrimPrefix(p, "."), ".") }

// validate checks the members that a Scale shows, whatever their schema: replicas must fit a Scale, and the
// selector must be a string. With statusOnly spec.replicas is not checked.
func (p *ScalePaths) validate(obj metav1.Object, statusOnly bool) validation.ErrorList {
	u, ok := obj.(*metav1.Unstructured)
	if p == nil || !ok {
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
	why := ""
	switch n, ok := v.(int64); {
	case !ok:
		why = "must be an integer"
	case n < 0:
		why = "should be a non-negative integer"
	case n > math.MaxInt32:
		why = fmt.Sprintf("should be less than or equal to %d", math.MaxInt32)
	default:
		return nil
	}
	return validation.ErrorList{validation.Invalid(validation.NewPath(path), v, why)}
}

// nested returns the value at a path, or the value on the way there that has no members; found is false if
// there is neither.
func nested(u *metav1.Unstructured, path string) (v any, found bool) {
	names := SplitScalePath(path)
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
