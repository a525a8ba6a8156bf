package authz_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// policyOf returns a policy with the bootstrap objects.
func policyOf(b *authz.Bootstrap) *authz.Policy {
	p := &authz.Policy{}
	for _, o := range objectsOf(b) {
		p.Set(o)
	}
	return p
}

func objectsOf(b *authz.Bootstrap) (out []metav1.Object) {
	for _, o := range b.ClusterRoles {
		out = append(out, o)
	}
	for _, o := range b.Roles {
		out = append(out, o)
	}
	for _, o := range b.ClusterRoleBindings {
		out = append(out, o)
	}
	for _, o := range b.RoleBindings {
		out = append(out, o)
	}
	return out
}

func resource(user *authn.User, verb, namespace, group, res, sub, name string) authz.Attributes {
	return authz.Attributes{User: user, Verb: verb, Namespace: namespace, APIGroup: group, Resource: res, Subresource: sub, Name: name, ResourceRequest: true}
}

func TestBootstrapPolicy(t *testing.T) {
	b := authz.BootstrapPolicy()
	view := &rbacv1.ClusterRole{}
	*view = *b.ClusterRoles[slices.IndexFunc(b.ClusterRoles, func(r *rbacv1.ClusterRole) bool { return r.Name == "view" })]
	b.RoleBindings = append(b.RoleBindings, &rbacv1.RoleBinding{
		Subjects: []rbacv1.Subject{{Kind: "User", Name: "vera"}, {Kind: "ServiceAccount", Name: "robot"}},
		RoleRef:  rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"},
	})
	b.RoleBindings[len(b.RoleBindings)-1].Namespace = "team"
	a := authz.Union(authz.Masters(), authz.NewRBAC(policyOf(b)))
	master := &authn.User{Name: "root", Groups: []string{authn.GroupMasters}}
	vera := &authn.User{Name: "vera", Groups: []string{authn.GroupAuthenticated}}
	robot := &authn.User{Name: authn.UserName("team", "robot"), Groups: []string{authn.GroupServiceAccounts}}
	node := &authn.User{Name: "system:node:n1", Groups: []string{authn.GroupNodes}}
	sched := &authn.User{Name: authn.SchedulerUser}
	signer := &authn.User{Name: authn.UserName("kube-system", "certificate-controller")}
	for _, c := range []struct {
		name  string
		attrs authz.Attributes
		allow bool
	}{
		{"masters may everything", resource(master, "delete", "x", "any", "thing", "", ""), true},
		{"a viewer reads pods", resource(vera, "list", "team", "", "pods", "", ""), true},
		{"a viewer reads logs", resource(vera, "get", "team", "", "pods", "log", "p"), true},
		{"a viewer reads no secrets", resource(vera, "get", "team", "", "secrets", "", "s"), false},
		{"a viewer writes nothing", resource(vera, "create", "team", "", "pods", "", ""), false},
		{"a viewer elsewhere is nobody", resource(vera, "list", "other", "", "pods", "", ""), false},
		{"a service account in its namespace", resource(robot, "get", "team", "apps", "deployments", "scale", "d"), true},
		{"discovery for the authenticated", authz.Attributes{User: vera, Verb: "get", Path: "/apis/apps"}, true},
		{"metrics only for monitors", authz.Attributes{User: vera, Verb: "get", Path: "/metrics"}, false},
		{"a node has no rights by being one", resource(node, "update", "kube-node-lease", "coordination.k8s.io", "leases", "", "n1"), false},
		{"a node lists no secrets", resource(node, "list", "", "", "secrets", "", ""), false},
		{"a node gets no tokens", resource(node, "create", "kube-system", "", "serviceaccounts", "token", "clusterrole-aggregation-controller"), false},
		{"a common name gives no access to kubelets", resource(&authn.User{Name: "kube-apiserver-kubelet-client"}, "get", "", "", "nodes", "proxy", "n1"), false},
		{"the scheduler binds", resource(sched, "create", "team", "", "pods", "binding", "p"), true},
		{"the scheduler's own lease", resource(sched, "update", "kube-system", "coordination.k8s.io", "leases", "", "kube-scheduler"), true},
		{"a lease of another name, as --leader-elect-resource-name says", resource(sched, "update", "kube-system", "coordination.k8s.io", "leases", "", "other"), true},
		{"no lease elsewhere", resource(sched, "update", "team", "coordination.k8s.io", "leases", "", "other"), false},
		{"events of the newer group", resource(vera, "list", "team", "events.k8s.io", "events", "", ""), true},
		{"the certificate controller signs for signers of Kubernetes", resource(signer, "sign", "", "certificates.k8s.io", "signers", "", "kubernetes.io/kubelet-serving"), true},
		{"and for no other", resource(signer, "sign", "", "certificates.k8s.io", "signers", "", "example.com/mine"), false},
		{"and approves kubelets only", resource(signer, "approve", "", "certificates.k8s.io", "signers", "", "kubernetes.io/kube-apiserver-client"), false},
	} {
		d, _, err := a.Authorize(t.Context(), c.attrs)
		require.NoError(t, err)
		require.Equal(t, c.allow, d == authz.Allow, c.name)
	}
	res, non, _, err := a.(authz.RuleResolver).RulesFor(t.Context(), vera, "team")
	require.NoError(t, err)
	require.NotEmpty(t, res)
	require.NotEmpty(t, non)
}

