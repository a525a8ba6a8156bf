package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// What kubelets with an external cloud set, and what the controllers set.
const (
	// UninitializedTaint is that of nodes which the cloud has not initialized.
	UninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
	// ShutdownTaint is that of nodes whose machine is shut down.
	ShutdownTaint = "node.cloudprovider.kubernetes.io/shutdown"
	// ProvidedIPAnnotation has the addresses that the kubelet was configured with, separated by commas.
	ProvidedIPAnnotation = "alpha.kubernetes.io/provided-node-ip"
)

// NodeOptions configure the controllers of nodes.
type NodeOptions struct {
	// Concurrency is the number of nodes reconciled concurrently; 0 means 1.
	Concurrency int
	// AddressPeriod is the time between readings of a node's addresses; 0 means 5 minutes.
	AddressPeriod time.Duration
	// MonitorPeriod is the time between looks at the instance of a node that is not ready; 0 means 5 seconds.
	MonitorPeriod time.Duration
}

func (o NodeOptions) controller() controllers.Options {
	return controllers.Options{Options: controller.Options{Concurrency: cmp.Or(o.Concurrency, 1)}}
}

// AddNodes adds the controller that initializes nodes, keeps their addresses, and keeps the stable labels of
// their type, zone and region as the beta labels. It needs the rights to update nodes and to patch their
// status.
func AddNodes(m *manager.Manager, in Instances, opts NodeOptions) error {
	n := &nodes{in: in, list: informers.For[*corev1.Node](m.Informers()).Lister(), api: client.For[*corev1.Node](m.Conn()),
		recorder: m.Recorder("cloud-node-controller"), period: cmp.Or(opts.AddressPeriod, 5*time.Minute)}
	_, err := controllers.Add(m, "cloud-node", reconcile.Func(n.reconcile), opts.controller(),
		controllers.For(func(e informers.Event[*corev1.Node]) bool {
			return e.Type == informers.Added || e.Type == informers.Updated && (uninitialized(e.New()) || withStableLabels(e.New()) != nil)
		}))
	return err
}

type nodes struct {
	in       Instances
	list     informers.Lister[*corev1.Node]
	api      *client.Client[*corev1.Node]
	recorder *events.Recorder
	period   time.Duration
}

func hasTaint(n *corev1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

func uninitialized(n *corev1.Node) bool { return hasTaint(n, UninitializedTaint) }

// reconcile initializes a node once, and reads its addresses from then on.
func (c *nodes) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	n, err := c.list.Get(req)
	if err != nil || n.DeletionTimestamp != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if next := withStableLabels(n); next != nil && !uninitialized(n) {
		if n, err = c.api.Update(ctx, next); err != nil {
			return reconcile.Result{}, fmt.Errorf("label node: %w", err)
		}
	}
	again := reconcile.Result{RequeueAfter: c.period}
	i, err := c.in.Instance(ctx, n)
	switch {
	case errors.Is(err, ErrNoInstance) && !uninitialized(n):
		return again, nil // its deletion is up to the controller of the life cycle
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("read the instance of node %s: %w", n.Name, err)
	case i == nil:
		return reconcile.Result{}, nil
	}
	addresses, err := addressesOf(n, i.Addresses)
	if err != nil {
		return reconcile.Result{}, err
	}
	if uninitialized(n) {
		next, err := initialized(n, i)
		if err != nil {
			return reconcile.Result{}, err
		}
		if n, err = c.api.Update(ctx, next); err != nil {
			return reconcile.Result{}, fmt.Errorf("initialize node: %w", err)
		}
		c.recorder.Eventf(n, corev1.EventTypeNormal, "Synced", "Node synced successfully")
	}
	if len(i.Addresses) > 0 {
		next := codec.DeepCopy(n)
		next.Status.Addresses = addresses
		// The lists of a JSON merge patch are replaced, which keeps the order.
		if _, err := client.PatchFrom(ctx, c.api, n, next, client.PatchFromOptions{PatchOptions: client.PatchOptions{Subresource: "status"}}); err != nil {
			return reconcile.Result{}, fmt.Errorf("write the addresses: %w", err)
		}
	}
	return again, nil
}

// cloudLabels are the names of the labels of the type, the zone and the region of an instance.
var cloudLabels = []struct{ beta, stable string }{
	{corev1.LabelInstanceType, corev1.LabelInstanceTypeStable},
	{corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone},
	{corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion},
}

// withStableLabels returns a node whose stable labels are as its beta labels; nil if they are.
func withStableLabels(n *corev1.Node) (next *corev1.Node) {
	for _, l := range cloudLabels {
		beta, has := n.Labels[l.beta]
		if stable, there := n.Labels[l.stable]; !has || there && stable == beta {
			continue
		}
		if next == nil {
			next = codec.DeepCopy(n)
		}
		next.Labels[l.stable] = beta
	}
	return next
}

