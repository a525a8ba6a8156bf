package apiserver

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
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/registry"
)

// Servers over one store find each other by keys that expire: each writes its address every ten seconds, and
// the endpoints of the service kubernetes are the addresses that are there.
const (
	leasePrefix  = "/masterleases/"
	leaseTTL     = 15 * time.Second
	leaseRefresh = 10 * time.Second
)

// repairEvery is the time between two checks of the addresses and ports of services.
const repairEvery = 3 * time.Minute

// maintain runs the server's own upkeep until ctx ends.
func (s *Server) maintain(ctx context.Context) {
	var refresh <-chan time.Time
	can := s.store.Capabilities()
	if !s.opts.NoBootstrap && s.advertises() && can.Shared {
		// Over a store of its own a server is alone, and its endpoints stay as they are.
		ticker := time.NewTicker(leaseRefresh)
		defer ticker.Stop()
		refresh = ticker.C
	}
	repair := time.NewTicker(repairEvery)
	defer repair.Stop()
	if can.Durable { // it may hold what an earlier server left
		s.repair(ctx)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.lifecycle.reached[ending]:
			if refresh != nil {
				s.withdraw(ctx)
			}
			<-ctx.Done()
			return
		case <-repair.C:
			s.repair(ctx)
		case <-refresh:
			if err := s.publishEndpoints(ctx); err != nil && ctx.Err() == nil {
				s.logger.Warn("publishing endpoints of the service kubernetes failed", "err", err)
			}
		}
	}
}

func (s *Server) repair(ctx context.Context) {
	if err := s.kinds.RepairServices(ctx); err != nil && ctx.Err() == nil {
		s.logger.Warn("repair of service allocations failed", "err", err)
	}
}

// advertises reports whether there is an address to publish. One that reaches only this machine is none:
// endpoints must not hold it.
func (s *Server) advertises() bool {
	ip, err := netip.ParseAddr(s.opts.AdvertiseAddress)
	return err == nil && !ip.IsLoopback() && !ip.IsUnspecified()
}

// publishEndpoints renews this server's key and brings the endpoints up to date.
func (s *Server) publishEndpoints(ctx context.Context) error {
	key := leasePrefix + s.opts.AdvertiseAddress
	addresses := []string{s.opts.AdvertiseAddress}
	if s.store.Capabilities().Shared {
		// The value is what Kubernetes stores there, so that its servers may run beside ours.
		value, err := codec.MarshalEnvelope("v1", "Endpoints", &corev1.Endpoints{
			Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: s.opts.AdvertiseAddress}}}}})
		if err != nil {
			return err
		}
		kv, _, err := s.store.Get(ctx, key)
		expected := kv.Revision
		if errors.Is(err, store.ErrNotFound) {
			expected = store.Absent
		} else if err != nil {
			return err
		}
		if _, err := s.store.Update(ctx, key, value, expected, store.WriteOptions{TTL: leaseTTL}); err != nil {
			return err
		}
		if addresses, err = s.servers(ctx); err != nil {
			return err
		}
	}
	return s.writeEndpoints(ctx, addresses)
}

// servers lists the addresses of all servers over the store.
func (s *Server) servers(ctx context.Context) ([]string, error) {
	list, err := s.store.List(ctx, leasePrefix, store.ListOptions{})
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

// withdraw takes this server's address out.
func (s *Server) withdraw(ctx context.Context) {
	if _, err := s.store.Delete(ctx, leasePrefix+s.opts.AdvertiseAddress, store.AnyRevision, store.WriteOptions{}); err != nil {
		return // the key expires by itself
	}
	if addresses, err := s.servers(ctx); err == nil && len(addresses) > 0 {
		_ = s.writeEndpoints(ctx, addresses)
	}
}

// writeEndpoints stores Endpoints and EndpointSlice of the service kubernetes if they differ.
func (s *Server) writeEndpoints(ctx context.Context, addresses []string) error {
	key := types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: kubernetesService}
	port := int32(s.opts.AdvertisePort)
	subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "https", Port: port, Protocol: corev1.ProtocolTCP}}}
	slice := discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: new("https"), Port: &port, Protocol: new(corev1.ProtocolTCP)}}}
	for _, a := range addresses {
		if ip, err := netip.ParseAddr(a); err == nil && ip.Is6() {
			slice.AddressType = discoveryv1.AddressTypeIPv6
		}
		subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: a})
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
	}
	endpoints := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace, Labels: map[string]string{"endpointslice.kubernetes.io/skip-mirror": "true"}},
		Subsets:    []corev1.EndpointSubset{subset},
	}
	slice.ObjectMeta = metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace, Labels: map[string]string{discoveryv1.LabelServiceName: kubernetesService}}
	return errors.Join(
		s.ensure(ctx, gvr{Version: "v1", Resource: "endpoints"}, endpoints, func(obj metav1.Object) {
			have := obj.(*corev1.Endpoints)
			have.Subsets = endpoints.Subsets
		}),
		s.ensure(ctx, gvr{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}, &slice, func(obj metav1.Object) {
			have := obj.(*discoveryv1.EndpointSlice)
			have.Endpoints, have.Ports = slice.Endpoints, slice.Ports
		}),
	)
}

// ensure creates obj, or brings an existing one up to date.
func (s *Server) ensure(ctx context.Context, resource gvr, obj metav1.Object, update func(metav1.Object)) error {
	res := s.registry.Resource(resource)
	if res == nil {
		return nil
	}
	err := s.registry.Seed(ctx, obj)
	if err != nil {
		return err
	}
	_, err = s.Access().Update(ctx, resource, metav1.KeyOf(obj), func(have metav1.Object) error {
		update(have)
		return nil
	}, registry.Write{FieldManager: "kube-apiserver"})
	if apierrors.IsNotFound(err) {
		return nil // deleted meanwhile: the next round makes it again
	}
	return err
}
