package controlplane_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
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

// runServer runs a server until stop is called.
func runServer(t *testing.T, o apiserver.Options, b controlplane.BookkeepingOptions) (s *apiserver.Server, stop func()) {
	t.Helper()
	o.StartHook = controlplane.Bookkeeping(b)
	s, err := apiserver.New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	<-s.Ready()
	return s, sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ran)
	})
}

// published returns the addresses in the endpoints of the service kubernetes, of which both forms must agree.
func published(t *testing.T, s *apiserver.Server) (out []string) {
	t.Helper()
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

// The endpoints of the service kubernetes are the servers that run: one that ends takes its address out, and
// that of one that crashed expires.
func TestEndpointsOfServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Options{})
		defer mem.Close()
		shared := sharedStore{mem}
		run := func(address string) (*apiserver.Server, func()) {
			return runServer(t, apiserver.Options{Store: shared, AdvertiseAddress: address}, controlplane.BookkeepingOptions{})
		}
		addresses := func(s *apiserver.Server) []string { return published(t, s) }
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

// By number, the address of a server that crashed stays until as many run as there should be, and what a
// client has changed is written again.
func TestEndpointsByNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Options{})
		defer mem.Close()
		run := func(address string) (*apiserver.Server, func()) {
			return runServer(t, apiserver.Options{Store: sharedStore{mem}, AdvertiseAddress: address}, controlplane.BookkeepingOptions{Endpoints: controlplane.EndpointsCount, Servers: 2})
		}
		a, stopA := run("10.9.9.1")
		defer stopA()
		require.Equal(t, []string{"10.9.9.1"}, published(t, a))
		setEndpoints(t, a, "10.9.9.1", "10.9.9.7") // one that crashed
		time.Sleep(time.Minute)
		require.Equal(t, []string{"10.9.9.1", "10.9.9.7"}, published(t, a), "there is room for two")
		_, stopB := run("10.9.9.2")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"10.9.9.1", "10.9.9.2"}, published(t, a))
		setEndpoints(t, a)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"10.9.9.1", "10.9.9.2"}, published(t, a), "after a client has emptied them")
		// Not at the instant at which a publishes: of two writes then, one may be of before, until the next.
		time.Sleep(time.Second)
		stopB()
		synctest.Wait()
		require.Equal(t, []string{"10.9.9.1"}, published(t, a))
	})
}

// setEndpoints changes the addresses of the service kubernetes as a client does.
func setEndpoints(t *testing.T, s *apiserver.Server, addresses ...string) {
	t.Helper()
	_, err := s.Access().Update(t.Context(), corev1.GroupVersion.WithResource("endpoints"), planetest.Key("default", "kubernetes"), func(obj metav1.Object) error {
		e := obj.(*corev1.Endpoints)
		ports := []corev1.EndpointPort{{Name: "https", Port: 6443, Protocol: corev1.ProtocolTCP}}
		e.Subsets = nil
		for _, a := range addresses {
			if e.Subsets == nil {
				e.Subsets = []corev1.EndpointSubset{{Ports: ports}}
			}
			e.Subsets[0].Addresses = append(e.Subsets[0].Addresses, corev1.EndpointAddress{IP: a})
		}
		return nil
	}, registry.Write{})
	require.NoError(t, err)
}

// With the mode none a server neither writes endpoints nor changes those of others.
func TestEndpointsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Options{})
		defer mem.Close()
		a, stopA := runServer(t, apiserver.Options{Store: sharedStore{mem}, AdvertiseAddress: "10.9.9.1"}, controlplane.BookkeepingOptions{})
		require.Equal(t, []string{"10.9.9.1"}, published(t, a))
		stopA()
		b, stopB := runServer(t, apiserver.Options{Store: sharedStore{mem}, AdvertiseAddress: "10.9.9.2"}, controlplane.BookkeepingOptions{Endpoints: controlplane.EndpointsNone})
		time.Sleep(time.Minute)
		require.Equal(t, []string{"10.9.9.1"}, published(t, b), "the last server's address stays")
		stopB()
		wrong, err := apiserver.New(apiserver.Options{Store: mem, StartHook: controlplane.Bookkeeping(controlplane.BookkeepingOptions{Endpoints: "some"})})
		require.NoError(t, err)
		require.ErrorContains(t, wrong.Run(t.Context()), `"some" is no mode of endpoints`)
	})
}