// TestCoversIsSound: what Covers accepts never grants a request that the holder could not make, and the
// missing parts of what it refuses are indeed not held.
func TestCoversIsSound(t *testing.T) {
	pick := func(r *rand.Rand, from ...string) []string {
		out := make([]string, 1+r.IntN(2))
		for i := range out {
			out[i] = from[r.IntN(len(from))]
		}
		return out
	}
	rules := func(r *rand.Rand, n int) (out []rbacv1.PolicyRule) {
		for range n {
			if r.IntN(5) == 0 {
				out = append(out, rbacv1.PolicyRule{Verbs: pick(r, "get", "*"), NonResourceURLs: pick(r, "/a", "/a/*", "*", "/b")})
				continue
			}
			rule := rbacv1.PolicyRule{Verbs: pick(r, "get", "list", "create", "*"), APIGroups: pick(r, "", "apps", "*"),
				Resources: pick(r, "pods", "pods/log", "*/log", "deployments", "*")}
			if r.IntN(3) == 0 {
				rule.ResourceNames = pick(r, "x", "y")
			}
			out = append(out, rule)
		}
		return out
	}
	user := &authn.User{Name: "u"}
	allowed := func(set []rbacv1.PolicyRule, a authz.Attributes) bool {
		b := &authz.Bootstrap{ClusterRoles: []*rbacv1.ClusterRole{{Rules: set}}}
		b.ClusterRoles[0].Name = "r"
		b.ClusterRoleBindings = []*rbacv1.ClusterRoleBinding{{Subjects: []rbacv1.Subject{{Kind: "User", Name: "u"}}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"}}}
		d, _, err := authz.NewRBAC(policyOf(b)).Authorize(t.Context(), a)
		require.NoError(t, err)
		return d == authz.Allow
	}
	for _, seed := range seeds.Of(t, 2000) {
		r := seeds.Stream(seed, 1)
		have, want := rules(r, 3), rules(r, 1)
		ok, missing := authz.Covers(have, want)
		require.Equal(t, ok, len(missing) == 0, "seed %d", seed)
		for range 20 {
			a := resource(user, pick(r, "get", "list", "create", "delete")[0], "", pick(r, "", "apps", "batch")[0], "", "", pick(r, "", "x", "z")[0])
			res, sub, _ := strings.Cut(pick(r, "pods", "pods/log", "deployments", "deployments/log", "jobs")[0], "/")
			a.Resource, a.Subresource = res, sub
			if r.IntN(4) == 0 {
				a = authz.Attributes{User: user, Verb: "get", Path: pick(r, "/a", "/a/b", "/b", "/c")[0]}
			}
			if ok && allowed(want, a) {
				require.True(t, allowed(have, a), "seed %d: %+v is granted but not held\nhave %+v\nwant %+v", seed, a, have, want)
			}
		}
	}
}

func Example() {
	a := authz.Union(authz.Masters(), authz.NewRBAC(policyOf(authz.BootstrapPolicy())))
	d, _, err := a.Authorize(context.Background(), authz.Attributes{
		User: &authn.User{Name: "admin", Groups: []string{authn.GroupMasters}}, Verb: "get", Resource: "pods", ResourceRequest: true})
	fmt.Println(d == authz.Allow, err)
	// Output: true <nil>
}
