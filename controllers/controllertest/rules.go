package controllertest

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/store/authz"
)

// LeastRules returns the fewest rights that allow the calls, without names of objects, as rules to paste into
// a Role or ClusterRole. Watches need list as well, which informers use where a server cannot send the
// objects as events. What every user may do, discovery and reviews of the user's own rights, is left out. A
// rule of a Role allows calls in its namespace only: give the calls of each namespace by themselves.
func LeastRules(calls []Call) []rbacv1.PolicyRule {
	verbs := map[[2]string]map[string]bool{} // by group and resource
	paths := map[string]map[string]bool{}
	use := func(of map[string]bool, verb string) map[string]bool {
		if of == nil {
			of = map[string]bool{}
		}
		of[verb] = true
		return of
	}
	for i := range calls {
		for _, a := range needs(&calls[i]) {
			if !a.ResourceRequest {
				paths[a.Path] = use(paths[a.Path], a.Verb)
				continue
			}
			of := [2]string{a.APIGroup, resourceOf(a)}
			verbs[of] = use(verbs[of], a.Verb)
		}
	}
	// Resources of a group with the same verbs share a rule.
	together := map[[2]string][]string{} // by group and verbs
	for of, set := range verbs {
		with := [2]string{of[0], strings.Join(slices.Sorted(maps.Keys(set)), ",")}
		together[with] = append(together[with], of[1])
	}
	var rules []rbacv1.PolicyRule
	for with, resources := range together {
		slices.Sort(resources)
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{with[0]}, Resources: resources, Verbs: strings.Split(with[1], ",")})
	}
	slices.SortFunc(rules, func(a, b rbacv1.PolicyRule) int {
		return strings.Compare(a.APIGroups[0]+" "+a.Resources[0], b.APIGroups[0]+" "+b.Resources[0])
	})
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		rules = append(rules, rbacv1.PolicyRule{NonResourceURLs: []string{path}, Verbs: slices.Sorted(maps.Keys(paths[path]))})
	}
	return rules
}

// CompareRules compares rules with the calls of a run: missing are the rights that calls needed and the rules
// do not give, unused those that the rules give and no call needed, each with one verb and one resource or
// path. So a test keeps the roles of an operator, such as those in config/rbac, neither too small nor too
// large, as far as it calls everything the operator can.
func CompareRules(rules []rbacv1.PolicyRule, calls []Call) (missing, unused []rbacv1.PolicyRule) {
	seen := map[string]bool{}
	for i := range calls {
		for _, a := range needs(&calls[i]) {
			need := rbacv1.PolicyRule{Verbs: []string{a.Verb}}
			key := a.Verb + " " + a.Path
			if a.ResourceRequest {
				need.APIGroups, need.Resources = []string{a.APIGroup}, []string{resourceOf(a)}
				if a.Name != "" {
					need.ResourceNames = []string{a.Name}
				}
				key = a.Verb + " " + a.APIGroup + "/" + resourceOf(a)
			} else {
				need.NonResourceURLs = []string{a.Path}
			}
			if ok, _ := authz.Covers(rules, []rbacv1.PolicyRule{need}); !ok && !seen[key] {
				seen[key] = true
				missing = append(missing, need)
			}
		}
	}
	_, unused = authz.Covers(LeastRules(calls), rules)
	return missing, unused
}

// needs returns the rights that a call needed beyond those that every user has.
func needs(c *Call) []authz.Attributes {
	if !c.ResourceRequest {
		root, _, _ := strings.Cut(strings.TrimPrefix(c.Path, "/"), "/")
		if slices.Contains([]string{"api", "apis", "healthz", "livez", "readyz", "version", "openapi"}, root) {
			return nil
		}
		return []authz.Attributes{c.Attributes}
	}
	if (c.APIGroup == "authorization.k8s.io" || c.APIGroup == "authentication.k8s.io") && strings.HasPrefix(c.Resource, "selfsubject") {
		return nil
	}
	also := c.Attributes
	switch {
	case c.Code == http.StatusCreated && (c.Verb == "patch" || c.Verb == "update"):
		also.Verb, also.Name = "create", ""
	case c.Verb == "watch":
		also.Verb = "list"
	default:
		return []authz.Attributes{c.Attributes}
	}
	return []authz.Attributes{c.Attributes, also}
}

func resourceOf(a authz.Attributes) string {
	if a.Subresource == "" {
		return a.Resource
	}
	return a.Resource + "/" + a.Subresource
}
