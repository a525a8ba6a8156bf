// Package endpointslice keeps, for every Service with a selector, EndpointSlices that list the addresses of the
// pods it selects: at most 100 endpoints per slice, one set of slices per address family and per distinct
// set of target ports. Pods that are not ready are listed as such; pods that have ended are not.
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

// DefaultMaxEndpoints is how many endpoints a slice holds at most.
const DefaultMaxEndpoints = 100

// Options of the controller.
type Options struct {
	// Concurrency is how many Services are worked on at once; 0 means 5.
	Concurrency int
	// MaxEndpoints per slice, 1 to 1000; 0 means DefaultMaxEndpoints.
	MaxEndpoints int
}

var serviceKind = schema.GroupVersionKind{Version: "v1", Kind: "Service"}

type endpointSlices struct {
	services informers.Lister[*corev1.Service]
	pods     informers.Lister[*corev1.Pod]
	nodes    informers.Lister[*corev1.Node]
	slices   informers.Lister[*discoveryv1.EndpointSlice]
	client   *client.Client[*discoveryv1.EndpointSlice]
	max      int
}

// Add registers the controller with m.
func Add(m *manager.Manager, o Options) error {
	if o.Concurrency == 0 {
		o.Concurrency = 5
	}
	if o.MaxEndpoints == 0 {
		o.MaxEndpoints = DefaultMaxEndpoints
	}
	if o.MaxEndpoints < 1 || o.MaxEndpoints > 1000 {
		return fmt.Errorf("endpointslice: MaxEndpoints %d is not within 1 and 1000", o.MaxEndpoints)
	}
	set := m.Informers()
	e := &endpointSlices{
		services: informers.For[*corev1.Service](set).Lister(), pods: informers.For[*corev1.Pod](set).Lister(),
		nodes: informers.For[*corev1.Node](set).Lister(), slices: informers.For[*discoveryv1.EndpointSlice](set).Lister(),
		client: client.For[*discoveryv1.EndpointSlice](m.Conn()), max: o.MaxEndpoints,
	}
	_, err := controllers.Add(m, "endpointslice", reconcile.Func(e.reconcile), controllers.Options{Options: controller.Options{Concurrency: o.Concurrency}},
		controllers.For[*corev1.Service](),
		controllers.Watches(e.selecting),
		controllers.Watches(ofSlice))
	return err
}

// selecting maps a pod to the Services that select it, or did before its labels changed.
func (c *endpointSlices) selecting(e informers.Event[*corev1.Pod]) []reconcile.Request {
	if e.Type == informers.Updated && !relevant(e.Old(), e.New()) {
		return nil
	}
	sets := []map[string]string{e.Labels}
	if e.Type == informers.Updated {
		sets = append(sets, e.Old().Labels)
	}
	var out []reconcile.Request
	for _, svc := range c.services.List(informers.ListOptions{Namespace: e.Key.Namespace}) {
		if len(svc.Spec.Selector) == 0 {
			continue
		}
		sel := labels.SelectorFromSet(svc.Spec.Selector)
		if slices.ContainsFunc(sets, sel.Matches) {
			out = append(out, svc.Key())
		}
	}
	return out
}

// relevant reports whether a pod's change can change an endpoint.
func relevant(before, now *corev1.Pod) bool {
	return !codec.Equal(&before.Labels, &now.Labels) || !codec.Equal(&before.Status.PodIPs, &now.Status.PodIPs) ||
		before.Spec.NodeName != now.Spec.NodeName || ready(before) != ready(now) || ended(before) != ended(now) ||
		(before.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) || before.Spec.Hostname != now.Spec.Hostname
}

func ofSlice(e informers.Event[*discoveryv1.EndpointSlice]) []reconcile.Request {
	if e.Labels[discoveryv1.LabelManagedBy] != ManagedBy {
		return nil
	}
	if name := e.Labels[discoveryv1.LabelServiceName]; name != "" {
		return []reconcile.Request{{Namespace: e.Key.Namespace, Name: name}}
	}
	return nil
}