// A server that moves to the other family of addresses replaces its slice.
func TestEndpointsOfTheOtherFamily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Options{})
		defer mem.Close()
		_, stop := runServer(t, apiserver.Options{Store: mem, AdvertiseAddress: "10.9.9.1"}, controlplane.BookkeepingOptions{})
		stop()
		s, stop := runServer(t, apiserver.Options{Store: mem, AdvertiseAddress: "fd00::9"}, controlplane.BookkeepingOptions{})
		defer stop()
		require.Equal(t, []string{"fd00::9"}, published(t, s))
		slice, err := registry.Get[*discoveryv1.EndpointSlice](t.Context(), s.Access(), discoveryv1.GroupVersion.WithResource("endpointslices"), planetest.Key("default", "kubernetes"))
		require.NoError(t, err)
		require.Equal(t, discoveryv1.AddressTypeIPv6, slice.AddressType)
	})
}

// A server that shuts down takes its address out at once, and serves those that still have it for the delay.
func TestEndpointsBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Options{})
		defer mem.Close()
		a, stopA := runServer(t, apiserver.Options{Store: sharedStore{mem}, AdvertiseAddress: "10.9.9.1"}, controlplane.BookkeepingOptions{})
		defer stopA()
		b, stopB := runServer(t, apiserver.Options{Store: sharedStore{mem}, AdvertiseAddress: "10.9.9.2", ShutdownDelay: time.Minute}, controlplane.BookkeepingOptions{})
		require.Equal(t, []string{"10.9.9.1", "10.9.9.2"}, published(t, a))
		ended := make(chan struct{})
		go func() { stopB(); close(ended) }()
		synctest.Wait()
		require.Equal(t, []string{"10.9.9.1"}, published(t, a))
		time.Sleep(30 * time.Second)
		require.Equal(t, []string{"10.9.9.1"}, published(t, b), "it still serves")
		select {
		case <-ended:
			t.Fatal("the server has ended before the delay")
		default:
		}
		<-ended
	})
}

// What no cluster works without is created again soon after a client has deleted it.
func TestDeletedEssentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stop := runServer(t, apiserver.Options{AdvertiseAddress: "10.9.9.1"}, controlplane.BookkeepingOptions{})
		defer stop()
		for resource, key := range map[schema.GroupVersionResource]types.NamespacedName{
			corev1.GroupVersion.WithResource("services"):   planetest.Key("default", "kubernetes"),
			corev1.GroupVersion.WithResource("namespaces"): planetest.Key("", "kube-node-lease"),
			corev1.GroupVersion.WithResource("endpoints"):  planetest.Key("default", "kubernetes"),
		} {
			old, err := s.Access().GetLatest(t.Context(), resource, key)
			require.NoError(t, err)
			if resource.Resource == "namespaces" { // nothing here ends it
				_, err := mem(s).Delete(t.Context(), "/namespaces/"+key.Name, store.AnyRevision, store.WriteOptions{})
				require.NoError(t, err)
			} else {
				require.NoError(t, s.Access().Delete(t.Context(), resource, key, nil, registry.Write{}))
			}
			time.Sleep(15 * time.Second)
			again, err := s.Access().GetLatest(t.Context(), resource, key)
			require.NoError(t, err, resource)
			require.NotEqual(t, metav1.MetaOf(old).UID, metav1.MetaOf(again).UID)
		}
		service, err := registry.Get[*corev1.Service](t.Context(), s.Access(), corev1.GroupVersion.WithResource("services"), planetest.Key("default", "kubernetes"))
		require.NoError(t, err)
		require.Equal(t, s.Kinds().ServiceAddress(1).String(), service.Spec.ClusterIP)
	})
}

func mem(s *apiserver.Server) store.Store { return s.Registry().Store() }

// An address that only this machine reaches is not published.
func TestLoopbackIsNotAdvertised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := apiserver.New(apiserver.Options{AdvertiseAddress: "127.0.0.1", StartHook: controlplane.Bookkeeping(controlplane.BookkeepingOptions{})})
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
