package endpointslice

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// The label on Endpoints that the controller maintains.
const (
	endpointsLabel     = "endpoints.kubernetes.io/managed-by"
	endpointsManagedBy = "endpoint-controller"
)

// maxEndpoints is the maximum number of addresses of Endpoints.
const maxEndpoints = 1000

// endpoints is the controller of Endpoints.
type endpoints struct {
	services informers.Lister[*corev1.Service]
	pods     controllers.Labelled[*corev1.Pod]
	list     informers.Lister[*corev1.Endpoints]
	api      *client.Client[*corev1.Endpoints]
	recorder *events.Recorder
	triggers *triggers
}

// EndpointsOptions are the options of the controller of Endpoints.
type EndpointsOptions struct {
	// Concurrency is the number of Services reconciled concurrently; 0 means 5.
	Concurrency int
}

// AddEndpoints adds the controller to m that maintains the Endpoints of Services with a selector, for
// programs that read them in place of EndpointSlices.
func AddEndpoints(m *manager.Manager, opts EndpointsOptions) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 5
	}
	set := m.Informers()
	c := &endpoints{
		services: informers.For[*corev1.Service](set).Lister(), pods: controllers.LabelledIn[*corev1.Pod](set),
		list: informers.For[*corev1.Endpoints](set).Lister(), api: client.For[*corev1.Endpoints](m.Conn()),
		recorder: m.Recorder("endpoint-controller"), triggers: newTriggers(),
	}
	_, err := controllers.Add(m, "endpoints", reconcile.Func(c.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For[*corev1.Service](),
		controllers.Watches(selecting(controllers.SelectorsIn(set, selectors))),
		controllers.Watches(controllers.Self[*corev1.Endpoints]))
	return err
}

func (c *endpoints) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	have, err := c.list.Get(req)
	if apierrors.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if err != nil {
		have = nil
	}
	svc, err := c.services.Get(req)
	if apierrors.IsNotFound(err) {
		c.triggers.forget(req)
		return reconcile.Result{}, c.remove(ctx, have)
	}
	if err != nil || svc.DeletionTimestamp != nil || svc.Spec.Type == corev1.ServiceTypeExternalName || len(svc.Spec.Selector) == 0 {
		return reconcile.Result{}, err // without a selector its users maintain them
	}
	pods, err := c.selected(svc)
	if err != nil {
		return reconcile.Result{}, err
	}
	first, now := c.triggers.since(svc, pods)
	err = c.write(ctx, svc, have, endpointsOf(svc, have, pods), first)
	if err == nil {
		c.triggers.keep(req, now)
	}
	return reconcile.Result{}, err
}

// remove deletes the Endpoints of a Service that was deleted, if they are those of this controller.
func (c *endpoints) remove(ctx context.Context, have *corev1.Endpoints) error {
	if have == nil || have.DeletionTimestamp != nil || have.Labels[endpointsLabel] != endpointsManagedBy {
		return nil
	}
	err := c.api.Delete(ctx, have.Key(), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &have.UID}})
	return apierrors.IgnoreNotFound(err)
}

// selected returns the pods of a Service that have an address for it, by name.
func (c *endpoints) selected(svc *corev1.Service) ([]*corev1.Pod, error) {
	pods, err := c.pods.Select(svc.Namespace, labels.SelectorFromSet(svc.Spec.Selector))
	return slices.DeleteFunc(pods, func(p *corev1.Pod) bool {
		return p.HasEnded() || p.DeletionTimestamp != nil && !svc.Spec.PublishNotReadyAddresses || addressOf(p, families(svc)[0]) == ""
	}), err
}

// endpointsOf returns the Endpoints of a Service, from those that it has or nil.
func endpointsOf(svc *corev1.Service, have *corev1.Endpoints, pods []*corev1.Pod) *corev1.Endpoints {
	next := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: svc.Namespace, Name: svc.Name}}
	if have != nil {
		next = codec.DeepCopy(have)
	}
	next.Labels, next.Subsets = labelsOf(svc), subsetsOf(svc, pods)
	delete(next.Annotations, corev1.EndpointsOverCapacity)
	if truncate(next.Subsets) {
		next.Annotations = podcontrol.WithLabel(next.Annotations, corev1.EndpointsOverCapacity, "truncated")
	}
	return next
}

