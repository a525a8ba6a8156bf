package scheme

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// RulesFor are [Rules] written against the concrete pointer type T. Each function may be nil.
// ValidateUpdate and ValidateStatus must cover what Validate checks, as in Rules.
type RulesFor[T metav1.Object] struct {
	Default        func(obj T)
	Validate       func(obj T) validation.ErrorList
	ValidateUpdate func(obj, old T) validation.ErrorList
	ValidateStatus func(obj, old T) validation.ErrorList
	NameRule       validation.NameFunc
	Meta           MetaRule
	Warnings       func(obj, old T) []string
}

// Attach sets r as the rules of the kind registered for T, or returns an *UnregisteredError. The
// functions of the resulting Rules panic for objects of another type.
func (r RulesFor[T]) Attach(s *Scheme) error {
	out := Rules{NameRule: r.NameRule, Meta: r.Meta}
	if r.Default != nil {
		out.Default = func(obj metav1.Object) { r.Default(obj.(T)) }
	}
	if r.Validate != nil {
		out.Validate = func(obj metav1.Object) validation.ErrorList { return r.Validate(obj.(T)) }
	}
	if r.ValidateUpdate != nil {
		out.ValidateUpdate = func(obj, old metav1.Object) validation.ErrorList { return r.ValidateUpdate(obj.(T), old.(T)) }
	}
	if r.ValidateStatus != nil {
		out.ValidateStatus = func(obj, old metav1.Object) validation.ErrorList { return r.ValidateStatus(obj.(T), old.(T)) }
	}
	if r.Warnings != nil {
		out.Warnings = func(obj, old metav1.Object) []string {
			var before T // stays nil on create
			if old != nil {
				before = old.(T)
			}
			return r.Warnings(obj.(T), before)
		}
	}
	return SetRules[T](s, out)
}
