package flowcontrol

import (
	"hash/fnv"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// matches reports whether a schema matches the request. Rules are large: they are not copied.
func matches(f *flowcontrolv1.FlowSchema, a *authz.Attributes) bool {
	for i := range f.Spec.Rules {
		if rule := &f.Spec.Rules[i]; anyOf(rule.Subjects, func(s *flowcontrolv1.Subject) bool { return matchesSubject(a.User, s) }) && matchesAttributes(rule, a) {
			return true
		}
	}
	return false
}

func matchesAttributes(rule *flowcontrolv1.PolicyRulesWithSubjects, a *authz.Attributes) bool {
	if a.ResourceRequest {
		return anyOf(rule.ResourceRules, func(r *flowcontrolv1.ResourcePolicyRule) bool { return matchesResource(r, a) })
	}
	return anyOf(rule.NonResourceRules, func(r *flowcontrolv1.NonResourcePolicyRule) bool { return matchesPath(r, a) })
}

// anyOf reports whether f is true for an element.
func anyOf[T any](list []T, f func(*T) bool) bool {
	for i := range list {
		if f(&list[i]) {
			return true
		}
	}
	return false
}

// matchesSubject reports whether the user is the subject.
func matchesSubject(u *authn.User, s *flowcontrolv1.Subject) bool {
	switch {
	case s.Kind == flowcontrolv1.SubjectKindUser && s.User != nil:
		return s.User.Name == flowcontrolv1.NameAll || s.User.Name == u.Name
	case s.Kind == flowcontrolv1.SubjectKindGroup && s.Group != nil:
		return s.Group.Name == flowcontrolv1.NameAll || slices.Contains(u.Groups, s.Group.Name)
	case s.Kind == flowcontrolv1.SubjectKindServiceAccount && s.ServiceAccount != nil:
		account, ok := strings.CutPrefix(u.Name, authn.ServiceAccountPrefix)
		namespace, name, _ := strings.Cut(account, ":")
		return ok && namespace == s.ServiceAccount.Namespace && (s.ServiceAccount.Name == flowcontrolv1.NameAll || s.ServiceAccount.Name == name)
	}
	return false
}

func matchesResource(r *flowcontrolv1.ResourcePolicyRule, a *authz.Attributes) bool {
	if !has(r.Verbs, a.Verb) || !has(r.APIGroups, a.APIGroup) {
		return false
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	if !has(r.Resources, resource) {
		return false
	}
	if a.Namespace == "" {
		return r.ClusterScope
	}
	return has(r.Namespaces, a.Namespace)
}

func matchesPath(r *flowcontrolv1.NonResourcePolicyRule, a *authz.Attributes) bool {
	return has(r.Verbs, a.Verb) && slices.ContainsFunc(r.NonResourceURLs, func(url string) bool {
		prefix, wild := strings.CutSuffix(url, "*")
		return url == a.Path || wild && strings.HasPrefix(a.Path, prefix)
	})
}

func has(list []string, v string) bool { return slices.Contains(list, "*") || slices.Contains(list, v) }

// distinguisher is the user or namespace that distinguishes flows of one schema.
func distinguisher(f *flowcontrolv1.FlowSchema, a *authz.Attributes) string {
	if d := f.Spec.DistinguisherMethod; d != nil {
		switch d.Type {
		case flowcontrolv1.FlowDistinguisherMethodByUserType:
			return a.User.Name
		case flowcontrolv1.FlowDistinguisherMethodByNamespaceType:
			return a.Namespace
		}
	}
	return ""
}

// hashOf is the hash of a flow, which selects its queues.
func hashOf(f *flowcontrolv1.FlowSchema, distinguisher string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(f.Name))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(distinguisher))
	return mix(h.Sum64())
}

// mix spreads the differences of similar names over all bits.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// deal yields the numbers of a flow's queues: hand distinct ones out of n, determined by the hash.
func deal(hash uint64, n, hand int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		var dealt [64]int // sorted
		hand = min(hand, n, len(dealt))
		for i := range hand {
			left := uint64(n - i)
			card := int(hash % left)
			hash = mix(hash / left) // what is left of the hash is too short for many queues
			at := 0
			for at < i && dealt[at] <= card {
				card++
				at++
			}
			copy(dealt[at+1:i+1], dealt[at:i])
			dealt[at] = card
			if !yield(card) {
				return
			}
		}
	}
}
