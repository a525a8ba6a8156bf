package authz_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// model is a policy without an index: every binding is checked.
type model struct {
	clusterRoles, roles       map[types.NamespacedName][]rbacv1.PolicyRule
	clusterBindings, bindings map[types.NamespacedName]metav1.Object
}

func (m *model) rules(u *authn.User, namespace string) (out []string) {
	add := func(subjects []rbacv1.Subject, ref rbacv1.RoleRef, ns string) {
		if !slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return is(s, u, ns) }) {
			return
		}
		rules := m.clusterRoles[types.NamespacedName{Name: ref.Name}]
		if ref.Kind == "Role" {
			rules = m.roles[types.NamespacedName{Namespace: ns, Name: ref.Name}]
		}
		for _, r := range rules {
			out = append(out, fmt.Sprint(r))
		}
	}
	for _, o := range m.clusterBindings {
		b := o.(*rbacv1.ClusterRoleBinding)
		add(b.Subjects, b.RoleRef, "")
	}
	if namespace != "" {
		for key, o := range m.bindings {
			if b := o.(*rbacv1.RoleBinding); key.Namespace == namespace {
				add(b.Subjects, b.RoleRef, namespace)
			}
		}
	}
	slices.Sort(out)
	return out
}

func is(s rbacv1.Subject, u *authn.User, namespace string) bool {
	switch s.Kind {
	case "User":
		return s.Name == u.Name
	case "Group":
		return slices.Contains(u.Groups, s.Name)
	}
	if s.Namespace != "" {
		namespace = s.Namespace
	}
	return namespace != "" && u.Name == "system:serviceaccount:"+namespace+":"+s.Name
}

func anyOf(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// randomObject returns a role or binding with one of a few names, so that histories replace and delete.
func randomObject(r *rand.Rand) metav1.Object {
	name, namespace := anyOf(r, "a", "b", "c"), anyOf(r, "ns1", "ns2")
	rules := []rbacv1.PolicyRule{{Verbs: []string{anyOf(r, "get", "list", "create")}, APIGroups: []string{""}, Resources: []string{anyOf(r, "pods", "secrets")}}}
	var subjects []rbacv1.Subject
	for range r.IntN(4) {
		subjects = append(subjects, rbacv1.Subject{Kind: anyOf(r, "User", "Group", "ServiceAccount"), Name: anyOf(r, "u1", "u2", "g1", "g2"), Namespace: anyOf(r, "", "ns1", "ns2")})
	}
	ref := rbacv1.RoleRef{Kind: anyOf(r, "Role", "ClusterRole"), Name: anyOf(r, "a", "b", "c")}
	switch r.IntN(4) {
	case 0:
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	case 1:
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Rules: rules}
	case 2:
		ref.Kind = "ClusterRole"
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: ref, Subjects: subjects}
	}
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, RoleRef: ref, Subjects: subjects}
}

func (m *model) set(o metav1.Object) {
	switch o := o.(type) {
	case *rbacv1.ClusterRole:
		m.clusterRoles[metav1.KeyOf(o)] = o.Rules
	case *rbacv1.Role:
		m.roles[metav1.KeyOf(o)] = o.Rules
	case *rbacv1.ClusterRoleBinding:
		m.clusterBindings[metav1.KeyOf(o)] = o
	case *rbacv1.RoleBinding:
		m.bindings[metav1.KeyOf(o)] = o
	}
}

func (m *model) remove(o metav1.Object) {
	switch o.(type) {
	case *rbacv1.ClusterRole:
		delete(m.clusterRoles, metav1.KeyOf(o))
	case *rbacv1.Role:
		delete(m.roles, metav1.KeyOf(o))
	case *rbacv1.ClusterRoleBinding:
		delete(m.clusterBindings, metav1.KeyOf(o))
	case *rbacv1.RoleBinding:
		delete(m.bindings, metav1.KeyOf(o))
	}
}

