package controlplane_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

// sharedStore is a store that says that other servers use it too.
type sharedStore struct{ store.Store }

// Capabilities implements store.Store.
func (s sharedStore) Capabilities() store.Capabilities {
	c := s.Store.Capabilities()
	c.Shared = true
	return c
}

// The endpoints of the service kubernetes are the servers that run: one that ends takes its address out, and
// that of one that crashed expires.
func TestEndpointsOfServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Options{})
		defer mem.Close()
		shared := sharedStore{mem}
		run := func(address string) (server *apiserver.Server, stop func()) {
			s, err := apiserver.New(apiserver.Options{Store: shared, AdvertiseAddress: address, StartHook: controlplane.Bookkeeping()})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- s.Run(ctx) }()
			<-s.Ready()
			return s, func() {
				cancel()
				require.NoError(t, <-ran)
			}
		}
		addresses := func(s *apiserver.Server) (out []string) {
			e, err := registry.Get[*corev1.Endpoints](t.Context(), s.Access(), corev1.GroupVersion.WithResource("endpoints"), planetest.Key("default", "kubernetes"))
			require.NoError(t, err)
			for _, a := range e.Subsets[0].Addresses {
				out = append(out, a.IP)
			}
			slice, err := registry.Get[*discoveryv1.EndpointSlice](t.Context(), s.Access(), discoveryv1.GroupVersion.WithResource("endpointslices"), planetest.Key("default", "kubernetes"))
			require.NoError(t, err)
			require.True(t, slices.EqualFunc(out, slice.Endpoints, func(ip string, e discoveryv1.Endpoint) bool { return e.Addresses[0] == ip }))
			return out
		}
		a, stopA := run("10.9.9.1")
		defer stopA()
		require.Equal(t, []string{"10.9.9.1"}, addresses(a))
		_, stopB := run("10.9.9.2")
		synctest.Wait()
		require.Equal(t, []string{"10.9.9.1", "10.9.9.2"}, addresses(a))
		stopB()
		synctest.Wait()
		require.Equal(t, []string{"10.9.9.1"}, addresses(a), "the one that ended")

		// A crashed server leaves its key behind, which nothing renews.
		_, err := mem.Create(t.Context(), "/masterleases/10.9.9.3", []byte("x"), store.WriteOptions{TTL: 15 * time.Second})
		require.NoError(t, err)
		time.Sleep(11 * time.Second)
		require.Equal(t, []string{"10.9.9.1", "10.9.9.3"}, addresses(a))
		time.Sleep(20 * time.Second)
		require.Equal(t, []string{"10.9.9.1"}, addresses(a), "the one that crashed")
	})
}

// An address that only this machine reaches is not published.
func TestLoopbackIsNotAdvertised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := apiserver.New(apiserver.Options{AdvertiseAddress: "127.0.0.1", StartHook: controlplane.Bookkeeping()})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- s.Run(ctx) }()
		<-s.Ready()
		list, err := s.Access().List(t.Context(), corev1.GroupVersion.WithResource("endpoints"), "", labels.Everything())
		require.NoError(t, err)
		require.Empty(t, list)
		cancel()
		require.NoError(t, <-ran)
	})
}
