package endpointslice

import (
	"context"
	"fmt"
	"maps"
	"net/netip"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// MirroredBy is the value of the managed-by label on mirrored slices.
const MirroredBy = "endpointslicemirroring-controller.k8s.io"

// maxMirrored is the maximum number of addresses of a subset of Endpoints that are mirrored.
const maxMirrored = 1000

// Annotations of Endpoints that slices do not get, or that say that there are none.
const (
	leaderAnnotation      = "control-plane.alpha.kubernetes.io/leader"
	lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
)

var endpointsKind = corev1.GroupVersion.WithKind("Endpoints")

// mirrors is the controller that mirrors Endpoints.
type mirrors struct {
	api       slicesAPI
	services  informers.Lister[*corev1.Service]
	endpoints informers.Lister[*corev1.Endpoints]
	slices    controllers.Labelled[*discoveryv1.EndpointSlice]
	recorder  *events.Recorder
}

// MirroringOptions are the options of the controller that mirrors Endpoints.
type MirroringOptions struct {
	// Concurrency is the number of Endpoints mirrored concurrently; 0 means 5.
	Concurrency int
}

// AddMirroring adds the controller to m that writes the Endpoints of Services without a selector, which users
// and other programs maintain, into EndpointSlices, because nothing else reads Endpoints.
func AddMirroring(m *manager.Manager, opts MirroringOptions) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 5
	}
	set := m.Informers()
	c := &mirrors{
		api:       newSlicesAPI(m),
		services:  informers.For[*corev1.Service](set).Lister(),
		endpoints: informers.For[*corev1.Endpoints](set).Lister(), slices: controllers.LabelledIn[*discoveryv1.EndpointSlice](set),
		recorder: m.Recorder("endpoint-slice-mirroring-controller"),
	}
	_, err := controllers.Add(m, "endpointslice-mirroring", reconcile.Func(c.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For[*corev1.Endpoints](),
		controllers.Watches(controllers.Self[*corev1.Service], selectorChanged),
		controllers.Watches(ofSlice(MirroredBy)))
	return err
}

// selectorChanged passes Services that begin or end to have Endpoints of their own.
func selectorChanged(e informers.Event[*corev1.Service]) bool {
	return e.Type != informers.Updated || (len(e.Old().Spec.Selector) == 0) != (len(e.New().Spec.Selector) == 0)
}

func (c *mirrors) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	mirrored := false
	err := c.services.View(req, func(svc *corev1.Service) {
		mirrored = len(svc.Spec.Selector) == 0 && svc.DeletionTimestamp == nil
	})
	if apierrors.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	have, err := managed(c.slices, req, MirroredBy)
	if err != nil {
		return reconcile.Result{}, err
	}
	var want []*discoveryv1.EndpointSlice
	endpoints, err := c.endpoints.Get(req)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return reconcile.Result{}, err
	case mirrored && isMirrored(endpoints):
		var left skipped
		want, left = mirror(endpoints)
		c.note(endpoints, left)
	}
	return reconcile.Result{}, apply(ctx, c.api, decide(have, want, maxMirrored), nil)
}

// isMirrored reports whether Endpoints are mirrored at all. Those of leader elections are not.
func isMirrored(e *corev1.Endpoints) bool {
	_, leader := e.Annotations[leaderAnnotation]
	return !leader && e.Labels[discoveryv1.LabelSkipMirror] != "true" && e.DeletionTimestamp == nil
}

// skipped counts addresses that are not mirrored.
type skipped struct{ invalid, tooMany int }

func (c *mirrors) note(e *corev1.Endpoints, left skipped) {
	if left.invalid > 0 {
		c.recorder.Eventf(e, corev1.EventTypeWarning, "InvalidIPAddress", "Skipped %d invalid IP addresses when mirroring to EndpointSlices", left.invalid)
	}
	if left.tooMany > 0 {
		c.recorder.Eventf(e, corev1.EventTypeWarning, "TooManyAddressesToMirror",
			"A max of %d addresses can be mirrored to EndpointSlices per Endpoints subset. %d addresses were skipped", maxMirrored, left.tooMany)
	}
}

// mirror computes the slices of Endpoints, one for each family and set of ports, and the addresses that they
// lack.
func mirror(e *corev1.Endpoints) (want []*discoveryv1.EndpointSlice, left skipped) {
	byKey := map[portSet]*discoveryv1.EndpointSlice{}
	for i := range e.Subsets {
		subset := &e.Subsets[i]
		ports := mirroredPorts(subset.Ports)
		taken := 0
		add := func(a *corev1.EndpointAddress, ready bool) {
			ip, err := netip.ParseAddr(a.IP)
			if err != nil {
				left.invalid++
				return
			}
			if taken == maxMirrored {
				left.tooMany++
				return
			}
			taken++
			key := portSet{discoveryv1.AddressTypeIPv4, fmt.Sprint(portKey(ports))}
			if ip.Is6() {
				key.family = discoveryv1.AddressTypeIPv6
			}
			if byKey[key] == nil {
				byKey[key] = newMirror(e, key.family, ports)
				want = append(want, byKey[key])
			}
			byKey[key].Endpoints = append(byKey[key].Endpoints, mirroredEndpoint(a, ready))
		}
		for j := range subset.Addresses {
			add(&subset.Addresses[j], true)
		}
		for j := range subset.NotReadyAddresses {
			add(&subset.NotReadyAddresses[j], false)
		}
	}
	return want, left
}

func mirroredPorts(ports []corev1.EndpointPort) []discoveryv1.EndpointPort {
	out := make([]discoveryv1.EndpointPort, 0, len(ports))
	for _, p := range ports {
		protocol := p.Protocol
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		out = append(out, discoveryv1.EndpointPort{Name: new(p.Name), Port: new(p.Port), Protocol: &protocol, AppProtocol: p.AppProtocol})
	}
	return out
}

func mirroredEndpoint(a *corev1.EndpointAddress, ready bool) discoveryv1.Endpoint {
	out := discoveryv1.Endpoint{Addresses: []string{a.IP}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, TargetRef: a.TargetRef, NodeName: a.NodeName}
	if a.Hostname != "" {
		out.Hostname = new(a.Hostname)
	}
	return out
}

// newMirror returns a slice without endpoints.
func newMirror(e *corev1.Endpoints, family discoveryv1.AddressType, ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	l, annotations := maps.Clone(e.Labels), maps.Clone(e.Annotations)
	if l == nil {
		l = map[string]string{}
	}
	l[discoveryv1.LabelServiceName], l[discoveryv1.LabelManagedBy] = e.Name, MirroredBy
	if annotations == nil {
		annotations = map[string]string{} // unlike nil, none
	}
	delete(annotations, corev1.EndpointsLastChangeTriggerTime)
	delete(annotations, lastAppliedAnnotation)
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, GenerateName: prefixOf(e.Name), Labels: l, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(e, endpointsKind)}},
		AddressType: family, Ports: ports,
	}
}
