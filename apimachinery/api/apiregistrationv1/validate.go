package apiregistrationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func at(name string, more ...string) *validation.Path { return validation.NewPath(name, more...) }

const (
	maxGroupPriority   = 20000
	maxVersionPriority = 1000
)

// ValidateAPIService checks a service to be stored; its name is made of its version and group.
func ValidateAPIService(a *APIService) validation.ErrorList {
	var r check.Report
	s, p := &a.Spec, at("spec")
	want := s.Version + "." + s.Group
	for _, f := range [...]struct{ field, name string }{{"generateName", a.GenerateName}, {"name", a.Name}} {
		// A text that is not a valid name is reported by the metadata checks.
		if f.name != "" && f.name != want && validation.IsPathSegmentName(f.name) == nil {
			r.Invalid(at("metadata", f.field), f.name, "must be `spec.version+\".\"+spec.group`: \""+want+"\"")
		}
	}
	if s.Group != "" {
		r.Each(p.Child("group"), s.Group, validation.IsDNS1123Subdomain(s.Group))
	} else if s.Version != "v1" {
		r.Required(p.Child("group"), "only v1 may have an empty group")
	}
	r.Each(p.Child("version"), s.Version, validation.IsDNS1035Label(s.Version))
	r.If(s.GroupPriorityMinimum <= 0 || s.GroupPriorityMinimum > maxGroupPriority, p.Child("groupPriorityMinimum"), s.GroupPriorityMinimum, "must be positive and less than 20000")
	r.If(s.VersionPriority <= 0 || s.VersionPriority > maxVersionPriority, p.Child("versionPriority"), s.VersionPriority, "must be positive and less than 1000")
	if s.Service == nil {
		r.If(len(s.CABundle) > 0, p.Child("caBundle"), len(s.CABundle), "local APIServices may not have a caBundle")
		r.If(s.InsecureSkipTLSVerify, p.Child("insecureSkipTLSVerify"), true, "local APIServices may not have insecureSkipTLSVerify")
		return r.List()
	}
	r.NonEmpty(p.Child("service", "namespace"), s.Service.Namespace)
	r.NonEmpty(p.Child("service", "name"), s.Service.Name)
	if port := s.Service.Port; port != nil {
		r.Each(p.Child("service", "port"), *port, validation.IsPortNumber(int64(*port)))
	}
	r.If(s.InsecureSkipTLSVerify && len(s.CABundle) > 0, p.Child("insecureSkipTLSVerify"), true, "may not be true if caBundle is present")
	return r.List()
}

// ValidateAPIServiceStatus checks a change of a service's conditions.
func ValidateAPIServiceStatus(a, _ *APIService) validation.ErrorList {
	var r check.Report
	for i, c := range a.Status.Conditions {
		check.OneOf(&r, at("status", "conditions").Index(i).Child("status"), c.Status, ConditionTrue, ConditionFalse, ConditionUnknown)
	}
	return r.List()
}
