package main

import (
	"log/slog"
	"os"
	"slices"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/objects"
	"github.com/keelson-dev/keelson/controllers/builtin/deployment"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/controllers/webhook"
	v1 "github.com/keelson-dev/keelson/examples/operator/api/v1"
	"github.com/keelson-dev/keelson/examples/operator/webhooks"
)

// The roles in config/rbac have the rights that a run needs and no others. The operator has only these.
func TestRoles(t *testing.T) {
	t.Run("cluster-wide", func(t *testing.T) {
		rules := rulesOf(t, "config/rbac/cluster-wide.yaml")
		calls := slices.Concat(record(t, "cluster-wide"), recordCertificates(t))
		configurations := func(c controllertest.Call) bool {
			return c.APIGroup == "admissionregistration.k8s.io" || c.APIGroup == "apiextensions.k8s.io"
		}
		same(t, rules["/website-operator-certificates"], calls, configurations)
		same(t, slices.Concat(rules["website-system/website-operator-certificates"], rules["website-system/website-operator-leader"]), calls, ownNamespace)
		same(t, rules["/website-operator"], calls, func(c controllertest.Call) bool { return !configurations(c) && !ownNamespace(c) })
		page := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}
		require.Equal(t, []rbacv1.PolicyRule{page}, rules["/website-operator-metrics"], "the walk reads the page")
		require.Len(t, rules, 5)
	})
	t.Run("namespaced", func(t *testing.T) {
		rules := rulesOf(t, "config/rbac/namespaced.yaml")
		calls := record(t, "namespaced", "--watch-namespaces=websites")
		same(t, rules["website-system/website-operator-leader"], calls, ownNamespace)
		same(t, rules["websites/website-operator"], calls, func(c controllertest.Call) bool { return c.Namespace == "websites" })
		require.Len(t, rules, 2)
		for _, c := range calls {
			require.True(t, !c.ResourceRequest || ownNamespace(c) || c.Namespace == "websites", "a Role does not allow %s of %s in namespace %q", c.Verb, c.Resource, c.Namespace)
		}
	})
}

func ownNamespace(c controllertest.Call) bool { return c.Namespace == defaultNamespace }

// same fails unless the rules are those that the selected calls need.
func same(t *testing.T, rules []rbacv1.PolicyRule, calls []controllertest.Call, selected func(controllertest.Call) bool) {
	t.Helper()
	calls = slices.DeleteFunc(slices.Clone(calls), func(c controllertest.Call) bool { return !selected(c) })
	missing, unused := controllertest.CompareRules(rules, calls)
	require.Empty(t, missing, "add these to the markers; all that is needed is %+v", controllertest.LeastRules(calls))
	require.Empty(t, unused, "remove these from the markers")
}

// rulesOf returns the rules of the roles in a file, by namespace and name.
func rulesOf(t *testing.T, file string) map[string][]rbacv1.PolicyRule {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	out := map[string][]rbacv1.PolicyRule{}
	for u, err := range manifest.All(f, file) {
		require.NoError(t, err)
		if u.Kind != "Role" && u.Kind != "ClusterRole" {
			continue
		}
		var role struct {
			Rules []rbacv1.PolicyRule `json:"rules"`
		}
		text, err := codec.Marshal(u)
		require.NoError(t, err)
		require.NoError(t, codec.Unmarshal(text, &role))
		out[u.Namespace+"/"+u.Name] = role.Rules
	}
	return out
}

// record runs the operator with the roles of config/rbac, lets it do all that it can do, and returns its
// calls. The webhooks are served by the cluster, over its network in memory.
func record(t *testing.T, roles string, args ...string) []controllertest.Call {
	o, err := parse(append(args, "--webhooks=false", "--health-address="))
	require.NoError(t, err)
	server := webhook.New(webhook.Options{})
	webhooks.Handle(server, o.domain)
	hooks := controllertest.Options{Webhooks: controllertest.Webhooks{Config: os.DirFS("config/webhook"), Handler: server}}
	return recorded(t, roles, hooks, func(conn client.Conn) (manager.Runnable, error) {
		return o.manager(conn, slog.New(slog.DiscardHandler), metrics.New())
	}, live)
}

