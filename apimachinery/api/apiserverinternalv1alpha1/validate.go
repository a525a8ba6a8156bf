package apiserverinternalv1alpha1

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidateName checks the name of a StorageVersion.
func ValidateName(name string, _ bool) (out []string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return []string{"name must be in the form of <group>.<resource>"}
	}
	out = prefixed("the group segment ", validation.IsDNS1123Subdomain(name[:i]))
	return append(out, prefixed("the resource segment ", validation.IsDNS1035Label(name[i+1:]))...)
}

func prefixed(prefix string, texts []string) []string {
	for i := range texts {
		texts[i] = prefix + texts[i]
	}
	return texts
}

// ValidateStorageVersionStatus checks a change of the status.
func ValidateStorageVersionStatus(v, _ *StorageVersion) validation.ErrorList {
	var r check.Report
	s, p := &v.Status, validation.NewPath("status")
	seen := map[string]bool{}
	for i := range s.StorageVersions {
		q := p.Child("storageVersions").Index(i)
		if id := s.StorageVersions[i].APIServerID; !check.Unique(seen, id) {
			r.Duplicate(q.Child("apiServerID"), id)
		}
		validateServer(&r, &s.StorageVersions[i], q)
	}
	validateCommon(&r, s, p.Child("commonEncodingVersion"))
	first := map[StorageVersionConditionType]int{}
	for i := range s.Conditions {
		// Upstream's path of a condition lacks the name of the list.
		c, q := &s.Conditions[i], p.Index(i)
		if before, ok := first[c.Type]; ok {
			r.Invalid(q.Child("type"), c.Type, fmt.Sprintf("the type of the condition is not unique, it also appears in conditions[%d]", before))
		}
		first[c.Type] = i
		r.Each(q.Child("type"), c.Type, validation.IsQualifiedName(string(c.Type)))
		r.Each(q.Child("status"), c.Status, validation.IsQualifiedName(string(c.Status)))
		r.NonEmpty(q.Child("reason"), c.Reason)
		r.NonEmpty(q.Child("message"), c.Message)
	}
	return r.List()
}

func validateServer(r *check.Report, s *ServerStorageVersion, p *check.Path) {
	r.Each(p.Child("apiServerID"), s.APIServerID, validation.NameIsSubdomain(s.APIServerID, false))
	validateVersion(r, s.EncodingVersion, p.Child("encodingVersion"))
	q := p.Child("decodableVersions")
	for i, version := range s.DecodableVersions {
		validateVersion(r, version, q.Index(i))
	}
	r.If(!slices.Contains(s.DecodableVersions, s.EncodingVersion), q, s.DecodableVersions, "decodableVersions must include encodingVersion "+s.EncodingVersion)
	for i, version := range s.ServedVersions {
		q := p.Child("servedVersions").Index(i)
		validateVersion(r, version, q)
		r.If(!slices.Contains(s.DecodableVersions, version), q, version,
			fmt.Sprintf("individual served version : %s must be included in decodableVersions : %s", version, s.DecodableVersions))
	}
}

// validateVersion checks an apiVersion; all that is wrong with it is one error.
func validateVersion(r *check.Report, apiVersion string, p *check.Path) {
	group, version, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group, version = "", group
	}
	if strings.Contains(version, "/") {
		r.Invalid(p, apiVersion, "an apiVersion is "+validation.PatternText("a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
			"[a-z]([-a-z0-9]*[a-z0-9])?", "my-name", "abc-123")+" with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')")
		return
	}
	part := func(text string, rule func(string) []string) []string {
		if text == "" {
			return []string{validation.EmptyText}
		}
		return rule(text)
	}
	var wrong []string
	if grouped {
		wrong = prefixed("group part: ", part(group, validation.IsDNS1123Subdomain))
	}
	wrong = append(wrong, prefixed("version part: ", part(version, validation.IsDNS1035Label))...)
	r.If(len(wrong) > 0, p, apiVersion, strings.Join(wrong, ","))
}

// validateCommon checks that the common version is the one that follows from the reports.
func validateCommon(r *check.Report, s *StorageVersionStatus, p *check.Path) {
	switch want, have := common(s.StorageVersions), s.CommonEncodingVersion; {
	case want == nil && have == nil:
	case want == nil:
		r.Invalid(p, *have, "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet")
	case have == nil:
		r.Invalid(p, have, "the common encoding version is "+*want)
	default:
		r.If(*have != *want, p, *have, "the actual common encoding version is "+*want)
	}
}
