package crd

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type (
	definition = apiextensionsv1.CustomResourceDefinition
	condition  = apiextensionsv1.CustomResourceDefinitionCondition
)

// acceptNames returns the accepted names of a definition: those requested that are free, and its current ones
// in place of the others. reason is that of the last conflict, as upstream, and message names each; both are
// empty if all are accepted.
func acceptNames(d *definition, t taken) (accepted apiextensionsv1.CustomResourceDefinitionNames, reason, message string) {
	want := d.Spec.Names
	accepted = d.Status.AcceptedNames
	var problems []string
	use := func(conflict string, used func(name string) bool, name string) bool {
		if !used(name) {
			return true
		}
		reason = conflict
		problems = append(problems, fmt.Sprintf("%q is already in use", name))
		return false
	}
	if use("PluralConflict", t.resource, want.Plural) {
		accepted.Plural = want.Plural
	}
	if use("SingularConflict", t.resource, want.Singular) {
		accepted.Singular = want.Singular
	}
	free := true
	for _, s := range want.ShortNames {
		free = use("ShortNamesConflict", t.resource, s) && free
	}
	if free {
		accepted.ShortNames = want.ShortNames
	}
	if use("KindConflict", t.kind, want.Kind) {
		accepted.Kind = want.Kind
	}
	if use("ListKindConflict", t.kind, want.ListKind) {
		accepted.ListKind = want.ListKind
	}
	accepted.Categories = want.Categories
	return accepted, reason, strings.Join(problems, ", ")
}

// setCondition sets a condition and reports whether more than its transition time changed.
func setCondition(s *apiextensionsv1.CustomResourceDefinitionStatus, c condition) bool {
	i := slices.IndexFunc(s.Conditions, func(o condition) bool { return o.Type == c.Type })
	if i < 0 {
		c.LastTransitionTime = metav1.Now().Truncated()
		s.Conditions = append(s.Conditions, c)
		return true
	}
	old := &s.Conditions[i]
	c.LastTransitionTime, c.ObservedGeneration = old.LastTransitionTime, old.ObservedGeneration
	if old.Status != c.Status {
		c.LastTransitionTime = metav1.Now().Truncated()
	}
	if *old == c {
		return false
	}
	*old = c
	return true
}

// dropCondition removes a condition and reports whether it existed.
func dropCondition(s *apiextensionsv1.CustomResourceDefinitionStatus, t apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	before := len(s.Conditions)
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c condition) bool { return c.Type == t })
	return len(s.Conditions) < before
}

// isTrue reports whether a condition is True.
func isTrue(d *definition, t apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	for i := range d.Status.Conditions {
		if c := &d.Status.Conditions[i]; c.Type == t {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// establish sets the names and conditions of a definition, and reports whether its status changed.
func establish(d *definition, t taken) bool {
	accepted, reason, message := acceptNames(d, t)
	changed := !sameNames(&accepted, &d.Status.AcceptedNames)
	d.Status.AcceptedNames = accepted
	named := condition{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found"}
	if reason != "" {
		named.Status, named.Reason, named.Message = apiextensionsv1.ConditionFalse, reason, message
	}
	changed = setCondition(&d.Status, named) || changed
	ready := condition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"}
	switch {
	case isTrue(d, apiextensionsv1.Established):
		// Once served, a resource stays served under the names it has.
	case reason != "":
		ready.Status, ready.Reason, ready.Message = apiextensionsv1.ConditionFalse, "NotAccepted", "not all names are accepted"
		changed = setCondition(&d.Status, ready) || changed
	default:
		changed = setCondition(&d.Status, ready) || changed
	}
	return setApproval(d) || changed
}

func sameNames(a, b *apiextensionsv1.CustomResourceDefinitionNames) bool {
	return a.Plural == b.Plural && a.Singular == b.Singular && a.Kind == b.Kind && a.ListKind == b.ListKind &&
		slices.Equal(a.ShortNames, b.ShortNames) && slices.Equal(a.Categories, b.Categories)
}

// setApproval sets the condition that says whether a definition in a protected group of Kubernetes is
// approved.
func setApproval(d *definition) bool {
	if !apiextensionsv1.IsProtectedGroup(d.Spec.Group) {
		return dropCondition(&d.Status, apiextensionsv1.KubernetesAPIApprovalPolicyConformant)
	}
	c := condition{Type: apiextensionsv1.KubernetesAPIApprovalPolicyConformant, Status: apiextensionsv1.ConditionFalse}
	const must = "protected groups must have approval annotation %q%s, see https://github.com/kubernetes/enhancements/pull/1111"
	text := d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]
	at, err := url.ParseRequestURI(text)
	switch {
	case text == "":
		c.Reason, c.Message = "MissingAnnotation", fmt.Sprintf(must, apiextensionsv1.KubeAPIApprovedAnnotation, "")
	case strings.HasPrefix(text, "unapproved"):
		c.Reason, c.Message = "UnapprovedAnnotation", fmt.Sprintf("not approved: %q", text)
	case err == nil && at.Host != "" && at.Scheme != "":
		c.Status, c.Reason, c.Message = apiextensionsv1.ConditionTrue, "ApprovedAnnotation", "approved in "+text
	default:
		c.Reason, c.Message = "InvalidAnnotation", fmt.Sprintf(must, apiextensionsv1.KubeAPIApprovedAnnotation, ` with either a URL or a reason starting with "unapproved"`)
	}
	return setCondition(&d.Status, c)
}
