// Package endpointslice maintains EndpointSlices with the addresses of the selected pods for every Service
// with a selector: at most 100 endpoints per slice, and one set of slices per address family and per distinct
// set of target ports. Pods that are not ready are included as such; pods in a terminal phase are not.
//
// It also has the controllers of Endpoints, the kind that EndpointSlices replaced: one maintains those of
// Services with a selector, and the other mirrors those of Services without into EndpointSlices.
package endpointslice

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// ManagedBy is the value of the managed-by label on the controller's slices.
const ManagedBy = "endpointslice-controller.k8s.io"

// DefaultMaxEndpoints is the default maximum number of endpoints in a slice.
const DefaultMaxEndpoints = 100

// Options of the controller.
type Options struct {
	// Concurrency is the number of Services reconciled concurrently; 0 means 5.
	Concurrency int
	// MaxEndpoints is the maximum number of endpoints in a slice, 1 to 1000; 0 means DefaultMaxEndpoints.
	MaxEndpoints int
}

var serviceKind = schema.GroupVersionKind{Version: "v1", Kind: "Service"}

type endpointSlices struct {
	services informers.Lister[*corev1.Service]
	pods     controllers.Labelled[*corev1.Pod]
	nodes    informers.Lister[*corev1.Node]
	slices   controllers.Labelled[*discoveryv1.EndpointSlice]
	triggers *triggers
	writer
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 5
	}
	if opts.MaxEndpoints == 0 {
		opts.MaxEndpoints = DefaultMaxEndpoints
	}
	if opts.MaxEndpoints < 1 || opts.MaxEndpoints > 1000 {
		return fmt.Errorf("endpointslice: MaxEndpoints %d is not within 1 and 1000", opts.MaxEndpoints)
	}
	set := m.Informers()
	e := &endpointSlices{
		services: informers.For[*corev1.Service](set).Lister(), pods: controllers.LabelledIn[*corev1.Pod](set),
		nodes: informers.For[*corev1.Node](set).Lister(), slices: controllers.LabelledIn[*discoveryv1.EndpointSlice](set),
		triggers: newTriggers(), writer: writer{client.For[*discoveryv1.EndpointSlice](m.Conn()), opts.MaxEndpoints},
	}
	_, err := controllers.Add(m, "endpointslice", reconcile.Func(e.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For[*corev1.Service](),
		controllers.Watches(selecting(controllers.SelectorsIn(set, selectors))),
		controllers.Watches(ofSlice(ManagedBy)))
	return err
}

// selectors are those of Services; one without selects nothing.
var selectors = controllers.DefineSelector(func(svc *corev1.Service) (labels.Selector, error) {
	if len(svc.Spec.Selector) == 0 {
		return labels.Nothing(), nil
	}
	return labels.SelectorFromSet(svc.Spec.Selector), nil
})

// selecting maps a pod to the Services that select it, or did before its labels changed.
func selecting(services controllers.Selectors[*corev1.Service]) func(informers.Event[*corev1.Pod]) []reconcile.Request {
	return func(e informers.Event[*corev1.Pod]) (out []reconcile.Request) {
		if e.Type == informers.Updated && !relevant(e.Old(), e.New()) {
			return nil
		}
		sets := []map[string]string{e.Labels}
		if e.Type == informers.Updated {
			sets = append(sets, e.OldLabels())
		}
		// A Service that cannot be read now is reconciled when it can.
		out, _ = services.Of(e.Key.Namespace, sets...)
		return out
	}
}

// relevant reports whether a pod's change can change an endpoint.
func relevant(before, now *corev1.Pod) bool {
	return !codec.Equal(&before.Labels, &now.Labels) || !codec.Equal(&before.Status.PodIPs, &now.Status.PodIPs) ||
		before.Spec.NodeName != now.Spec.NodeName || ready(before) != ready(now) || ended(before) != ended(now) ||
		(before.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) || before.Spec.Hostname != now.Spec.Hostname
}

