package clusterdns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Service is the name of the Service of the cluster's DNS.
var Service = types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: "kube-dns"}

// managedBy marks the EndpointSlices of a Publication.
const managedBy = "clusterdns.keelson.dev"

// ErrClusterIP is returned if the Service of the cluster's DNS already has another cluster IP, which cannot
// be changed.
var ErrClusterIP = errors.New("clusterdns: the service has another cluster IP")

// Publication is how pods reach servers that do not run in pods: the Service kube-system/kube-dns, without a
// selector, and an EndpointSlice per family. The proxy's rules forward queries from one to the other.
type Publication struct {
	// ClusterIPs of the Service: one, or one of each family.
	ClusterIPs []netip.Addr
	// Addresses of the servers, at least one of the family of each cluster IP. Loopback addresses are
	// refused, because they are not the same host for everyone.
	Addresses []netip.Addr
	// Port of the servers, for UDP and TCP.
	Port uint16
}

func (p Publication) validate() error {
	families := map[bool]bool{}
	for _, ip := range p.ClusterIPs {
		if !ip.IsValid() || families[ip.Is4()] {
			return fmt.Errorf("clusterdns: cluster IPs %v: want one, or one of each family", p.ClusterIPs)
		}
		families[ip.Is4()] = true
		if !slices.ContainsFunc(p.Addresses, func(a netip.Addr) bool { return a.Unmap().Is4() == ip.Is4() }) {
			return fmt.Errorf("clusterdns: cluster IP %s: no server has an address of its family", ip)
		}
	}
	for _, a := range p.Addresses {
		if !a.IsValid() || a.IsLoopback() || a.IsUnspecified() {
			return fmt.Errorf("clusterdns: server address %s: want one that pods can reach", a)
		}
	}
	if len(p.ClusterIPs) == 0 || p.Port == 0 {
		return errors.New("clusterdns: a publication needs a cluster IP and a port")
	}
	return nil
}

// publisher is the reconciler of a Publication.
type publisher struct {
	Publication
	conn     client.Conn
	recorder *events.Recorder
	services informers.Lister[*corev1.Service]
	slices   informers.Index[*discoveryv1.EndpointSlice]
}

// AddPublication adds a controller to m that creates what a Publication consists of, and repairs it when it
// is changed or deleted. If the Service has another cluster IP, that stays: an event and the log say so.
func AddPublication(m *manager.Manager, p Publication) error {
	for i, ip := range p.ClusterIPs {
		p.ClusterIPs[i] = ip.Unmap()
	}
	if err := p.validate(); err != nil {
		return err
	}
	eps := informers.For[*discoveryv1.EndpointSlice](m.Informers())
	r := &publisher{Publication: p, conn: m.Conn(), recorder: m.Recorder("clusterdns"),
		services: informers.For[*corev1.Service](m.Informers()).Lister(), slices: eps.Index(slicesByService)}
	itself := func(e informers.Event[*corev1.Service]) bool { return e.Key == Service }
	c, err := controllers.Add(m, "clusterdns publication", r, controllers.Options{},
		controllers.For(itself),
		controllers.Watches(func(e informers.Event[*discoveryv1.EndpointSlice]) []reconcile.Request {
			if serviceOf(e.Key.Namespace, e.Labels) != Service && !r.owns(e.Key) {
				return nil
			}
			return []reconcile.Request{Service}
		}))
	if err != nil {
		return err
	}
	c.Enqueue(Service)
	return nil
}

// Reconcile implements reconcile.Reconciler.
func (r *publisher) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if req != Service {
		return reconcile.Result{}, nil
	}
	err := r.reconcileService(ctx)
	if err == nil {
		err = r.reconcileSlices(ctx)
	}
	if err != nil {
		err = fmt.Errorf("clusterdns: publish %s: %w", Service, err)
	}
	if errors.Is(err, ErrClusterIP) {
		err = reconcile.TerminalError(err) // a change of the Service is another attempt
	}
	return reconcile.Result{}, err
}

