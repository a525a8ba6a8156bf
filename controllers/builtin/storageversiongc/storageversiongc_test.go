package storageversiongc_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiserverinternalv1alpha1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/storageversiongc"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/store/apiserver"
)

type storageVersion = apiserverinternalv1alpha1.StorageVersion

var account = client.User{Name: "system:serviceaccount:kube-system:storage-version-garbage-collector", Groups: []string{"system:authenticated"}}

// start starts a cluster that serves StorageVersions, whose controller has only its own rights.
func start(t testing.TB) *controllertest.Cluster {
	served, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, apiserverinternalv1alpha1.AddToScheme(served))
	require.NoError(t, apiserverinternalv1alpha1.AddRules(served))
	known := api.Scheme().Clone()
	require.NoError(t, apiserverinternalv1alpha1.AddToScheme(known))
	c := controllertest.Start(t, controllertest.Options{Scheme: known, Server: apiserver.Options{Scheme: served}})
	c.Run(c.ManagerOver(c.Conn(), "controllers", func(m *manager.Manager) error { return storageversiongc.Add(m.As(c.Conn(account))) }))
	return c
}

// server makes the lease of a server.
func server(c *controllertest.Cluster, name string) {
	lease := &coordinationv1.Lease{ObjectMeta: controllertest.Name("kube-system", name)}
	lease.Labels = map[string]string{"apiserver.kubernetes.io/identity": "kube-apiserver"}
	controllertest.Create(c, lease)
}

// report adds the reports of servers, each of a version, to a StorageVersion, which it may create.
func report(c *controllertest.Cluster, name string, servers ...string) {
	if !exists(c, name) {
		controllertest.Create(c, &storageVersion{ObjectMeta: controllertest.Name("", name)})
	}
	controllertest.UpdateStatus(c, "", name, func(v *storageVersion) {
		for i := 0; i < len(servers); i += 2 {
			v.Report(apiserverinternalv1alpha1.ServerStorageVersion{APIServerID: servers[i], EncodingVersion: servers[i+1], DecodableVersions: []string{servers[i+1]}}, metav1.Now().Truncated())
		}
	})
}

func exists(c *controllertest.Cluster, name string) bool {
	for _, v := range controllertest.List[*storageVersion](c, "") {
		if v.Name == name {
			return true
		}
	}
	return false
}

// state are the StorageVersions: the servers, the common version and the condition.
func state(c *controllertest.Cluster) (out []string) {
	for _, v := range controllertest.List[*storageVersion](c, "") {
		text := v.Name
		for _, r := range v.Status.StorageVersions {
			text += " " + r.APIServerID
		}
		if v.Status.CommonEncodingVersion != nil {
			text += " " + *v.Status.CommonEncodingVersion
		}
		for _, cond := range v.Status.Conditions {
			text += fmt.Sprint(" ", cond.Status)
		}
		out = append(out, text)
	}
	return out
}

// When the lease of a server goes, so do its reports: the others agree then, and a StorageVersion without any
// is deleted. What has no reports yet is kept.
func TestServersThatEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		server(c, "a")
		server(c, "b")
		report(c, "apps.deployments", "a", "v1", "b", "v2")
		report(c, "core.pods", "b", "v1")
		report(c, "core.nodes", "a", "v1")
		controllertest.Create(c, &storageVersion{ObjectMeta: controllertest.Name("", "core.new")})
		c.Settle()
		require.Equal(t, []string{"apps.deployments a b False", "core.new", "core.nodes a v1 True", "core.pods b v1 True"}, state(c))
		controllertest.Delete[*coordinationv1.Lease](c, "kube-system", "b")
		c.Settle()
		require.Equal(t, []string{"apps.deployments a v1 True", "core.new", "core.nodes a v1 True"}, state(c))
	})
}

// Reports of servers that never had a lease, or whose lease is that of something else, go too.
func TestReportsOfNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		server(c, "a")
		controllertest.Create(c, &coordinationv1.Lease{ObjectMeta: controllertest.Name("kube-system", "scheduler")})
		elsewhere := &coordinationv1.Lease{ObjectMeta: controllertest.Name("default", "elsewhere")}
		elsewhere.Labels = map[string]string{"apiserver.kubernetes.io/identity": "kube-apiserver"}
		controllertest.Create(c, elsewhere)
		report(c, "core.pods", "a", "v1", "gone", "v1", "scheduler", "v2", "elsewhere", "v1")
		c.Settle()
		require.Equal(t, []string{"core.pods a v1 True"}, state(c))
	})
}

// Only a NotFound says that a server has ended: while leases cannot be read, nothing is removed.
func TestLeasesThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		server(c, "a")
		report(c, "core.pods", "a", "v1")
		c.Settle()
		faults := c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"get"}, Resource: "leases", User: account.Name},
			Effect: controllertest.Fail(apierrors.NewServiceUnavailable("the store is slow"))})
		controllertest.Delete[*coordinationv1.Lease](c, "kube-system", "a")
		c.Sleep(time.Minute)
		require.Equal(t, []string{"core.pods a v1 True"}, state(c))
		faults.Remove()
		c.Sleep(time.Hour)
		require.Empty(t, state(c))
	})
}