// ofSlice maps a slice that a controller manages to its Service.
func ofSlice(by string) func(informers.Event[*discoveryv1.EndpointSlice]) []reconcile.Request {
	return func(e informers.Event[*discoveryv1.EndpointSlice]) []reconcile.Request {
		if name := e.Labels[discoveryv1.LabelServiceName]; name != "" && e.Labels[discoveryv1.LabelManagedBy] == by {
			return []reconcile.Request{{Namespace: e.Key.Namespace, Name: name}}
		}
		return nil
	}
}

// managed returns the slices of a Service that a controller manages, shared and read-only.
func managed(all controllers.Labelled[*discoveryv1.EndpointSlice], service types.NamespacedName, by string) ([]*discoveryv1.EndpointSlice, error) {
	return all.Select(service.Namespace, labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: by}))
}

func (c *endpointSlices) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	svc, err := c.services.Get(req)
	gone := apierrors.IsNotFound(err)
	if err != nil && !gone {
		return reconcile.Result{}, err
	}
	have, err := managed(c.slices, req, ManagedBy)
	if err != nil {
		return reconcile.Result{}, err
	}
	switch {
	case gone || svc.DeletionTimestamp != nil:
		c.triggers.forget(req)
		return reconcile.Result{}, c.write(ctx, have, nil, nil)
	case svc.Spec.Type == corev1.ServiceTypeExternalName || len(svc.Spec.Selector) == 0:
		c.triggers.forget(req)
		return reconcile.Result{}, nil // its endpoints are managed elsewhere
	}
	pods, err := c.pods.Select(req.Namespace, labels.SelectorFromSet(svc.Spec.Selector))
	if err != nil {
		return reconcile.Result{}, err
	}
	first, now := c.triggers.since(svc, pods)
	err = c.write(ctx, have, c.plan(svc, pods), func(s *discoveryv1.EndpointSlice) { stamp(s, first) })
	if err == nil {
		c.triggers.keep(req, now)
	}
	return reconcile.Result{}, err
}

// key of the slices of one family and one set of ports.
type portSet struct {
	family discoveryv1.AddressType
	ports  string
}

// plan computes what a Service should have, in a stable order: one slice per family and set of ports, however
// long.
func (c *endpointSlices) plan(svc *corev1.Service, pods []*corev1.Pod) []*discoveryv1.EndpointSlice {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	groups := map[portSet][]discoveryv1.Endpoint{}
	ports := map[portSet][]discoveryv1.EndpointPort{}
	var order []portSet
	for _, family := range families(svc) {
		for _, pod := range pods {
			if ended(pod) || pod.Status.PodIP == "" {
				continue
			}
			address := addressOf(pod, family)
			if address == "" {
				continue
			}
			p := targetPorts(svc, pod)
			key := portSet{family, fmt.Sprint(portKey(p))}
			if _, ok := ports[key]; !ok {
				order = append(order, key)
				ports[key] = p
			}
			groups[key] = append(groups[key], c.endpoint(svc, pod, address))
		}
	}
	// A Service without pods has one empty slice, which shows that the controller has seen it.
	if len(order) == 0 {
		for _, family := range families(svc) {
			order = append(order, portSet{family: family})
			ports[portSet{family: family}] = nil
		}
	}
	var out []*discoveryv1.EndpointSlice
	for _, key := range order {
		out = append(out, newSlice(svc, key.family, ports[key], groups[key]))
	}
	return out
}

func newSlice(svc *corev1.Service, family discoveryv1.AddressType, ports []discoveryv1.EndpointPort, endpoints []discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	l := map[string]string{}
	for k, v := range svc.Labels {
		if k != corev1.IsHeadlessService {
			l[k] = v
		}
	}
	if svc.Spec.ClusterIP == corev1.ClusterIPNone {
		l[corev1.IsHeadlessService] = ""
	}
	l[discoveryv1.LabelServiceName], l[discoveryv1.LabelManagedBy] = svc.Name, ManagedBy
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: svc.Namespace, GenerateName: prefixOf(svc.Name), Labels: l,
			OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(svc, serviceKind)}},
		AddressType: family, Endpoints: endpoints, Ports: ports,
	}
}

