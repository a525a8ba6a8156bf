package controlplane

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/registry"
)

// Servers over one store find each other by keys that expire: each writes its address every ten seconds, and
// the endpoints of the service kubernetes are the addresses in the store.
const (
	leasePrefix  = "/masterleases/"
	leaseTTL     = 15 * time.Second
	leaseRefresh = 10 * time.Second
)

// endpoints keeps the endpoints of the service kubernetes, on behalf of one server.
type endpoints struct {
	server  *apiserver.Server
	store   store.Store
	address string
	port    int32
}

func newEndpoints(s *apiserver.Server) *endpoints {
	address, port := s.Advertised()
	return &endpoints{server: s, store: s.Registry().Store(), address: address, port: int32(port)}
}

// advertised reports whether there is an address to publish. A loopback address does not count: it must not
// be in endpoints.
func (e *endpoints) advertised() bool {
	ip, err := netip.ParseAddr(e.address)
	return err == nil && !ip.IsLoopback() && !ip.IsUnspecified()
}

// run keeps this server's key until ctx ends, and then deletes it.
func (e *endpoints) run(ctx context.Context) {
	if !e.advertised() || !e.store.Capabilities().Shared {
		return // over a store of its own a server is alone, and its endpoints stay as they are
	}
	refresh := time.NewTicker(leaseRefresh)
	defer refresh.Stop()
	for {
		select {
		case <-ctx.Done():
			e.withdraw(context.WithoutCancel(ctx))
			return
		case <-refresh.C:
			if err := e.publish(ctx); err != nil && ctx.Err() == nil {
				e.server.Logger().Warn("publishing endpoints of the service kubernetes failed", "err", err)
			}
		}
	}
}

// publish renews this server's key and brings the endpoints up to date.
func (e *endpoints) publish(ctx context.Context) error {
	key := leasePrefix + e.address
	addresses := []string{e.address}
	if e.store.Capabilities().Shared {
		// The value is what Kubernetes stores there, so that its servers may run beside ours.
		value, err := codec.MarshalEnvelope("v1", "Endpoints", &corev1.Endpoints{
			Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: e.address}}}}})
		if err != nil {
			return err
		}
		kv, _, err := e.store.Get(ctx, key)
		expected := kv.Revision
		if errors.Is(err, store.ErrNotFound) {
			expected = store.Absent
		} else if err != nil {
			return err
		}
		if _, err := e.store.Update(ctx, key, value, expected, store.WriteOptions{TTL: leaseTTL}); err != nil {
			return err
		}
		if addresses, err = e.servers(ctx); err != nil {
			return err
		}
	}
	return e.write(ctx, addresses)
}

// servers lists the addresses of all servers over the store.
func (e *endpoints) servers(ctx context.Context) ([]string, error) {
	list, err := e.store.List(ctx, leasePrefix, store.ListOptions{})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, kv := range list.Items {
		out = append(out, strings.TrimPrefix(kv.Key, leasePrefix))
	}
	slices.Sort(out)
	return out, nil
}

// withdrawTimeout bounds how long an unavailable store delays the end of a server.
const withdrawTimeout = 3 * time.Second

// withdraw removes this server's address.
func (e *endpoints) withdraw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, withdrawTimeout)
	defer cancel()
	if _, err := e.store.Delete(ctx, leasePrefix+e.address, store.AnyRevision, store.WriteOptions{}); err != nil {
		return // the key expires by itself
	}
	if addresses, err := e.servers(ctx); err == nil && len(addresses) > 0 {
		_ = e.write(ctx, addresses)
	}
}

// write stores Endpoints and EndpointSlice of the service kubernetes if they differ.
func (e *endpoints) write(ctx context.Context, addresses []string) error {
	key := types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: kubernetesService}
	subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "https", Port: e.port, Protocol: corev1.ProtocolTCP}}}
	slice := discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: new("https"), Port: &e.port, Protocol: new(corev1.ProtocolTCP)}}}
	for _, a := range addresses {
		if ip, err := netip.ParseAddr(a); err == nil && ip.Is6() {
			slice.AddressType = discoveryv1.AddressTypeIPv6
		}
		subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: a})
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
	}
	whole := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace, Labels: map[string]string{"endpointslice.kubernetes.io/skip-mirror": "true"}},
		Subsets:    []corev1.EndpointSubset{subset},
	}
	slice.ObjectMeta = metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace, Labels: map[string]string{discoveryv1.LabelServiceName: kubernetesService}}
	return errors.Join(
		e.ensure(ctx, corev1.GroupVersion.WithResource("endpoints"), whole, func(obj metav1.Object) {
			have := obj.(*corev1.Endpoints)
			have.Subsets = whole.Subsets
		}),
		e.ensure(ctx, discoveryv1.GroupVersion.WithResource("endpointslices"), &slice, func(obj metav1.Object) {
			have := obj.(*discoveryv1.EndpointSlice)
			have.Endpoints, have.Ports = slice.Endpoints, slice.Ports
		}),
	)
}

// ensure creates obj, or brings an existing one up to date.
func (e *endpoints) ensure(ctx context.Context, resource schema.GroupVersionResource, obj metav1.Object, update func(metav1.Object)) error {
	if e.server.Registry().Resource(resource) == nil {
		return nil
	}
	err := e.server.Registry().Seed(ctx, obj)
	if err != nil {
		return err
	}
	_, err = e.server.Access().Update(ctx, resource, metav1.KeyOf(obj), func(have metav1.Object) error {
		update(have)
		return nil
	}, registry.Write{FieldManager: "kube-apiserver"})
	if apierrors.IsNotFound(err) {
		return nil // deleted meanwhile: the next run creates it
	}
	return err
}
