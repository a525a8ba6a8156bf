package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// ServiceFinalizer keeps a Service until its load balancer is deleted.
const ServiceFinalizer = "service.kubernetes.io/load-balancer-cleanup"

// toBeDeletedTaint is that of nodes which the cluster autoscaler is about to delete.
const toBeDeletedTaint = "ToBeDeletedByClusterAutoscaler"

// ServiceOptions configure the controller of load balancers.
type ServiceOptions struct {
	// Cluster is the name of the cluster for the cloud; empty means "kubernetes".
	Cluster string
	// Concurrency is the number of Services reconciled concurrently; 0 means 1, as some clouds allow no more.
	Concurrency int
}

// AddServices adds the controller of load balancers. It writes with the rights of
// system:controller:service-controller. A change of the nodes costs each load balancer one call of SetNodes.
func AddServices(m *manager.Manager, lb LoadBalancers, opts ServiceOptions) error {
	opts.Cluster, opts.Concurrency = cmp.Or(opts.Cluster, "kubernetes"), cmp.Or(opts.Concurrency, 1)
	services, nodes := informers.For[*corev1.Service](m.Informers()), informers.For[*corev1.Node](m.Informers())
	b := &balancers{
		lb: lb, cluster: opts.Cluster, services: services.Lister(), nodes: nodes.Lister(), api: client.For[*corev1.Service](m.Conn()),
		recorder: m.Recorder("service-controller"), done: map[types.NamespacedName]*balanced{},
	}
	_, err := controllers.Add(m, "service-lb", reconcile.Func(b.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For(changed),
		controllers.Watches(b.ofNodes))
	return err
}

type balancers struct {
	lb       LoadBalancers
	cluster  string
	services informers.Lister[*corev1.Service]
	nodes    informers.Lister[*corev1.Node]
	api      *client.Client[*corev1.Service]
	recorder *events.Recorder

	mu   sync.Mutex
	done map[types.NamespacedName]*balanced // those with a load balancer made or changed by this process
}

// balanced is the state for which a load balancer was last changed.
type balanced struct {
	service *corev1.Service
	nodes   map[string]string // provider IDs by name
}

// balances reports whether a Service has a load balancer of the cloud.
func balances(s *corev1.Service) bool {
	return s != nil && s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil
}

// changed reports whether an event may change a load balancer. The controller's own writes do not.
func changed(e informers.Event[*corev1.Service]) bool {
	before, after := e.Old(), e.New()
	switch {
	case after == nil, cleansUp(after):
		return true
	case before == nil || before.UID != after.UID:
		return balances(before) || balances(after)
	}
	return (balances(before) || balances(after)) && !sameService(before, after)
}

// cleansUp reports whether the load balancer of a Service is to be deleted.
func cleansUp(s *corev1.Service) bool {
	return s != nil && metav1.HasFinalizer(s, ServiceFinalizer) && (s.DeletionTimestamp != nil || s.Spec.Type != corev1.ServiceTypeLoadBalancer)
}

// ofNodes returns all Services with a load balancer if the nodes that serve them may be others.
func (b *balancers) ofNodes(e informers.Event[*corev1.Node]) []reconcile.Request {
	if before, after := e.Old(), e.New(); before != nil && after != nil &&
		included(before) == included(after) && before.Spec.ProviderID == after.Spec.ProviderID && before.UID == after.UID {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.done))
}

// included reports whether load balancers lead to a node, leaving aside the taint of the autoscaler, which
// alone changes none: open connections would break.
func included(n *corev1.Node) bool {
	excluded, labelled := n.Labels[corev1.LabelNodeExcludeBalancers]
	if no, err := strconv.ParseBool(excluded); labelled && (err != nil || no) {
		return false
	}
	return n.DeletionTimestamp == nil
}

// serving returns the nodes to which load balancers lead, by name.
func (b *balancers) serving() ([]*corev1.Node, error) {
	var out []*corev1.Node
	err := b.nodes.ViewAll(informers.ListOptions{}, func(n *corev1.Node) bool {
		if included(n) && !hasTaint(n, toBeDeletedTaint) {
			out = append(out, n)
		}
		return true
	})
	return out, err
}

func (b *balancers) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	s, err := b.services.Get(req)
	if err != nil && !apierrors.IsNotFound(err) {
		return reconcile.Result{}, err
	}
	last := b.last(req)
	if last != nil && (err != nil || last.service.UID != s.UID) {
		// It is gone, or another one, although its load balancer was not deleted: the finalizer was removed.
		if err := b.remove(ctx, last.service); err != nil {
			return reconcile.Result{}, err
		}
		b.set(req, nil)
		last = nil
	}
	switch {
	case err != nil:
		return reconcile.Result{}, nil
	case !balances(s) || cleansUp(s):
		if last == nil && !metav1.HasFinalizer(s, ServiceFinalizer) {
			return reconcile.Result{}, nil
		}
		if err := b.cleanUp(ctx, s); err != nil {
			b.recorder.Eventf(s, corev1.EventTypeWarning, "SyncLoadBalancerFailed", "Error syncing load balancer: %v", err)
			return reconcile.Result{}, err
		}
		b.set(req, nil)
		return reconcile.Result{}, nil
	}
	nodes, err := b.serving()
	if err != nil {
		return reconcile.Result{}, err
	}
	now := &balanced{s, providerIDs(nodes)}
	switch {
	case last == nil || !sameService(last.service, s):
		err = b.ensure(ctx, s, nodes)
	case !maps.Equal(last.nodes, now.nodes):
		err = b.setNodes(ctx, s, nodes)
	default:
		return reconcile.Result{}, nil
	}
	if err == nil {
		b.set(req, now)
	} else if after, ok := retryAfter(err); ok {
		return reconcile.Result{RequeueAfter: after}, nil
	}
	return reconcile.Result{}, err
}