// recordCertificates is the part of the calls that keeps the certificate, for two hours: it is replaced too.
func recordCertificates(t *testing.T) []controllertest.Call {
	o, err := parse([]string{"--certificate-validity=1h"})
	require.NoError(t, err)
	return recorded(t, "cluster-wide", controllertest.Options{}, func(conn client.Conn) (manager.Runnable, error) {
		return o.certificates(conn, slog.New(slog.DiscardHandler)), nil
	}, func(t *testing.T, c *controllertest.Cluster) {
		for _, obj := range hookConfigurations(t) {
			_, err := objects.New(c.Admin(), objects.Options{}).Create(t.Context(), obj)
			require.NoError(t, err)
		}
		c.Sleep(2 * time.Hour)
	})
}

func hookConfigurations(t *testing.T) []metav1.Object {
	hooks, err := variant().webhooks()
	require.NoError(t, err)
	return hooks
}

// recorded runs what start returns as the operator's account during live, and returns its calls.
func recorded(t *testing.T, roles string, opts controllertest.Options, start func(client.Conn) (manager.Runnable, error), live func(*testing.T, *controllertest.Cluster)) (calls []controllertest.Call) {
	rbac, err := os.ReadFile("config/rbac/" + roles + ".yaml")
	require.NoError(t, err)
	opts.Scheme, err = kinds()
	require.NoError(t, err)
	opts.CRDs = os.DirFS("config/crd")
	opts.Manifests = fstest.MapFS{"rbac.yaml": {Data: rbac}, "namespace.yaml": {Data: []byte(
		"{apiVersion: v1, kind: Namespace, metadata: {name: website-system}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: websites}}\n")}}
	opts.Controllers = []controllertest.Adder{
		func(m *manager.Manager) error { return deployment.Add(m, deployment.Options{}) },
		func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) },
	}
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, opts)
		account := client.User{Name: "system:serviceaccount:website-system:website-operator", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
		recording := c.Record(controllertest.Requests{User: account.Name})
		r, err := start(c.Conn(account))
		require.NoError(t, err)
		stop := c.Run(r)
		live(t, c)
		stop()
		calls = recording.Calls()
	})
	// A manager reads the namespaces of its options to warn of missing ones; it needs no right for that.
	calls = slices.DeleteFunc(calls, func(c controllertest.Call) bool { return c.Resource == "namespaces" && c.Verb == "get" })
	for _, call := range calls {
		require.NotEqual(t, 403, call.Code, "%s of %s %s/%s was refused", call.Verb, call.Resource, call.Namespace, call.Name)
	}
	return calls
}

// live is what can happen to websites.
func live(_ *testing.T, c *controllertest.Cluster) {
	taken := func(name, host string) *v1.Website {
		s := site("websites", name)
		s.Spec.Host = host
		return s
	}
	controllertest.Create(c, taken("one", "a.example"))
	c.Sleep(time.Minute)
	controllertest.Create(c, taken("two", "a.example")) // an event
	c.Sleep(time.Minute)
	for _, host := range []string{"b.example", "a.example"} { // the same event again
		controllertest.Update(c, "websites", "two", func(s *v1.Website) { s.Spec.Host = host })
		c.Sleep(time.Minute)
	}
	controllertest.Update(c, "websites", "one", func(s *v1.Website) { s.Spec.Image = "web:2" })
	controllertest.Delete[*corev1.Service](c, "websites", "one")
	c.Sleep(time.Minute)
	for _, name := range []string{"one", "two"} {
		controllertest.Delete[*v1.Website](c, "websites", name)
	}
	c.Sleep(time.Minute)
}