// write writes the Endpoints of a Service, unless they are so already, with the time of the first change.
func (c *endpoints) write(ctx context.Context, svc *corev1.Service, have, next *corev1.Endpoints, first time.Time) (err error) {
	switch {
	case have == nil:
		stamp(next, first)
		_, err = c.api.Create(ctx, next)
		if err != nil && !apierrors.HasCause(err, "NamespaceTerminating") {
			c.recorder.Eventf(next, corev1.EventTypeWarning, "FailedToCreateEndpoint", "Failed to create endpoint for service %s: %v", svc.Key(), err)
		}
	case !codec.Equal(next, have):
		stamp(next, first)
		if _, err = c.api.Update(ctx, next); err != nil {
			c.recorder.Eventf(next, corev1.EventTypeWarning, "FailedToUpdateEndpoint", "Failed to update endpoint %s: %v", svc.Key(), err)
		}
	}
	if apierrors.HasCause(err, "NamespaceTerminating") || apierrors.IsNotFound(err) {
		return nil // nothing more will come of it, or the event of its deletion starts another reconcile
	}
	return err
}

// labelsOf returns the labels of a Service's Endpoints.
func labelsOf(svc *corev1.Service) map[string]string {
	l := maps.Clone(svc.Labels)
	if l == nil {
		l = map[string]string{}
	}
	delete(l, corev1.IsHeadlessService)
	if svc.Spec.ClusterIP == corev1.ClusterIPNone {
		l[corev1.IsHeadlessService] = ""
	}
	l[endpointsLabel] = endpointsManagedBy
	return l
}

// subsetsOf returns the addresses of pods, which have one, in subsets with the same ports. A pod without any
// of the ports is in none.
func subsetsOf(svc *corev1.Service, pods []*corev1.Pod) []corev1.EndpointSubset {
	byPorts := map[string]*corev1.EndpointSubset{}
	for _, pod := range pods {
		ports := endpointPorts(targetPorts(svc, pod))
		if len(ports) == 0 && (len(svc.Spec.Ports) > 0 || svc.Spec.ClusterIP != corev1.ClusterIPNone) {
			continue
		}
		key := fmt.Sprint(ports)
		subset := byPorts[key]
		if subset == nil {
			subset = &corev1.EndpointSubset{Ports: ports}
			byPorts[key] = subset
		}
		a := corev1.EndpointAddress{IP: addressOf(pod, families(svc)[0]),
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
		if pod.Spec.NodeName != "" {
			a.NodeName = new(pod.Spec.NodeName)
		}
		if pod.Spec.Hostname != "" && pod.Spec.Subdomain == svc.Name {
			a.Hostname = pod.Spec.Hostname
		}
		if svc.Spec.PublishNotReadyAddresses || podcontrol.Ready(pod) {
			subset.Addresses = append(subset.Addresses, a)
		} else {
			subset.NotReadyAddresses = append(subset.NotReadyAddresses, a)
		}
	}
	var out []corev1.EndpointSubset
	for _, key := range slices.Sorted(maps.Keys(byPorts)) {
		subset := *byPorts[key]
		slices.SortFunc(subset.Addresses, compareAddresses)
		slices.SortFunc(subset.NotReadyAddresses, compareAddresses)
		out = append(out, subset)
	}
	return out
}

// endpointPorts returns ports as Endpoints have them, in a stable order.
func endpointPorts(ports []discoveryv1.EndpointPort) []corev1.EndpointPort {
	var out []corev1.EndpointPort
	for _, p := range ports {
		out = append(out, corev1.EndpointPort{Name: *p.Name, Port: *p.Port, Protocol: *p.Protocol, AppProtocol: p.AppProtocol})
	}
	slices.SortFunc(out, func(a, b corev1.EndpointPort) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
	return out
}

func compareAddresses(a, b corev1.EndpointAddress) int {
	return cmp.Or(cmp.Compare(a.IP, b.IP), cmp.Compare(a.TargetRef.UID, b.TargetRef.UID))
}

// truncate leaves at most maxEndpoints addresses, ready ones before others, and reports whether there were
// more. Each subset keeps its share, rounded up, as far as there is room.
func truncate(subsets []corev1.EndpointSubset) bool {
	ready, others := 0, 0
	for i := range subsets {
		ready += len(subsets[i].Addresses)
		others += len(subsets[i].NotReadyAddresses)
	}
	if ready+others <= maxEndpoints {
		return false
	}
	room, total := maxEndpoints-ready, others
	tooManyReady := ready > maxEndpoints
	if tooManyReady {
		room, total = maxEndpoints, ready
	}
	left := room
	for i := range subsets {
		s := &subsets[i]
		list := &s.NotReadyAddresses
		if tooManyReady {
			list, s.NotReadyAddresses = &s.Addresses, nil
		}
		n := min((len(*list)*room+total-1)/total, left)
		*list = (*list)[:n:n]
		left -= n
	}
	return true
}
