package authz

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/authn"
)

// RBAC allows what the roles bound to a user allow. It never denies.
type RBAC struct{ policy *Policy }

// NewRBAC makes an authorizer over policy.
func NewRBAC(policy *Policy) *RBAC { return &RBAC{policy} }

// Authorize implements Authorizer.
func (r *RBAC) Authorize(_ context.Context, a Attributes) (Decision, string, error) {
	allowedBy := ""
	err := r.visit(a.User, a.Namespace, func(by *grant, rule *rbacv1.PolicyRule) bool {
		if ruleAllows(rule, &a) {
			allowedBy = by.reason
			return false
		}
		return true
	})
	if allowedBy != "" {
		return Allow, allowedBy, nil
	}
	if err != nil {
		return NoOpinion, "RBAC: " + err.Error(), nil
	}
	return NoOpinion, "", nil
}

// RulesFor implements RuleResolver.
func (r *RBAC) RulesFor(_ context.Context, u *authn.User, namespace string) (res []ResourceRule, non []NonResourceRule, incomplete bool, err error) {
	err = r.visit(u, namespace, func(_ *grant, rule *rbacv1.PolicyRule) bool {
		if len(rule.Resources) > 0 {
			res = append(res, ResourceRule{Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames})
		}
		if len(rule.NonResourceURLs) > 0 {
			non = append(non, NonResourceRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
		}
		return true
	})
	return res, non, err != nil, err
}

// Rules returns every policy rule that applies to u in namespace ("" for cluster-wide ones only).
func (r *RBAC) Rules(u *authn.User, namespace string) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	err := r.visit(u, namespace, func(_ *grant, rule *rbacv1.PolicyRule) bool {
		rules = append(rules, *rule)
		return true
	})
	return rules, err
}

// RoleRules returns the rules of the role that a binding in namespace ("" for the cluster) refers to. A
// missing role is an apierrors NotFound.
func (r *RBAC) RoleRules(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	return r.policy.state().rules(&ref, namespace)
}

// visit calls f for each rule that applies to u in namespace, until f returns false. Bindings that refer to
// no known kind of role do not hide the others: their errors are returned joined. Missing roles are skipped.
func (r *RBAC) visit(u *authn.User, namespace string, f func(by *grant, rule *rbacv1.PolicyRule) bool) error {
	if u == nil {
		return nil
	}
	var errs []error
	state, in := r.policy.state(), ""
	each := func(g *grant) bool {
		rules, err := state.rules(&g.binding.role, in)
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
		for i := range rules {
			if !f(g, &rules[i]) {
				return false
			}
		}
		return true
	}
	if state.grants(u, "", each) && namespace != "" {
		in = namespace
		state.grants(u, namespace, each)
	}
	return errors.Join(errs...)
}

func ruleAllows(rule *rbacv1.PolicyRule, a *Attributes) bool {
	if !has(rule.Verbs, a.Verb) {
		return false
	}
	if !a.ResourceRequest {
		return pathMatches(rule.NonResourceURLs, a.Path)
	}
	return has(rule.APIGroups, a.APIGroup) && resourceMatches(rule.Resources, a.Resource, a.Subresource) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.Name))
}

func has(list []string, v string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, v)
}

func resourceMatches(list []string, resource, sub string) bool {
	for _, r := range list {
		if r == "*" || sub == "" && r == resource {
			return true
		}
		if sub == "" {
			continue
		}
		name, s, ok := strings.Cut(r, "/")
		if ok && s == sub && (name == resource || name == "*") {
			return true
		}
	}
	return false
}

func pathMatches(patterns []string, path string) bool {
	for _, p := range patterns {
		if matchesPath(p, path) {
			return true
		}
	}
	return false
}

// matchesPath reports whether a path is that of a pattern, or begins like one that ends in asterisks, of
// which several are as one.
func matchesPath(pattern, path string) bool {
	return pattern == path || strings.HasSuffix(pattern, "*") && strings.HasPrefix(path, strings.TrimRight(pattern, "*"))
}

// Covers reports whether what wanted allows is all allowed by have, and if not, which parts are missing. It
// is the escalation check: users must not grant more than they hold.
func Covers(have, wanted []rbacv1.PolicyRule) (ok bool, missing []rbacv1.PolicyRule) {
	for i := range wanted {
		for _, atom := range atoms(&wanted[i]) {
			if !slices.ContainsFunc(have, func(h rbacv1.PolicyRule) bool { return coversAtom(&h, &atom) }) {
				missing = append(missing, atom)
			}
		}
	}
	return len(missing) == 0, missing
}

// atoms splits a rule into rules of one verb on one resource, name or path each.
func atoms(r *rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, verb := range r.Verbs {
		v := []string{verb}
		for _, g := range r.APIGroups {
			for _, res := range r.Resources {
				atom := rbacv1.PolicyRule{Verbs: v, APIGroups: []string{g}, Resources: []string{res}}
				if len(r.ResourceNames) == 0 {
					out = append(out, atom)
				}
				for _, n := range r.ResourceNames {
					atom.ResourceNames = []string{n}
					out = append(out, atom)
				}
			}
		}
		for _, p := range r.NonResourceURLs {
			out = append(out, rbacv1.PolicyRule{Verbs: v, NonResourceURLs: []string{p}})
		}
	}
	return out
}

func coversAtom(have, atom *rbacv1.PolicyRule) bool {
	if !has(have.Verbs, atom.Verbs[0]) {
		return false
	}
	if len(atom.NonResourceURLs) > 0 {
		p := atom.NonResourceURLs[0]
		return pathMatches(have.NonResourceURLs, p)
	}
	if !has(have.APIGroups, atom.APIGroups[0]) {
		return false
	}
	_, sub, isSub := strings.Cut(atom.Resources[0], "/")
	covered := slices.Contains(have.Resources, "*") || slices.Contains(have.Resources, atom.Resources[0]) ||
		isSub && slices.Contains(have.Resources, "*/"+sub)
	if !covered {
		return false
	}
	if len(have.ResourceNames) == 0 {
		return true
	}
	return len(atom.ResourceNames) > 0 && slices.Contains(have.ResourceNames, atom.ResourceNames[0])
}
