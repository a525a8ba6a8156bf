// Package endpointslice maintains EndpointSlices with the addresses of the selected pods for every Service
// with a selector: at most 100 endpoints per slice, and one set of slices per address family and per distinct
// set of target ports. Pods that are not ready are included as such; pods in a terminal phase are not.
//
// Hints of endpoints follow the traffic distribution of the Service (spec.trafficDistribution), or the CPUs
// of the zones (annotation service.kubernetes.io/topology-mode: Auto; topology.go, hints.go). Upstream
// divides the endpoints of each slice that changes again; here those of a Service with several slices keep
// their hints as long as no zone gets too much traffic.
//
// A reconcile reads the pods of a Service, computes the slices that it should have (wanted.go), decides how
// those that are there become them with the fewest writes (decide.go), both without a server, and writes
// (apply.go). Nothing is remembered but when changes happened (trigger.go) and what events have said, so that
// a process may end after any write.
//
// It also has the controllers of Endpoints, the kind that EndpointSlices replaced: one maintains those of
// Services with a selector, and the other mirrors those of Services without into EndpointSlices.
package endpointslice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
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
	api      slicesAPI
	triggers *triggers
	topology *topology
	recorder *events.Recorder
	most     int // endpoints in a slice
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
		api: newSlicesAPI(m), triggers: newTriggers(), most: opts.MaxEndpoints,
	}
	e.recorder = m.Recorder("endpoint-slice-controller")
	e.topology = newTopology(e.nodes, e.recorder)
	_, err := controllers.Add(m, "endpointslice", reconcile.Func(e.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For[*corev1.Service](),
		controllers.Watches(selecting(controllers.SelectorsIn(set, selectors))),
		controllers.Watches(e.topology.ofNode),
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
		before.Spec.NodeName != now.Spec.NodeName || ready(before) != ready(now) || before.HasEnded() != now.HasEnded() ||
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

// managed returns the slices of a Service that a controller manages, but for those being deleted, shared and
// read-only.
func managed(all controllers.Labelled[*discoveryv1.EndpointSlice], service types.NamespacedName, by string) ([]*discoveryv1.EndpointSlice, error) {
	list, err := all.Select(service.Namespace, labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: by}))
	return slices.DeleteFunc(list, func(s *discoveryv1.EndpointSlice) bool { return s.DeletionTimestamp != nil }), err
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
		c.topology.remove(req)
		return reconcile.Result{}, apply(ctx, c.api, decide(have, nil, c.most), nil)
	case svc.Spec.Type == corev1.ServiceTypeExternalName || len(svc.Spec.Selector) == 0:
		c.triggers.forget(req)
		c.topology.remove(req)
		return reconcile.Result{}, nil // its endpoints are managed elsewhere
	}
	pods, err := c.pods.Select(req.Namespace, labels.SelectorFromSet(svc.Spec.Selector))
	if err != nil {
		return reconcile.Result{}, err
	}
	first, now := c.triggers.since(svc, pods)
	pods, lost := c.onNodes(svc, pods)
	want := wanted(svc, pods, c.zoneOf)
	if err := c.topology.hint(svc, have, want, c.most); err != nil {
		return reconcile.Result{}, err
	}
	err = apply(ctx, c.api, decide(have, want, c.most), func(s *discoveryv1.EndpointSlice) { stamp(s, first) })
	if err = cmp.Or(err, lost); err != nil {
		c.recorder.Eventf(svc, corev1.EventTypeWarning, "FailedToUpdateEndpointSlices", "Error updating Endpoint Slices for Service %s/%s: %v", svc.Namespace, svc.Name, err)
		return reconcile.Result{}, err
	}
	c.triggers.keep(req, now)
	return reconcile.Result{}, nil
}

// onNodes returns the pods that may be endpoints of a Service. One whose node does not exist is none, unless
// the Service publishes all addresses: nothing says that it still runs. The error names those; a node may
// also be on its way here.
func (c *endpointSlices) onNodes(svc *corev1.Service, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	var lost []error
	pods = slices.DeleteFunc(pods, func(p *corev1.Pod) bool {
		if svc.Spec.PublishNotReadyAddresses || p.Spec.NodeName == "" || !isEndpoint(p) {
			return false
		}
		if there, err := c.nodes.Has(types.NamespacedName{Name: p.Spec.NodeName}); there || err != nil {
			return false
		}
		lost = append(lost, fmt.Errorf("skipping Pod %s for Service %s: Node %s Not Found", p.Name, svc.Key(), p.Spec.NodeName))
		return true
	})
	slices.SortFunc(lost, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return pods, errors.Join(lost...)
}

// zoneOf returns the zone of a node, "" if it has none or is not known: then the endpoint has none.
func (c *endpointSlices) zoneOf(node string) (zone string) {
	_ = c.nodes.View(types.NamespacedName{Name: node}, func(n *corev1.Node) { zone = n.Labels[corev1.LabelTopologyZone] })
	return zone
}