// prefixOf returns the beginning of the names of a Service's slices.
func prefixOf(service string) string {
	prefix := service + "-"
	return prefix[:min(len(prefix), 58)] // room for the random suffix
}

func families(svc *corev1.Service) []discoveryv1.AddressType {
	var out []discoveryv1.AddressType
	for _, f := range svc.Spec.IPFamilies {
		if f == corev1.IPv6Protocol {
			out = append(out, discoveryv1.AddressTypeIPv6)
		} else {
			out = append(out, discoveryv1.AddressTypeIPv4)
		}
	}
	if len(out) == 0 {
		out = append(out, discoveryv1.AddressTypeIPv4)
	}
	return out
}

func addressOf(pod *corev1.Pod, family discoveryv1.AddressType) string {
	is6 := func(ip string) bool { return strings.Contains(ip, ":") }
	for _, ip := range pod.Status.PodIPs {
		if is6(ip.IP) == (family == discoveryv1.AddressTypeIPv6) {
			return ip.IP
		}
	}
	if ip := pod.Status.PodIP; len(pod.Status.PodIPs) == 0 && is6(ip) == (family == discoveryv1.AddressTypeIPv6) {
		return ip
	}
	return ""
}

func (c *endpointSlices) endpoint(svc *corev1.Service, pod *corev1.Pod, address string) discoveryv1.Endpoint {
	serving, terminating := ready(pod), pod.DeletionTimestamp != nil
	// Ready means that it may get new traffic; a Service that publishes addresses early says so for all.
	usable := svc.Spec.PublishNotReadyAddresses || serving && !terminating
	ep := discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: &usable, Serving: &serving, Terminating: &terminating},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	if pod.Spec.NodeName != "" {
		ep.NodeName = new(pod.Spec.NodeName)
		// Without its node an endpoint has no zone.
		_ = c.nodes.View(types.NamespacedName{Name: pod.Spec.NodeName}, func(n *corev1.Node) {
			if zone := n.Labels[corev1.LabelTopologyZone]; zone != "" {
				ep.Zone = new(zone)
			}
		})
	}
	if pod.Spec.Hostname != "" && pod.Spec.Subdomain == svc.Name && pod.Namespace == svc.Namespace {
		ep.Hostname = new(pod.Spec.Hostname)
	}
	return ep
}

func portKey(ports []discoveryv1.EndpointPort) []string {
	out := make([]string, len(ports))
	for i, p := range ports {
		out[i] = fmt.Sprintf("%s/%d/%s", *p.Name, *p.Port, *p.Protocol)
	}
	slices.Sort(out)
	return out
}

// targetPorts resolves the Service's ports on one pod; a named target port the pod does not have is left out.
func targetPorts(svc *corev1.Service, pod *corev1.Pod) []discoveryv1.EndpointPort {
	out := []discoveryv1.EndpointPort{}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		number, ok := resolve(pod, p)
		if !ok {
			continue
		}
		protocol := p.Protocol
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		out = append(out, discoveryv1.EndpointPort{Name: new(p.Name), Port: &number, Protocol: &protocol, AppProtocol: p.AppProtocol})
	}
	return out
}

func resolve(pod *corev1.Pod, p *corev1.ServicePort) (int32, bool) {
	if name := p.TargetPort.StrVal; name != "" {
		for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range list {
				for _, cp := range list[i].Ports {
					if cp.Name == name && (cp.Protocol == p.Protocol || cp.Protocol == "" && p.Protocol == corev1.ProtocolTCP) {
						return cp.ContainerPort, true
					}
				}
			}
		}
		return 0, false
	}
	if n := p.TargetPort.IntVal; n != 0 {
		return n, true
	}
	return p.Port, true
}

func ready(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
