package controlplane_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

var leases = coordinationv1.GroupVersion.WithResource("leases")

// identities returns the identity leases of servers, by host.
func identities(t *testing.T, s *apiserver.Server) map[string]*coordinationv1.Lease {
	t.Helper()
	list, err := s.Access().List(t.Context(), leases, "kube-system", labels.SelectorFromSet(map[string]string{"apiserver.kubernetes.io/identity": "kube-apiserver"}))
	require.NoError(t, err)
	out := map[string]*coordinationv1.Lease{}
	for _, obj := range list {
		lease := obj.(*coordinationv1.Lease)
		out[lease.Labels["kubernetes.io/hostname"]] = lease
	}
	return out
}

// Each server has a lease while it runs: one that ends deletes it, and that of one that crashed is deleted
// once it has not been renewed for an hour.
func TestIdentityLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Options{})
		defer mem.Close()
		run := func(host string) (*apiserver.Server, func()) {
			return runServer(t, apiserver.Options{Store: sharedStore{mem}}, controlplane.BookkeepingOptions{Hostname: host})
		}
		a, stopA := run("control-plane-1")
		defer stopA()
		_, stopB := run("control-plane-2")
		synctest.Wait()
		first := identities(t, a)
		require.Len(t, first, 2)
		lease := first["control-plane-1"]
		require.Equal(t, "apiserver-ktnciuvxljjqohol43g65rthde", lease.Name, "the name that Kubernetes 1.36 derives")
		require.Contains(t, *lease.Spec.HolderIdentity, lease.Name+"_")
		require.EqualValues(t, 3600, *lease.Spec.LeaseDurationSeconds)

		// What another component keeps in the namespace, a server that crashed, and one that a newer process
		// of the host took over.
		put := func(name, host string, renewed time.Time, identity bool) {
			l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, Labels: map[string]string{"kubernetes.io/hostname": host}},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: new("x"), LeaseDurationSeconds: new(int32(3600)), RenewTime: new(metav1.NewMicroTime(renewed))}}
			if identity {
				l.Labels["apiserver.kubernetes.io/identity"] = "kube-apiserver"
			}
			_, err := a.Access().Create(t.Context(), leases, l, registry.Write{})
			require.NoError(t, err)
		}
		put("scheduler", "other", time.Now().Add(-24*time.Hour), false)
		put("crashed", "control-plane-3", time.Now(), true)
		time.Sleep(59 * time.Minute)
		require.Contains(t, identities(t, a), "control-plane-3")
		now := identities(t, a)["control-plane-1"]
		require.WithinDuration(t, time.Now(), now.Spec.RenewTime.Time, 11*time.Second)
		require.Equal(t, lease.UID, now.UID)
		require.Equal(t, lease.Spec.HolderIdentity, now.Spec.HolderIdentity)
		time.Sleep(2 * time.Hour)
		require.Len(t, identities(t, a), 2, "the crashed server's is gone, those of the others are not")
		_, err := a.Access().Get(t.Context(), leases, metav1.KeyOf(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "scheduler"}}))
		require.NoError(t, err, "leases of other components are not touched")

		stopB()
		synctest.Wait()
		require.Len(t, identities(t, a), 1)

		// A process that takes the place of one that crashed has its lease, and keeps it when that one ends
		// late.
		c, stopC := run("control-plane-1")
		synctest.Wait()
		taken := identities(t, c)["control-plane-1"]
		require.Equal(t, lease.UID, taken.UID)
		require.NotEqual(t, lease.Spec.HolderIdentity, taken.Spec.HolderIdentity)
		stopA()
		synctest.Wait()
		require.Contains(t, identities(t, c), "control-plane-1")
		stopC()
	})
}

// Without the name of its host a server has no lease.
func TestNoIdentityLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stop := runServer(t, apiserver.Options{}, controlplane.BookkeepingOptions{})
		defer stop()
		time.Sleep(time.Minute)
		require.Empty(t, identities(t, s))
	})
}
