package rbacv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

// ValidateRole checks a role to be stored.
func ValidateRole(role *Role) validation.ErrorList { return validateRules(role.Rules, true) }

// ValidateClusterRole checks a cluster role to be stored.
func ValidateClusterRole(role *ClusterRole) validation.ErrorList {
	var r check.Report
	r.Add(validateRules(role.Rules, false))
	if a := role.AggregationRule; a != nil {
		p := at("aggregationRule", "clusterRoleSelectors")
		if len(a.ClusterRoleSelectors) == 0 {
			r.Required(p, "at least one clusterRoleSelector required if aggregationRule is non-nil")
		}
		for i := range a.ClusterRoleSelectors {
			errs := metav1.ValidateLabelSelector(&a.ClusterRoleSelectors[i], metav1.SelectorRule{}, p.Index(i))
			r.Add(errs)
			r.If(len(errs) > 0, p.Index(i), a.ClusterRoleSelectors[i], "invalid label selector.")
		}
	}
	return r.List()
}

func validateRules(rules []PolicyRule, namespaced bool) validation.ErrorList {
	var r check.Report
	for i := range rules {
		rule, p := &rules[i], at("rules").Index(i)
		if len(rule.Verbs) == 0 {
			r.Required(p.Child("verbs"), "verbs must contain at least one value")
		}
		if len(rule.NonResourceURLs) > 0 {
			q := p.Child("nonResourceURLs")
			r.If(namespaced, q, rule.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs")
			r.If(len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) > 0, q, rule.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs")
			continue
		}
		if len(rule.APIGroups) == 0 {
			r.Required(p.Child("apiGroups"), "resource rules must supply at least one api group")
		}
		if len(rule.Resources) == 0 {
			r.Required(p.Child("resources"), "resource rules must supply at least one resource")
		}
	}
	return r.List()
}

// ValidateRoleBinding checks a binding to be created.
func ValidateRoleBinding(b *RoleBinding) validation.ErrorList {
	return validateBinding(&b.RoleRef, b.Subjects, true)
}

// ValidateClusterRoleBinding checks a binding to be created.
func ValidateClusterRoleBinding(b *ClusterRoleBinding) validation.ErrorList {
	return validateBinding(&b.RoleRef, b.Subjects, false)
}

func validateBinding(ref *RoleRef, subjects []Subject, namespaced bool) validation.ErrorList {
	var r check.Report
	p := at("roleRef")
	check.OneOf(&r, p.Child("apiGroup"), ref.APIGroup, GroupVersion.Group)
	if namespaced {
		check.OneOf(&r, p.Child("kind"), ref.Kind, "ClusterRole", "Role")
	} else {
		check.OneOf(&r, p.Child("kind"), ref.Kind, "ClusterRole")
	}
	r.Name(p.Child("name"), ref.Name, validation.NameIsPathSegment)
	for i := range subjects {
		s, q := &subjects[i], at("subjects").Index(i)
		r.NonEmpty(q.Child("name"), s.Name)
		switch s.Kind {
		case ServiceAccountKind:
			if s.Name != "" {
				r.Each(q.Child("name"), s.Name, validation.IsDNS1123Subdomain(s.Name))
			}
			check.OneOf(&r, q.Child("apiGroup"), s.APIGroup, "")
			if !namespaced {
				r.NonEmpty(q.Child("namespace"), s.Namespace)
			}
		case UserKind, GroupKind:
			check.OneOf(&r, q.Child("apiGroup"), s.APIGroup, GroupVersion.Group)
		default:
			check.OneOf(&r, q.Child("kind"), s.Kind, ServiceAccountKind, UserKind, GroupKind)
		}
	}
	return r.List()
}

// ValidateRoleBindingUpdate checks a change of a binding; its subjects may change, its roleRef may not.
func ValidateRoleBindingUpdate(b, old *RoleBinding) validation.ErrorList {
	var r check.Report
	r.Add(ValidateRoleBinding(b))
	r.If(b.RoleRef != old.RoleRef, at("roleRef"), b.RoleRef, "cannot change roleRef")
	return r.List()
}

// ValidateClusterRoleBindingUpdate checks a change of a binding; its subjects may change, its roleRef may
// not.
func ValidateClusterRoleBindingUpdate(b, old *ClusterRoleBinding) validation.ErrorList {
	var r check.Report
	r.Add(ValidateClusterRoleBinding(b))
	r.If(b.RoleRef != old.RoleRef, at("roleRef"), b.RoleRef, "cannot change roleRef")
	return r.List()
}