func (c *endpointSlices) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	svc, err := c.services.Get(req)
	gone := apierrors.IsNotFound(err)
	if err != nil && !gone {
		return reconcile.Result{}, err
	}
	have := c.slices.List(informers.ListOptions{Namespace: req.Namespace, Selector: labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: req.Name, discoveryv1.LabelManagedBy: ManagedBy})})
	var want []*discoveryv1.EndpointSlice
	switch {
	case gone || svc.DeletionTimestamp != nil:
	case svc.Spec.Type == corev1.ServiceTypeExternalName || len(svc.Spec.Selector) == 0:
		return reconcile.Result{}, nil // its endpoints are somebody else's business
	default:
		want = c.plan(svc, c.pods.List(informers.ListOptions{Namespace: req.Namespace, Selector: labels.SelectorFromSet(svc.Spec.Selector)}))
	}
	return reconcile.Result{}, c.write(ctx, have, want)
}

// write changes the slices that are there into those that should be with as few writes as it can: slices
// of the same family and ports are matched by how many endpoints they share.
func (c *endpointSlices) write(ctx context.Context, have, want []*discoveryv1.EndpointSlice) error {
	var first error
	keep := func(err error) {
		if first == nil && err != nil && !apierrors.IsNotFound(err) && !apierrors.HasCause(err, "NamespaceTerminating") {
			first = err
		}
	}
	slices.SortFunc(have, func(a, b *discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	for _, w := range want {
		i := closest(have, w)
		if i < 0 {
			_, err := c.client.Create(ctx, w)
			keep(err)
			continue
		}
		h := have[i]
		have = slices.Delete(have, i, i+1)
		next := codec.DeepCopy(h)
		next.Endpoints, next.Ports, next.Labels, next.OwnerReferences, next.Annotations = w.Endpoints, w.Ports, w.Labels, w.OwnerReferences, w.Annotations
		if !codec.Equal(next, h) {
			_, err := c.client.Update(ctx, next)
			keep(err)
		}
	}
	for _, h := range have {
		keep(c.client.Delete(ctx, h.Key()))
	}
	return first
}

func closest(have []*discoveryv1.EndpointSlice, w *discoveryv1.EndpointSlice) int {
	best, most := -1, -1
	for i, h := range have {
		if h.AddressType != w.AddressType {
			continue
		}
		shared := 0
		for j := range h.Endpoints {
			if j < len(w.Endpoints) && codec.Equal(&h.Endpoints[j].Addresses, &w.Endpoints[j].Addresses) {
				shared++
			}
		}
		if codec.Equal(&h.Ports, &w.Ports) {
			shared += 1000
		}
		if shared > most {
			best, most = i, shared
		}
	}
	return best
}

// key of the slices of one family and one set of ports.
type portSet struct {
	family discoveryv1.AddressType
	ports  string
}

// plan computes all slices of a Service, in a stable order.
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
	// A Service without pods has one empty slice, so that everybody sees that it was looked at.
	if len(order) == 0 {
		for _, family := range families(svc) {
			order = append(order, portSet{family: family})
			ports[portSet{family: family}] = nil
		}
	}
	var out []*discoveryv1.EndpointSlice
	for _, key := range order {
		list := groups[key]
		for first := true; first || len(list) > 0; first = false {
			n := min(len(list), c.max)
			out = append(out, newSlice(svc, key.family, ports[key], list[:n]))
			list = list[n:]
		}
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
	prefix := svc.Name + "-"
	if len(prefix) > 58 { // room for the random suffix
		prefix = prefix[:58]
	}
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: svc.Namespace, GenerateName: prefix, Labels: l,
			OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(svc, serviceKind)}},
		AddressType: family, Endpoints: endpoints, Ports: ports,
	}
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
		c.nodes.View(types.NamespacedName{Name: pod.Spec.NodeName}, func(n *corev1.Node) {
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