// initialized returns a node with what the cloud says of its instance, and without the taint.
func initialized(n *corev1.Node, i *Instance) (*corev1.Node, error) {
	next := codec.DeepCopy(n)
	if next.Spec.ProviderID = cmp.Or(n.Spec.ProviderID, i.ProviderID); next.Spec.ProviderID == "" {
		return nil, fmt.Errorf("the cloud has no provider ID for node %s", n.Name)
	}
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	for at, value := range []string{i.Type, i.Zone, i.Region} {
		if value != "" {
			next.Labels[cloudLabels[at].beta], next.Labels[cloudLabels[at].stable] = value, value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.Labels)) {
		if _, has := next.Labels[name]; !has && !reserved(name) {
			next.Labels[name] = i.Labels[name]
		}
	}
	next.Spec.Taints = slices.DeleteFunc(next.Spec.Taints, func(t corev1.Taint) bool { return t.Key == UninitializedTaint })
	return next, nil
}

// reserved reports whether the prefix of a label is of Kubernetes.
func reserved(label string) bool {
	domain, _, prefixed := strings.Cut(label, "/")
	return prefixed && apiextensionsv1.IsProtectedGroup(domain)
}

// addressesOf returns the addresses of a node: those of its instance, with the host name that the kubelet has
// set unless the cloud has one. Of the addresses that the kubelet was configured with, each must be one of
// the cloud; they come first, and others of their type are left out.
func addressesOf(n *corev1.Node, cloud []corev1.NodeAddress) ([]corev1.NodeAddress, error) {
	out := slices.Clone(cloud)
	isName := func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeHostName }
	if !slices.ContainsFunc(out, isName) {
		for _, a := range n.Status.Addresses {
			if isName(a) {
				out = append(out, a)
			}
		}
	}
	provided, ok := n.Annotations[ProvidedIPAnnotation]
	if !ok {
		return out, nil
	}
	var first []corev1.NodeAddress
	types := map[corev1.NodeAddressType]bool{}
	for text := range strings.SplitSeq(provided, ",") {
		ip, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("node %s: annotation %s: %w", n.Name, ProvidedIPAnnotation, err)
		}
		before := len(first)
		for _, a := range cloud {
			if have, err := netip.ParseAddr(a.Address); err == nil && have == ip {
				first, types[a.Type] = append(first, a), true
			}
		}
		if len(first) == before {
			return nil, fmt.Errorf("node %s: the cloud has no address %s, which the kubelet was configured with", n.Name, ip)
		}
	}
	return append(first, slices.DeleteFunc(out, func(a corev1.NodeAddress) bool { return types[a.Type] })...), nil
}

// AddNodeLifecycle adds the controller that deletes nodes whose instance does not exist any more, and taints
// those that are shut down. It looks at nodes that are not ready. It needs the rights to delete and to patch
// nodes.
func AddNodeLifecycle(m *manager.Manager, in Instances, opts NodeOptions) error {
	l := &lifecycle{in: in, list: informers.For[*corev1.Node](m.Informers()).Lister(), api: client.For[*corev1.Node](m.Conn()),
		recorder: m.Recorder("cloud-node-lifecycle-controller"), period: cmp.Or(opts.MonitorPeriod, 5*time.Second)}
	_, err := controllers.Add(m, "cloud-node-lifecycle", reconcile.Func(l.reconcile), opts.controller(),
		controllers.For(func(e informers.Event[*corev1.Node]) bool {
			return e.Type == informers.Added || e.Type == informers.Updated && ready(e.Old()) != ready(e.New())
		}))
	return err
}

type lifecycle struct {
	in       Instances
	list     informers.Lister[*corev1.Node]
	api      *client.Client[*corev1.Node]
	recorder *events.Recorder
	period   time.Duration
}

func ready(n *corev1.Node) bool {
	return n != nil && slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func (l *lifecycle) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	n, err := l.list.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if ready(n) {
		return reconcile.Result{}, l.taint(ctx, n, false)
	}
	again := reconcile.Result{RequeueAfter: l.period}
	i, err := l.in.Instance(ctx, n)
	switch {
	case errors.Is(err, ErrNoInstance):
		l.recorder.Eventf(n, corev1.EventTypeNormal, "DeletingNode", "Deleting node %s because it does not exist in the cloud provider", n.Name)
		err := l.api.Delete(ctx, req, client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &n.UID}})
		if err = apierrors.IgnoreNotFound(err); err != nil {
			l.recorder.Eventf(n, corev1.EventTypeWarning, "DeletingNodeFailed", "Failed deleting node %s: %v", n.Name, err)
		}
		return reconcile.Result{}, err
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("read the instance of node %s: %w", n.Name, err)
	case i != nil && i.Shutdown:
		return again, l.taint(ctx, n, true)
	}
	return again, nil
}

// taint adds or removes the taint of nodes that are shut down.
func (l *lifecycle) taint(ctx context.Context, n *corev1.Node, shutdown bool) error {
	if hasTaint(n, ShutdownTaint) == shutdown {
		return nil
	}
	next := codec.DeepCopy(n)
	if shutdown {
		next.Spec.Taints = append(next.Spec.Taints, corev1.Taint{Key: ShutdownTaint, Effect: corev1.TaintEffectNoSchedule})
	} else {
		next.Spec.Taints = slices.DeleteFunc(next.Spec.Taints, func(t corev1.Taint) bool { return t.Key == ShutdownTaint })
	}
	_, err := client.PatchFrom(ctx, l.api, n, next, client.PatchFromOptions{Lock: true})
	return err
}
