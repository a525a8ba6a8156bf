package authorizationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

// ValidateSubjectAccessReview checks a question about somebody's access.
func ValidateSubjectAccessReview(s *SubjectAccessReview) validation.ErrorList {
	return validateQuestion(&s.Spec, at("spec"))
}

// ValidateLocalSubjectAccessReview checks a question about somebody's access in one namespace.
func ValidateLocalSubjectAccessReview(s *LocalSubjectAccessReview) validation.ErrorList {
	var r check.Report
	p := at("spec")
	r.Add(validateQuestion(&s.Spec, p))
	if a := s.Spec.ResourceAttributes; a != nil {
		r.If(a.Namespace != s.Namespace, p.Child("resourceAttributes", "namespace"), a.Namespace, "must match metadata.namespace")
	}
	r.If(s.Spec.NonResourceAttributes != nil, p.Child("nonResourceAttributes"), s.Spec.NonResourceAttributes, "disallowed on this kind of request")
	return r.List()
}

// ValidateSelfSubjectAccessReview checks a question about one's own access.
func ValidateSelfSubjectAccessReview(s *SelfSubjectAccessReview) validation.ErrorList {
	return validateAttributes(s.Spec.ResourceAttributes, s.Spec.NonResourceAttributes, at("spec"))
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
	const both = "may not specified at the same time as requirements"
	if f := res.FieldSelector; f != nil {
		q := p.Child("resourceAttributes", "fieldSelector")
		r.If(f.RawSelector != "" && len(f.Requirements) > 0, q.Child("rawSelector"), f.RawSelector, both)
		if f.RawSelector == "" && len(f.Requirements) == 0 {
			r.Required(q.Child("requirements"), "when fieldSelector is specified, requirements or rawSelector is required")
		}
	}
	if f := res.LabelSelector; f != nil {
		q := p.Child("resourceAttributes", "labelSelector")
		r.If(f.RawSelector != "" && len(f.Requirements) > 0, q.Child("rawSelector"), f.RawSelector, both)
		if f.RawSelector == "" && len(f.Requirements) == 0 {
			r.Required(q.Child("requirements"), "when labelSelector is specified, requirements or rawSelector is required")
		}
	}
	return r.List()
}