func (b *balancers) last(key types.NamespacedName) *balanced {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done[key]
}

func (b *balancers) set(key types.NamespacedName, to *balanced) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if to == nil {
		delete(b.done, key)
	} else {
		b.done[key] = to
	}
}

func providerIDs(nodes []*corev1.Node) map[string]string {
	ids := make(map[string]string, len(nodes))
	for _, n := range nodes {
		ids[n.Name] = n.Spec.ProviderID
	}
	return ids
}

// sameService reports whether a load balancer is the same for two states of a Service.
func sameService(a, b *corev1.Service) bool {
	return codec.Equal(&a.Spec, &b.Spec) && maps.Equal(a.Annotations, b.Annotations)
}

// ensure makes or changes the load balancer of a Service, which has the finalizer before.
func (b *balancers) ensure(ctx context.Context, s *corev1.Service, nodes []*corev1.Node) error {
	b.recorder.Eventf(s, corev1.EventTypeNormal, "EnsuringLoadBalancer", "Ensuring load balancer")
	err := b.write(ctx, s, func(next *corev1.Service) { metav1.AddFinalizer(next, ServiceFinalizer) })
	if err != nil {
		return fmt.Errorf("add load balancer cleanup finalizer: %w", err)
	}
	if len(nodes) == 0 {
		b.recorder.Eventf(s, corev1.EventTypeWarning, "UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer")
	}
	status, err := b.lb.Ensure(ctx, b.cluster, s, nodes)
	switch {
	case errors.Is(err, ErrElsewhere):
		return nil
	case err != nil:
		err = fmt.Errorf("ensure load balancer: %w", err)
		b.recorder.Eventf(s, corev1.EventTypeWarning, "SyncLoadBalancerFailed", "Error syncing load balancer: %v", err)
		return err
	}
	b.recorder.Eventf(s, corev1.EventTypeNormal, "EnsuredLoadBalancer", "Ensured load balancer")
	if err := b.write(ctx, s, func(next *corev1.Service) { next.Status.LoadBalancer = status }); err != nil {
		return fmt.Errorf("write load balancer status: %w", err)
	}
	return nil
}

// setNodes changes the nodes of a load balancer.
func (b *balancers) setNodes(ctx context.Context, s *corev1.Service, nodes []*corev1.Node) error {
	err := b.lb.SetNodes(ctx, b.cluster, s, nodes)
	switch {
	case errors.Is(err, ErrElsewhere):
		return nil
	case err != nil:
		b.recorder.Eventf(s, corev1.EventTypeWarning, "UpdateLoadBalancerFailed", "Error updating load balancer with new hosts %v [node names limited, total number of nodes: %d], error: %v",
			someNames(nodes), len(nodes), err)
	case len(nodes) == 0:
		b.recorder.Eventf(s, corev1.EventTypeWarning, "UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer")
	default:
		b.recorder.Eventf(s, corev1.EventTypeNormal, "UpdatedLoadBalancer", "Updated load balancer with new hosts")
	}
	return err
}

// someNames are the names of nodes for an event, 20 at most.
func someNames(nodes []*corev1.Node) string {
	const most = 20
	var names []string
	for _, n := range nodes[:min(most, len(nodes))] {
		names = append(names, n.Name)
	}
	if more := len(nodes) - most; more > 0 {
		names = append(names, fmt.Sprintf("<%d more>", more))
	}
	return "[" + strings.Join(names, " ") + "]"
}

// cleanUp deletes the load balancer of a Service that wants none any more, and then its finalizer.
func (b *balancers) cleanUp(ctx context.Context, s *corev1.Service) error {
	if err := b.remove(ctx, s); err != nil {
		return err
	}
	err := b.write(ctx, s, func(next *corev1.Service) {
		next.Status.LoadBalancer = corev1.LoadBalancerStatus{}
		metav1.RemoveFinalizer(next, ServiceFinalizer)
	})
	if err = apierrors.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("remove load balancer cleanup finalizer: %w", err)
	}
	return nil
}

// remove deletes a load balancer.
func (b *balancers) remove(ctx context.Context, s *corev1.Service) error {
	b.recorder.Eventf(s, corev1.EventTypeNormal, "DeletingLoadBalancer", "Deleting load balancer")
	if err := b.lb.Delete(ctx, b.cluster, s); err != nil && !errors.Is(err, ErrElsewhere) {
		return fmt.Errorf("delete load balancer: %w", err)
	}
	b.recorder.Eventf(s, corev1.EventTypeNormal, "DeletedLoadBalancer", "Deleted load balancer")
	return nil
}

// write patches a Service through its status, for which alone the role has rights; s becomes the result. The
// patch is refused if the Service was replaced or changed meanwhile.
func (b *balancers) write(ctx context.Context, s *corev1.Service, change func(*corev1.Service)) error {
	next := codec.DeepCopy(s)
	change(next)
	stored, err := client.PatchFrom(ctx, b.api, s, next, client.PatchFromOptions{PatchOptions: client.PatchOptions{Subresource: "status"}, Lock: true})
	if err == nil {
		*s = *stored
	}
	return err
}
