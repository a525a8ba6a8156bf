package builtin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
	"github.com/keelson-dev/keelson/controllers/builtin/nodeipam"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/workqueue"
)

// added returns the controllers that Add adds, by the names of their metrics.
func added(t *testing.T, opts builtin.Options) ([]string, error) {
	t.Helper()
	conn, err := rest.New(rest.Config{Host: "http://127.0.0.1:1"}, rest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	var all []string
	m := manager.New(conn, manager.Options{Monitor: names{&all}})
	err = builtin.Add(m, opts)
	slices.Sort(all)
	return all, err
}

// names is a Monitor that records the names of controllers.
type names struct{ all *[]string }

func (names) Queue(string) *workqueue.Metrics { return nil }

func (names) Reconciles() controller.Metrics { return controller.Metrics{} }

func (names) InformerSet(*informers.Set) {}

func (n names) Controller(name string, _ controller.QueueView) { *n.all = append(*n.all, name) }

// everything are options with which no controller is without work.
func everything(t *testing.T) builtin.Options {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return builtin.Options{Controllers: builtin.Names(), TokenKey: key, RootCA: []byte("ca"), Gated: gated(),
		NodeIPAM: nodeipam.Options{ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}}, Signing: certificates.SigningOptions{Cert: &x509.Certificate{PublicKey: key.Public()}, Key: key}}
}

// The name of a controller in metrics is its name without -controller. Some controllers have further queues,
// and the garbage collector has its name in full.
func TestNamesInMetrics(t *testing.T) {
	want := []string{"device-taint-eviction-rules", "job-orphans", "persistentvolume-binder-volumes", "resourceclaim-release", "stale-pod-disruption"}
	for _, name := range builtin.Names() {
		if name != "garbage-collector-controller" {
			name = strings.TrimSuffix(name, "-controller")
		}
		want = append(want, name)
	}
	slices.Sort(want)
	got, err := added(t, everything(t))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Every controller that was added has a check, by its name, and only its own fails when it has returned.
func TestHealth(t *testing.T) {
	conn, err := rest.New(rest.Config{Host: "http://127.0.0.1:1"}, rest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	m := manager.New(conn, manager.Options{})
	require.Empty(t, builtin.Health(m))
	require.NoError(t, builtin.Add(m, everything(t)))
	checks := builtin.Health(m)
	require.ElementsMatch(t, builtin.Names(), slices.Collect(maps.Keys(checks)))
	removed, err := m.Remove(t.Context(), "job")
	require.NoError(t, err)
	require.True(t, removed)
	for name, check := range checks {
		if name == "job-controller" {
			require.EqualError(t, check(t.Context()), "the controller has returned")
			continue
		}
		require.NoError(t, check(t.Context()), name)
	}
	m = manager.New(conn, manager.Options{})
	require.NoError(t, builtin.Add(m, builtin.Options{Controllers: []string{"*", "-job"}}))
	checks = builtin.Health(m)
	require.Contains(t, checks, "deployment-controller")
	for _, name := range []string{"job-controller", "token-cleaner-controller", "node-ipam-controller", "podcertificaterequest-cleaner-controller"} {
		require.NotContains(t, checks, name, "it is off or without work")
	}
}

// Every controller but that of tokens, which may be what accounts connect by, acts as an account that has a
// role.
func TestAccountsHaveRoles(t *testing.T) {
	policy := authz.BootstrapPolicy()
	for _, g := range api.AllGated() {
		s := scheme.New()
		require.NoError(t, g.AddToScheme(s))
		for _, info := range s.All() {
			policy.AddGated(info.GVR.Group, info.GVR.Resource)
		}
	}
	opts := everything(t)
	var accounts []string
	opts.Connect = func(account string) (client.Conn, error) {
		accounts = append(accounts, account)
		return rest.New(rest.Config{Host: "http://127.0.0.1:1"}, rest.Options{})
	}
	_, err := added(t, opts)
	require.NoError(t, err)
	require.Len(t, accounts, len(builtin.Names())-1)
	for _, account := range accounts {
		binds := func(role rbacv1.RoleRef, subjects []rbacv1.Subject) bool {
			return role.Name == "system:controller:"+account && slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
				return s.Kind == "ServiceAccount" && s.Namespace == "kube-system" && s.Name == account
			})
		}
		bound := slices.ContainsFunc(policy.ClusterRoleBindings, func(b *rbacv1.ClusterRoleBinding) bool { return binds(b.RoleRef, b.Subjects) }) ||
			slices.ContainsFunc(policy.RoleBindings, func(b *rbacv1.RoleBinding) bool { return binds(b.RoleRef, b.Subjects) })
		require.True(t, bound, "no role is bound to the account %s", account)
	}
	opts.Connect = func(string) (client.Conn, error) { return nil, errors.New("no connection") }
	_, err = added(t, opts)
	require.ErrorContains(t, err, "job-controller: no connection")
}