// TestPolicyIndex: after any history of changes each user has the rules that the model gives.
func TestPolicyIndex(t *testing.T) {
	users := []*authn.User{
		{Name: "u1"}, {Name: "u2", Groups: []string{"g1"}}, {Name: "g1", Groups: []string{"g1", "g2", "g1"}},
		{Name: "system:serviceaccount:ns1:u1", Groups: []string{"u1"}}, {Name: "system:serviceaccount:ns2:g2"},
	}
	for _, seed := range seeds.Of(t, 100) {
		r := seeds.Stream(seed, 1)
		m := &model{clusterRoles: map[types.NamespacedName][]rbacv1.PolicyRule{}, roles: map[types.NamespacedName][]rbacv1.PolicyRule{},
			clusterBindings: map[types.NamespacedName]metav1.Object{}, bindings: map[types.NamespacedName]metav1.Object{}}
		p := &authz.Policy{}
		rbac := authz.NewRBAC(p)
		for step := range 60 {
			o := randomObject(r)
			switch r.IntN(8) {
			case 0, 1:
				p.Delete(o)
				m.remove(o)
			case 2:
				kind := fmt.Sprintf("%T", o)
				for have := range m.objects() {
					if fmt.Sprintf("%T", have) == kind {
						m.remove(have)
					}
				}
				p.Replace(o, []metav1.Object{o})
				m.set(o)
			default:
				p.Set(o)
				m.set(o)
			}
			for _, u := range users {
				for _, ns := range []string{"", "ns1", "ns2", "none"} {
					rules, err := rbac.Rules(u, ns)
					require.NoError(t, err)
					var got []string
					for _, rule := range rules {
						got = append(got, fmt.Sprint(rule))
					}
					slices.Sort(got)
					require.Equal(t, m.rules(u, ns), got, "seed %d step %d: user %s in %q", seed, step, u.Name, ns)
				}
			}
		}
	}
}

func (m *model) objects() func(yield func(metav1.Object) bool) {
	return func(yield func(metav1.Object) bool) {
		for key := range m.clusterRoles {
			if !yield(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}) {
				return
			}
		}
		for key := range m.roles {
			if !yield(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace}}) {
				return
			}
		}
		for _, all := range []map[types.NamespacedName]metav1.Object{m.clusterBindings, m.bindings} {
			for _, o := range all {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// TestPolicyChangesAtOnce: no reader sees an intermediate policy, here one in which a grant has been removed
// from one group of the user and not yet added to the other.
func TestPolicyChangesAtOnce(t *testing.T) {
	p := &authz.Policy{}
	binding := func(group string) metav1.Object {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"},
			Subjects: []rbacv1.Subject{{Kind: "Group", Name: group}}}
	}
	p.Set(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{rule("get", "", "pods")}}, binding("g1"))
	rbac, u := authz.NewRBAC(p), &authn.User{Name: "u", Groups: []string{"g1", "g2"}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 2000 {
			p.Set(binding([]string{"g1", "g2"}[i%2]))
		}
	}()
	for {
		d, _, err := rbac.Authorize(t.Context(), resource(u, "get", "", "", "pods", "", "p"))
		require.NoError(t, err)
		require.Equal(t, authz.Allow, d)
		select {
		case <-done:
			return
		default:
		}
	}
}

func rule(verb, group, resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}
}

func TestReasonOfRBAC(t *testing.T) {
	p := &authz.Policy{}
	p.Set(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "view"}, Rules: []rbacv1.PolicyRule{rule("get", "", "pods")}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "viewers"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "robot"}, {Kind: "ServiceAccount", Namespace: "other", Name: "robot"}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, RoleRef: rbacv1.RoleRef{Kind: "Clown", Name: "view"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "ann"}}})
	for user, want := range map[string]string{
		"system:serviceaccount:team:robot":  `RBAC: allowed by RoleBinding "viewers/team" of ClusterRole "view" to ServiceAccount "robot"`,
		"system:serviceaccount:other:robot": `RBAC: allowed by RoleBinding "viewers/team" of ClusterRole "view" to ServiceAccount "robot/other"`,
		"system:serviceaccount:third:robot": "",
		"ann":                               `RBAC: authz: unknown role kind "Clown"`,
	} {
		d, reason, err := authz.NewRBAC(p).Authorize(t.Context(), resource(&authn.User{Name: user}, "get", "team", "", "pods", "", "p"))
		require.NoError(t, err)
		require.Equal(t, want, reason)
		require.Equal(t, strings.Contains(want, "allowed by"), d == authz.Allow)
	}
	require.PanicsWithValue(t, "authz: a Policy holds roles and bindings, not *corev1.Pod", func() { p.Set(&corev1.Pod{}) })
}

// BenchmarkRBAC measures a decision with different numbers of bindings of other users.
func BenchmarkRBAC(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		p := policyOf(authz.BootstrapPolicy())
		var objs []metav1.Object
		for i := range n {
			objs = append(objs, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b-%d", i)}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"},
				Subjects: []rbacv1.Subject{{Kind: "User", Name: fmt.Sprintf("user-%d", i)}}})
		}
		p.Set(objs...)
		rbac, u := authz.NewRBAC(p), &authn.User{Name: "user-0", Groups: []string{authn.GroupAuthenticated}}
		for name, verb := range map[string]string{"allowed": "get", "denied": "delete"} {
			a := resource(u, verb, "team", "", "pods", "", "p")
			b.Run(fmt.Sprintf("bindings=%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if d, _, _ := rbac.Authorize(b.Context(), a); (d == authz.Allow) != (verb == "get") {
						b.Fatal(d)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("bindings=%d/change", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p.Set(objs[i%n])
			}
		})
	}
}
