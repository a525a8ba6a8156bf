package authorizationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

// ValidateSubjectAccessReview checks an access review of a user.
func ValidateSubjectAccessReview(s *SubjectAccessReview) validation.ErrorList {
	var r check.Report
	r.Add(validateQuestion(&s.Spec, at("spec")))
	r.Add(validateBareMeta(s.ObjectMeta, metav1.ObjectMeta{ManagedFields: s.ManagedFields}, "must be empty"))
	return r.List()
}

// ValidateLocalSubjectAccessReview checks an access review of a user in one namespace.
func ValidateLocalSubjectAccessReview(s *LocalSubjectAccessReview) validation.ErrorList {
	var r check.Report
	p := at("spec")
	r.Add(validateQuestion(&s.Spec, p))
	r.Add(validateBareMeta(s.ObjectMeta, metav1.ObjectMeta{Namespace: s.Namespace, ManagedFields: s.ManagedFields}, "must be empty except for namespace"))
	if a := s.Spec.ResourceAttributes; a != nil {
		r.If(a.Namespace != s.Namespace, p.Child("resourceAttributes", "namespace"), a.Namespace, "must match metadata.namespace")
	}
	r.If(s.Spec.NonResourceAttributes != nil, p.Child("nonResourceAttributes"), s.Spec.NonResourceAttributes, "disallowed on this kind of request")
	return r.List()
}

// ValidateSelfSubjectAccessReview checks a review of the caller's own access.
func ValidateSelfSubjectAccessReview(s *SelfSubjectAccessReview) validation.ErrorList {
	var r check.Report
	r.Add(validateAttributes(s.Spec.ResourceAttributes, s.Spec.NonResourceAttributes, at("spec")))
	r.Add(validateBareMeta(s.ObjectMeta, metav1.ObjectMeta{ManagedFields: s.ManagedFields}, "must be empty"))
	return r.List()
}

// validateBareMeta checks that metadata m equals bare, a copy without the fields that a review must not set.
func validateBareMeta(m, bare metav1.ObjectMeta, detail string) validation.ErrorList {
	var r check.Report
	r.If(!check.Same(m, bare), at("metadata"), m, detail)
	return r.List()
}

func validateQuestion(s *SubjectAccessReviewSpec, p *path) validation.ErrorList {
	var r check.Report
	r.Add(validateAttributes(s.ResourceAttributes, s.NonResourceAttributes, p))
	r.If(s.User == "" && len(s.Groups) == 0, p.Child("user"), s.User, "at least one of user or group must be specified")
	return r.List()
}

func validateAttributes(res *ResourceAttributes, url *NonResourceAttributes, p *path) validation.ErrorList {
	var r check.Report
	r.If(res != nil && url != nil, p.Child("nonResourceAttributes"), url, "cannot be specified in combination with resourceAttributes")
	r.If(res == nil && url == nil, p.Child("resourceAttributes"), res, "exactly one of nonResourceAttributes or resourceAttributes must be specified")
	if res == nil {
		return r.List()
	}
	if f := res.FieldSelector; f != nil {
		q := p.Child("resourceAttributes", "fieldSelector")
		r.Add(validateForm(f.RawSelector, len(f.Requirements), q))
		for i := range f.Requirements {
			r.Add(validateFieldRequirement(&f.Requirements[i], q.Child("requirements").Index(i)))
		}
	}
	if f := res.LabelSelector; f != nil {
		q := p.Child("resourceAttributes", "labelSelector")
		r.Add(validateForm(f.RawSelector, len(f.Requirements), q))
		for i := range f.Requirements {
			r.Add(metav1.ValidateLabelSelectorRequirement(&f.Requirements[i], metav1.SelectorRule{AllowUnknownOperators: true}, q.Child("requirements").Index(i)))
		}
	}
	return r.List()
}

// validateForm checks that a selector has one of its two forms.
func validateForm(raw string, requirements int, p *path) validation.ErrorList {
	var r check.Report
	r.If(raw != "" && requirements > 0, p.Child("rawSelector"), raw, "may not specified at the same time as requirements")
	if raw == "" && requirements == 0 {
		r.Required(p.Child("requirements"), "when "+p.String()+" is specified, requirements or rawSelector is required")
	}
	return r.List()
}

// validateFieldRequirement checks a requirement on a field; unknown operators are allowed.
func validateFieldRequirement(f *metav1.FieldSelectorRequirement, p *path) validation.ErrorList {
	var r check.Report
	if f.Key == "" {
		r.Required(p.Child("key"), "must be specified")
	}
	switch f.Operator {
	case metav1.FieldSelectorOpIn, metav1.FieldSelectorOpNotIn:
		if len(f.Values) == 0 {
			r.Required(p.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
		}
	case metav1.FieldSelectorOpExists, metav1.FieldSelectorOpDoesNotExist:
		r.ForbidIf(len(f.Values) > 0, p.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
	}
	return r.List()
}