// The names that kube-controller-manager 1.36 takes beside those without -controller, each with the
// controller.
func TestEarlierNames(t *testing.T) {
	for earlier, name := range map[string]string{"attachdetach": "persistentvolume-attach-detach", "bootstrapsigner": "bootstrap-signer", "csrapproving": "certificatesigningrequest-approving",
		"csrcleaner": "certificatesigningrequest-cleaner", "csrsigning": "certificatesigningrequest-signing", "endpoint": "endpoints", "endpointslicemirroring": "endpointslice-mirroring",
		"garbagecollector": "garbage-collector-controller", "horizontalpodautoscaling": "horizontal-pod-autoscaler", "legacy-service-account-token-cleaner": "legacy-serviceaccount-token-cleaner",
		"nodeipam": "node-ipam", "nodelifecycle": "node-lifecycle", "podgc": "pod-garbage-collector", "pv-protection": "persistentvolume-protection",
		"pvc-protection": "persistentvolumeclaim-protection", "resource-claim-controller": "resourceclaim", "root-ca-cert-publisher": "root-ca-certificate-publisher",
		"storage-version-gc": "storageversion-garbage-collector", "svm": "storage-version-migrator", "tokencleaner": "token-cleaner"} {
		opts := everything(t)
		opts.Controllers = []string{earlier}
		got, err := added(t, opts)
		require.NoError(t, err)
		require.Contains(t, got, name, earlier)
	}
	for _, name := range []string{"service", "route", "cloud-node-lifecycle", "service-lb-controller", "node-route-controller", "cloud-node-lifecycle-controller"} {
		got, err := added(t, builtin.Options{Controllers: []string{"job", name, "-" + name}})
		require.NoError(t, err)
		require.Equal(t, []string{"job", "job-orphans"}, got, "no cloud provider is built in")
	}
}

func TestSelection(t *testing.T) {
	for _, c := range []struct {
		controllers []string
		with        []string
		without     []string
	}{
		{nil, []string{"job", "deployment"}, nil},
		{[]string{"*", "-job"}, []string{"deployment"}, []string{"job", "job-orphans"}},
		{[]string{"job-controller", "deployment"}, []string{"job", "deployment"}, []string{"replicaset"}},
		{nil, nil, []string{"bootstrap-signer", "selinux-warning", "token-cleaner"}},
		{[]string{"*", "bootstrapsigner", "token-cleaner", "-podgc"}, []string{"bootstrap-signer", "token-cleaner", "job"}, []string{"pod-garbage-collector"}},
		{[]string{"-job"}, nil, []string{"job", "deployment"}},
	} {
		got, err := added(t, builtin.Options{Controllers: c.controllers})
		require.NoError(t, err)
		require.Subset(t, got, c.with)
		for _, name := range c.without {
			require.NotContains(t, got, name, "%q", c.controllers)
		}
	}
	require.Len(t, builtin.Names(), len(slices.Compact(slices.Sorted(slices.Values(builtin.Names())))))
	_, err := added(t, builtin.Options{Controllers: []string{"*", "nothing"}})
	require.ErrorContains(t, err, `"nothing" is not a controller; known are serviceaccount-controller, `)
	// Without work: no certificate to publish or to sign with, and no migrations.
	got, err := added(t, builtin.Options{})
	require.NoError(t, err)
	require.NotContains(t, got, "root-ca-certificate-publisher")
	require.NotContains(t, got, "serviceaccount-token")
	require.NotContains(t, got, "certificatesigningrequest-signing")
	require.NotContains(t, got, "storage-version-migrator")
}
