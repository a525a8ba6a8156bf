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

var (
	endpointsResource = corev1.GroupVersion.WithResource("endpoints")
	slicesResource    = discoveryv1.GroupVersion.WithResource("endpointslices")
	endpointsKey      = types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: kubernetesService}
)

// endpoints keeps the endpoints of the service kubernetes, on behalf of one server.
type endpoints struct {
	server  *apiserver.Server
	store   store.Store
	opts    BookkeepingOptions
	address string
	port    int32
}

func newEndpoints(s *apiserver.Server, o BookkeepingOptions) *endpoints {
	address, port := s.Advertised()
	return &endpoints{server: s, store: s.Registry().Store(), opts: o, address: address, port: int32(port)}
}

// published reports whether this server has an address to publish. A loopback address does not count: it must
// not be in endpoints.
func (e *endpoints) published() bool {
	ip, err := netip.ParseAddr(e.address)
	return err == nil && !ip.IsLoopback() && !ip.IsUnspecified() && e.opts.Endpoints != EndpointsNone
}

// leased reports whether the endpoints are the addresses of keys that expire.
func (e *endpoints) leased() bool {
	return e.opts.Endpoints == EndpointsLease && e.store.Capabilities().Shared
}

// run publishes this server's address until ctx ends, and then takes it out.
func (e *endpoints) run(ctx context.Context) {
	if !e.published() {
		return
	}
	refresh := time.NewTicker(leaseRefresh)
	defer refresh.Stop()
	for {
		select {
		case <-ctx.Done():
			if e.store.Capabilities().Shared { // over a store of its own a server is alone
				e.withdraw(context.WithoutCancel(ctx))
			}
			return
		case <-refresh.C:
			if err := e.publish(ctx); err != nil && ctx.Err() == nil {
				e.server.Logger().Warn("publishing endpoints of the service kubernetes failed", "err", err)
			}
		}
	}
}

// publish renews this server's key, if it has one, and brings the endpoints up to date.
func (e *endpoints) publish(ctx context.Context) error {
	switch {
	case e.opts.Endpoints == EndpointsCount:
		return e.write(ctx, e.counted)
	case !e.leased():
		return e.write(ctx, func([]string) []string { return []string{e.address} })
	}
	if err := e.renew(ctx); err != nil {
		return err
	}
	addresses, err := e.servers(ctx)
	if err != nil {
		return err
	}
	if len(addresses) == 0 {
		return errors.New("the store has no key of a server, although this one has just written its own")
	}
	return e.write(ctx, func([]string) []string { return addresses })
}

// renew writes this server's key.
func (e *endpoints) renew(ctx context.Context) error {
	key := leasePrefix + e.address
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
	_, err = e.store.Update(ctx, key, value, expected, store.WriteOptions{TTL: leaseTTL})
	return err
}

// counted adds this server's address to those that are there. If they are too many the ones that follow it in
// their order are taken out, from the beginning after the last: when every server has done so, those that
// remain are the ones that run.
func (e *endpoints) counted(have []string) []string {
	out := slices.Clone(have)
	if !slices.Contains(out, e.address) {
		out = append(out, e.address)
	}
	slices.Sort(out)
	for len(out) > e.opts.Servers {
		next := (slices.Index(out, e.address) + 1) % len(out)
		out = slices.Delete(out, next, next+1)
	}
	return out
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

// withdraw takes this server's address out of the endpoints. The last one stays: no other server is there,
// and a server that restarts is found as soon as it listens.
func (e *endpoints) withdraw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, withdrawTimeout)
	defer cancel()
	remaining := func(have []string) []string {
		others := slices.DeleteFunc(slices.Clone(have), func(a string) bool { return a == e.address })
		if len(others) == 0 {
			return have
		}
		return others
	}
	if e.leased() {
		if _, err := e.store.Delete(ctx, leasePrefix+e.address, store.AnyRevision, store.WriteOptions{}); err != nil {
			return // the key expires by itself
		}
		addresses, err := e.servers(ctx)
		if err != nil || len(addresses) == 0 {
			return
		}
		remaining = func([]string) []string { return addresses }
	}
	if err := e.write(ctx, remaining); err != nil {
		e.server.Logger().Warn("the address of this server is still in the endpoints of the service kubernetes", "err", err)
	}
}

