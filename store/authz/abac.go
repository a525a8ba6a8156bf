package authz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/authn"
)

// ABAC allows what the lines of a policy file allow, whatever is stored. A line for a resource is for its
// subresources and all its objects too. Make one with [ParseABAC].
type ABAC struct {
	byUser, byGroup map[string][]*abacPolicy
}

// abacPolicy is a line of the file: what the user, or the members of the group, may do. Where it names both
// it is for that user as a member of that group. In User and Group * means all who are authenticated,
// elsewhere everything.
type abacPolicy struct {
	metav1.TypeMeta `json:",inline"`
	Spec            struct {
		User            string `json:"user,omitempty"`
		Group           string `json:"group,omitempty"`
		Readonly        bool   `json:"readonly,omitempty"`
		APIGroup        string `json:"apiGroup,omitempty"`
		Resource        string `json:"resource,omitempty"`
		Namespace       string `json:"namespace,omitempty"`
		NonResourcePath string `json:"nonResourcePath,omitempty"`
	} `json:"spec"`
}

const abacVersion = "abac.authorization.kubernetes.io/v1beta1"

// ParseABAC reads a policy file: on each line a Policy of abac.authorization.kubernetes.io/v1beta1 as JSON,
// nothing, or a comment that begins with #. An error names the line; unknown and repeated fields are errors.
func ParseABAC(data []byte) (*ABAC, error) {
	z := &ABAC{byUser: map[string][]*abacPolicy{}, byGroup: map[string][]*abacPolicy{}}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		p, err := parseABACPolicy(line)
		if err != nil {
			return nil, fmt.Errorf("authz: line %d: %w", number, err)
		}
		switch s := &p.Spec; {
		case s.User != "" && s.User != "*":
			z.byUser[s.User] = append(z.byUser[s.User], p)
		case s.Group != "" && s.Group != "*":
			z.byGroup[s.Group] = append(z.byGroup[s.Group], p)
		default:
			z.byGroup[authn.GroupAuthenticated] = append(z.byGroup[authn.GroupAuthenticated], p)
		}
	}
	return z, nil
}

func parseABACPolicy(line []byte) (*abacPolicy, error) {
	p := &abacPolicy{}
	issues, err := codec.UnmarshalOptions(line, p, codec.DecodeOptions{Strict: true})
	switch {
	case err != nil:
		return nil, err
	case len(issues) > 0:
		return nil, errors.New(issues[0].String())
	case p.APIVersion != abacVersion || p.Kind != "Policy":
		return nil, fmt.Errorf("want kind Policy of %s, got %q of %q", abacVersion, p.Kind, p.APIVersion)
	case p.Spec.User == "" && p.Spec.Group == "":
		return nil, errors.New("spec names neither user nor group")
	case p.Spec.Resource == "" && p.Spec.NonResourcePath == "":
		return nil, errors.New("spec names neither resource nor nonResourcePath")
	}
	return p, nil
}

// of calls use with the policies for a user until it returns false.
func (z *ABAC) of(u *authn.User, use func(p *abacPolicy) bool) {
	if u == nil {
		return
	}
	for _, p := range z.byUser[u.Name] {
		if p.isFor(u) && !use(p) {
			return
		}
	}
	for i, group := range u.Groups {
		if slices.Contains(u.Groups[:i], group) {
			continue
		}
		for _, p := range z.byGroup[group] {
			if p.isFor(u) && !use(p) {
				return
			}
		}
	}
}

func (p *abacPolicy) isFor(u *authn.User) bool {
	in := func(group string) bool { return slices.Contains(u.Groups, group) }
	switch p.Spec.User {
	case "", u.Name:
	case "*":
		if !in(authn.GroupAuthenticated) {
			return false
		}
	default:
		return false
	}
	switch p.Spec.Group {
	case "":
		return true
	case "*":
		return in(authn.GroupAuthenticated)
	}
	return in(p.Spec.Group)
}

// abacReads are the verbs that a read-only policy allows.
var abacReads = []string{"get", "list", "watch"}

func (p *abacPolicy) allows(a *Attributes) bool {
	s := &p.Spec
	if s.Readonly && !slices.Contains(abacReads, a.Verb) {
		return false
	}
	either := func(pattern, value string) bool { return pattern == "*" || pattern == value }
	if a.ResourceRequest {
		return s.Resource != "" && either(s.Resource, a.Resource) && either(s.APIGroup, a.APIGroup) && either(s.Namespace, a.Namespace)
	}
	begin := strings.TrimRight(s.NonResourcePath, "*")
	return s.NonResourcePath != "" && (a.Path == s.NonResourcePath || begin != s.NonResourcePath && strings.HasPrefix(a.Path, begin))
}

// Authorize implements Authorizer.
func (z *ABAC) Authorize(_ context.Context, a Attributes) (Decision, string, error) {
	d, reason := NoOpinion, "No policy matched."
	z.of(a.User, func(p *abacPolicy) bool {
		if p.allows(&a) {
			d, reason = Allow, ""
		}
		return d != Allow
	})
	return d, reason, nil
}

// RulesFor implements RuleResolver.
func (z *ABAC) RulesFor(_ context.Context, u *authn.User, namespace string) (res []ResourceRule, non []NonResourceRule, incomplete bool, err error) {
	z.of(u, func(p *abacPolicy) bool {
		s, verbs := &p.Spec, []string{"*"}
		if s.Readonly {
			verbs = slices.Clone(abacReads)
		}
		if s.Resource != "" && (s.Namespace == "*" || s.Namespace == namespace) {
			res = append(res, ResourceRule{Verbs: verbs, APIGroups: []string{s.APIGroup}, Resources: []string{s.Resource}})
		}
		if s.NonResourcePath != "" {
			non = append(non, NonResourceRule{Verbs: verbs, NonResourceURLs: []string{s.NonResourcePath}})
		}
		return true
	})
	return res, non, false, nil
}
