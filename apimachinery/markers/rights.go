package markers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// rule is a rule of rights: sets, kept as sorted lists.
type rule struct {
	groups, resources, names, urls, verbs []string
}

// Roles returns a ClusterRole and, for each namespace of a marker, a Role with the rights of the markers
// +kubebuilder:rbac. Their name is name, or the roleName of the marker. Rules with the same verbs are joined
// as far as that adds no right.
func (s *Source) Roles(name string) ([]metav1.Object, error) {
	byRole := map[[2]string][]rule{} // by namespace and name
	for _, m := range s.rest {
		if m.name != prefix+"rbac" {
			continue
		}
		namespace, err := m.text("namespace")
		if err != nil {
			return nil, fmt.Errorf("markers: %w", err)
		}
		roleName, err := m.text("roleName")
		if err != nil {
			return nil, fmt.Errorf("markers: %w", err)
		}
		r, err := m.rule()
		if err != nil {
			return nil, fmt.Errorf("markers: %w", err)
		}
		at := [2]string{namespace, cmp.Or(roleName, name)}
		byRole[at] = append(byRole[at], r)
	}
	var out []metav1.Object
	for _, at := range slices.SortedFunc(maps.Keys(byRole), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		rules := policyRules(joined(byRole[at]))
		if at[0] == "" {
			role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: at[1]}, Rules: rules}
			role.SetGroupVersionKind(rbacv1.GroupVersion.WithKind("ClusterRole"))
			out = append(out, role)
			continue
		}
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: at[0], Name: at[1]}, Rules: rules}
		role.SetGroupVersionKind(rbacv1.GroupVersion.WithKind("Role"))
		out = append(out, role)
	}
	return out, nil
}

// rule returns the rule of a marker.
func (m mark) rule() (r rule, err error) {
	for name, to := range map[string]*[]string{"groups": &r.groups, "resources": &r.resources, "resourceNames": &r.names, "urls": &r.urls, "verbs": &r.verbs} {
		if *to, err = m.list(name); err != nil {
			return r, err
		}
	}
	for i, g := range r.groups {
		if g == "core" {
			r.groups[i] = ""
		}
	}
	switch {
	case len(r.verbs) == 0:
		return r, m.errorf("the verbs are missing")
	case len(r.urls) == 0 && (len(r.groups) == 0 || len(r.resources) == 0):
		return r, m.errorf("a rule has groups and resources, or urls")
	case len(r.urls) > 0 && len(r.resources)+len(r.groups)+len(r.names) > 0:
		return r, m.errorf("a rule for urls has no groups, resources and resourceNames")
	}
	for _, list := range []*[]string{&r.groups, &r.resources, &r.names, &r.urls, &r.verbs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if slices.Contains(r.verbs, "*") {
		r.verbs = []string{"*"}
	}
	return r, nil
}

// joined joins rules that differ in one part only: first in the verbs, then in the resources, the groups and
// the URLs.
func joined(rules []rule) []rule {
	for _, part := range []func(*rule) *[]string{
		func(r *rule) *[]string { return &r.verbs }, func(r *rule) *[]string { return &r.resources },
		func(r *rule) *[]string { return &r.groups }, func(r *rule) *[]string { return &r.urls },
	} {
		byRest := map[string]rule{}
		for _, r := range rules {
			values := *part(&r)
			*part(&r) = nil
			key := fmt.Sprintf("%q", r)
			if before, ok := byRest[key]; ok {
				values = append(slices.Clone(values), *part(&before)...)
			}
			slices.Sort(values)
			*part(&r) = slices.Compact(values)
			byRest[key] = r
		}
		rules = slices.Collect(maps.Values(byRest))
	}
	for i := range rules {
		if slices.Contains(rules[i].verbs, "*") {
			rules[i].verbs = []string{"*"}
		}
	}
	slices.SortFunc(rules, func(a, b rule) int {
		return cmp.Or(slices.Compare(a.groups, b.groups), slices.Compare(a.resources, b.resources), slices.Compare(a.names, b.names),
			slices.Compare(a.urls, b.urls), slices.Compare(a.verbs, b.verbs))
	})
	return rules
}

func policyRules(rules []rule) []rbacv1.PolicyRule {
	out := make([]rbacv1.PolicyRule, len(rules))
	for i, r := range rules {
		out[i] = rbacv1.PolicyRule{APIGroups: r.groups, Resources: r.resources, ResourceNames: r.names, NonResourceURLs: r.urls, Verbs: r.verbs}
	}
	return out
}