// write brings Endpoints and EndpointSlice of the service kubernetes to the addresses that want returns,
// given those that are there; want may be called several times.
func (e *endpoints) write(ctx context.Context, want func(have []string) []string) error {
	subset := func(addresses []string) []corev1.EndpointSubset {
		if len(addresses) == 0 {
			return nil
		}
		out := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "https", Port: e.port, Protocol: corev1.ProtocolTCP}}}
		for _, a := range addresses {
			out.Addresses = append(out.Addresses, corev1.EndpointAddress{IP: a})
		}
		return []corev1.EndpointSubset{out}
	}
	addresses := want(nil)
	if len(addresses) > 0 {
		if err := e.server.Registry().Seed(ctx, &corev1.Endpoints{
			ObjectMeta: metav1.ObjectMeta{Name: endpointsKey.Name, Namespace: endpointsKey.Namespace, Labels: map[string]string{discoveryv1.LabelSkipMirror: "true"}},
			Subsets:    subset(addresses),
		}); err != nil {
			return err
		}
	}
	if e.server.Registry().Resource(endpointsResource) != nil {
		_, err := e.server.Access().Update(ctx, endpointsResource, endpointsKey, func(obj metav1.Object) error {
			have := obj.(*corev1.Endpoints)
			addresses = want(e.listed(have))
			have.Subsets = subset(addresses)
			setLabel(&have.ObjectMeta, discoveryv1.LabelSkipMirror, "true")
			return nil
		}, registry.Write{FieldManager: "kube-apiserver"})
		if apierrors.IsNotFound(err) {
			return nil // deleted meanwhile: the next run creates it
		}
		if err != nil {
			return err
		}
	}
	if e.server.Registry().Resource(slicesResource) == nil || len(addresses) == 0 {
		return nil
	}
	return e.writeSlice(ctx, addresses)
}

// listed are the addresses of an Endpoints object of the shape that servers write; none of another one, which
// is written again.
func (e *endpoints) listed(have *corev1.Endpoints) (out []string) {
	if len(have.Subsets) != 1 {
		return nil
	}
	for _, a := range have.Subsets[0].Addresses {
		out = append(out, a.IP)
	}
	return out
}

// writeSlice brings the EndpointSlice to these addresses. A slice has addresses of one family: it is that of
// IPv6 if all are.
func (e *endpoints) writeSlice(ctx context.Context, addresses []string) error {
	want := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: endpointsKey.Name, Namespace: endpointsKey.Namespace,
			Labels: map[string]string{discoveryv1.LabelServiceName: kubernetesService}},
		AddressType: discoveryv1.AddressTypeIPv6,
		Ports:       []discoveryv1.EndpointPort{{Name: new("https"), Port: &e.port, Protocol: new(corev1.ProtocolTCP)}},
	}
	is4 := func(a string) bool { ip, err := netip.ParseAddr(a); return err == nil && ip.Is4() }
	if slices.ContainsFunc(addresses, is4) {
		want.AddressType = discoveryv1.AddressTypeIPv4
	}
	for _, a := range addresses {
		if is4(a) == (want.AddressType == discoveryv1.AddressTypeIPv4) {
			want.Endpoints = append(want.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
		}
	}
	if err := e.server.Registry().Seed(ctx, want); err != nil {
		return err
	}
	other := errors.New("the slice is of the other family")
	_, err := e.server.Access().Update(ctx, slicesResource, endpointsKey, func(obj metav1.Object) error {
		have := obj.(*discoveryv1.EndpointSlice)
		if have.AddressType != want.AddressType {
			return other
		}
		have.Endpoints, have.Ports = want.Endpoints, want.Ports
		setLabel(&have.ObjectMeta, discoveryv1.LabelServiceName, kubernetesService)
		return nil
	}, registry.Write{FieldManager: "kube-apiserver"})
	if errors.Is(err, other) { // the family of a slice does not change
		if err = e.server.Access().Delete(ctx, slicesResource, endpointsKey, nil, registry.Write{}); err == nil {
			err = e.server.Registry().Seed(ctx, want)
		}
	}
	if apierrors.IsNotFound(err) {
		return nil // deleted meanwhile: the next run creates it
	}
	return err
}