func (r *publisher) reconcileService(ctx context.Context) error {
	var ips []string
	for _, ip := range r.ClusterIPs {
		ips = append(ips, ip.String())
	}
	policy := corev1.IPFamilyPolicySingleStack
	if len(ips) == 2 {
		policy = corev1.IPFamilyPolicyRequireDualStack
	}
	set := func(svc *corev1.Service) {
		svc.Spec.Selector = nil
		svc.Spec.ClusterIP, svc.Spec.ClusterIPs, svc.Spec.IPFamilyPolicy = ips[0], ips, &policy
		svc.Spec.IPFamilies = nil
		for _, ip := range r.ClusterIPs {
			svc.Spec.IPFamilies = append(svc.Spec.IPFamilies, map[bool]corev1.IPFamily{true: corev1.IPv4Protocol, false: corev1.IPv6Protocol}[ip.Is4()])
		}
		svc.Spec.Ports = []corev1.ServicePort{
			{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53, TargetPort: intstr.FromInt32(int32(r.Port))},
			{Name: "dns-tcp", Protocol: corev1.ProtocolTCP, Port: 53, TargetPort: intstr.FromInt32(int32(r.Port))},
		}
	}
	api := client.For[*corev1.Service](r.conn)
	svc, err := r.services.Get(Service)
	if apierrors.IsNotFound(err) {
		svc = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: Service.Namespace, Name: Service.Name, Labels: map[string]string{
			"k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"}}}
		set(svc)
		_, err = api.Create(ctx, svc)
		return err
	}
	if err != nil {
		return err
	}
	if svc.Spec.ClusterIP != ips[0] {
		r.recorder.Eventf(svc, events.Warning, "ClusterIPDiffers", "the cluster's DNS is configured for cluster IP %s: delete this Service to have it created again", ips[0])
		return fmt.Errorf("%w: %s, not %s", ErrClusterIP, svc.Spec.ClusterIP, ips[0])
	}
	next := codec.DeepCopy(svc)
	set(next)
	if codec.Equal(svc, next) {
		return nil
	}
	_, err = api.Update(ctx, next)
	return err
}

// sliceKey is the name of the EndpointSlice of a family.
func sliceKey(family discoveryv1.AddressType) types.NamespacedName {
	return types.NamespacedName{Namespace: Service.Namespace, Name: Service.Name + "-" + strings.ToLower(string(family))}
}

// owns reports whether an EndpointSlice is one of the publication, whatever its labels say.
func (r *publisher) owns(key types.NamespacedName) bool {
	return key == sliceKey(discoveryv1.AddressTypeIPv4) || key == sliceKey(discoveryv1.AddressTypeIPv6)
}

func (r *publisher) reconcileSlices(ctx context.Context) error {
	api := client.For[*discoveryv1.EndpointSlice](r.conn)
	wanted := map[types.NamespacedName]bool{}
	for _, ip := range r.ClusterIPs {
		want := r.slice(ip.Is4())
		wanted[want.Key()] = true
		if err := apply(ctx, api, want); err != nil {
			return err
		}
	}
	list, err := r.slices.List(Service.String())
	if err != nil {
		return err
	}
	for _, sl := range list { // of a family, or an earlier form, that is not published any more
		if sl.Labels[discoveryv1.LabelManagedBy] != managedBy || wanted[sl.Key()] {
			continue
		}
		if err := api.Delete(ctx, sl.Key()); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// slice is the wanted EndpointSlice of a family.
func (r *publisher) slice(v4 bool) *discoveryv1.EndpointSlice {
	family := discoveryv1.AddressTypeIPv6
	if v4 {
		family = discoveryv1.AddressTypeIPv4
	}
	key := sliceKey(family)
	sl := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{
			discoveryv1.LabelServiceName: Service.Name, discoveryv1.LabelManagedBy: managedBy}},
		AddressType: family,
		Ports: []discoveryv1.EndpointPort{
			{Name: new("dns"), Protocol: new(corev1.ProtocolUDP), Port: new(int32(r.Port))},
			{Name: new("dns-tcp"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(r.Port))},
		},
	}
	for _, a := range r.Addresses {
		if a = a.Unmap(); a.Is4() == v4 {
			sl.Endpoints = append(sl.Endpoints, discoveryv1.Endpoint{Addresses: []string{a.String()}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
		}
	}
	return sl
}

// apply creates an EndpointSlice or brings it back to what is wanted. The family of one cannot be changed.
func apply(ctx context.Context, api *client.Client[*discoveryv1.EndpointSlice], want *discoveryv1.EndpointSlice) error {
	have, err := api.Get(ctx, want.Key())
	if err == nil && have.AddressType != want.AddressType {
		err = api.Delete(ctx, want.Key())
		if err == nil {
			_, err = api.Create(ctx, want)
		}
		return err
	}
	if apierrors.IsNotFound(err) {
		_, err = api.Create(ctx, want)
		return err
	}
	if err != nil {
		return err
	}
	next := codec.DeepCopy(have)
	next.Labels, next.Endpoints, next.Ports = want.Labels, want.Endpoints, want.Ports
	if codec.Equal(have, next) {
		return nil
	}
	_, err = api.Update(ctx, next)
	return err
}
