// Package nodeipam gives each node a range of addresses for its pods, podCIDRs, from the ranges of the
// cluster: one of each, so that with an IPv4 and an IPv6 range nodes have both.
//
// Which ranges are used is computed from the nodes. It is read from the server, not from a copy that may be
// behind, when the controller begins, so that one that takes over does not give away what its predecessor
// gave. A node's range is free when the node is deleted, and is used again after the others.
package nodeipam

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller.
type Options struct {
	// ClusterCIDRs are the ranges of all pods: one, or one IPv4 and one IPv6 range, in the order in which
	// nodes have theirs. At least one is required.
	ClusterCIDRs []netip.Prefix
	// MaskSizeIPv4 and MaskSizeIPv6 are the prefix lengths of the nodes' ranges; 0 means 24 and 64.
	MaskSizeIPv4, MaskSizeIPv6 int
	// ServiceCIDRs are not given to nodes, if they overlap ClusterCIDRs.
	ServiceCIDRs []netip.Prefix
}

type allocator struct {
	nodes    informers.Lister[*corev1.Node]
	byRange  informers.Index[*corev1.Node]
	api      *client.Client[*corev1.Node]
	recorder *events.Recorder
	log      *slog.Logger

	// These belong to the worker, of which there is one.
	pools  []*pool
	loaded bool
	owned  map[string][]netip.Prefix // by node, in the order of pools; an invalid one is none
}

var byRange = informers.DefineIndex("nodeipam.range", func(n *corev1.Node) []string { return n.Spec.PodCIDRs })

// Add adds the controller to m. It returns an error for ranges that do not go together.
func Add(m *manager.Manager, opts Options) error {
	if opts.MaskSizeIPv4 == 0 {
		opts.MaskSizeIPv4 = 24
	}
	if opts.MaskSizeIPv6 == 0 {
		opts.MaskSizeIPv6 = 64
	}
	switch c := opts.ClusterCIDRs; {
	case len(c) == 0:
		return errors.New("nodeipam: Options.ClusterCIDRs is empty: nodes would get no range")
	case len(c) > 2 || len(c) == 2 && c[0].Addr().Is4() == c[1].Addr().Is4():
		return fmt.Errorf("nodeipam: Options.ClusterCIDRs must have one range, or one IPv4 and one IPv6 range: %v", c)
	}
	nodes := informers.For[*corev1.Node](m.Informers())
	a := &allocator{nodes: nodes.Lister(), byRange: nodes.Index(byRange), api: client.For[*corev1.Node](m.Conn()), recorder: m.Recorder("cidrAllocator"),
		log: m.Logger(), owned: map[string][]netip.Prefix{}}
	for _, c := range opts.ClusterCIDRs {
		size := opts.MaskSizeIPv4
		if c.Addr().Is6() {
			size = opts.MaskSizeIPv6
		}
		p, err := newPool(c, size)
		if err != nil {
			return err
		}
		for _, s := range opts.ServiceCIDRs {
			p.occupy(s)
		}
		a.pools = append(a.pools, p)
	}
	// One worker: allocations of a few microseconds each are not worth a lock.
	_, err := controllers.Add(m, "node-ipam", reconcile.Func(a.reconcile), controllers.Options{Options: controller.Options{Concurrency: 1}},
		controllers.For(func(e informers.Event[*corev1.Node]) bool {
			return e.Type != informers.Updated || len(e.New().Spec.PodCIDRs) != len(e.Old().Spec.PodCIDRs) || e.New().UID != e.Old().UID
		}))
	return err
}

func (a *allocator) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if err := a.load(ctx); err != nil {
		return reconcile.Result{}, err
	}
	n, err := a.nodes.Get(req)
	switch {
	case apierrors.IsNotFound(err):
		a.own(req.Name, nil)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, err
	case len(n.Spec.PodCIDRs) > 0:
		a.own(n.Name, a.rangesOf(n))
		return reconcile.Result{}, nil
	case n.DeletionTimestamp != nil:
		return reconcile.Result{}, nil
	}
	ranges, err := a.allocate(n.Name)
	if err != nil {
		a.recorder.Eventf(n, corev1.EventTypeNormal, "CIDRNotAvailable", "Node %s status is now: CIDRNotAvailable", n.Name)
		return reconcile.Result{}, err
	}
	next := codec.DeepCopy(n)
	for _, r := range ranges {
		next.Spec.PodCIDRs = append(next.Spec.PodCIDRs, r.String())
	}
	next.Spec.PodCIDR = next.Spec.PodCIDRs[0]
	// The server refuses this if the node has got a range meanwhile.
	if _, err := client.PatchFrom(ctx, a.api, n, next, client.PatchFromOptions{}); err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	return reconcile.Result{}, nil
}

// load occupies the ranges of all nodes that there are when the controller begins.
func (a *allocator) load(ctx context.Context) error {
	if a.loaded {
		return nil
	}
	for n, err := range a.api.All(ctx, client.ListOptions{}) {
		if err != nil {
			return fmt.Errorf("nodeipam: list nodes: %w", err)
		}
		a.own(n.Name, a.rangesOf(n))
	}
	a.loaded = true
	return nil
}

// rangesOf returns the ranges of a node in the order of the pools. Those that are of no pool are logged: they
// were given to the node by another configuration.
func (a *allocator) rangesOf(n *corev1.Node) []netip.Prefix {
	if len(n.Spec.PodCIDRs) == 0 {
		return nil
	}
	out := make([]netip.Prefix, len(a.pools))
	for _, text := range n.Spec.PodCIDRs {
		r, err := netip.ParsePrefix(text)
		found := false
		for i, p := range a.pools {
			if err == nil && r.Overlaps(p.cluster) {
				out[i], found = r, true
			}
		}
		if !found {
			a.log.Warn("range of node is outside of the ranges of the cluster", "name", n.Name, "range", text)
		}
	}
	return out
}

// own makes ranges those of a node, in the place of its previous ones.
func (a *allocator) own(node string, ranges []netip.Prefix) {
	for i, r := range a.owned[node] {
		if r.IsValid() {
			a.pools[i].release(r)
		}
	}
	delete(a.owned, node)
	if ranges == nil {
		return
	}
	for i, r := range ranges {
		if r.IsValid() {
			a.pools[i].occupy(r)
		}
	}
	a.owned[node] = ranges
}

// allocate returns a range of each pool for a node: those that it was given before, in case that writing them
// failed, or new ones. In case of an error nothing is allocated.
func (a *allocator) allocate(node string) ([]netip.Prefix, error) {
	if ranges := a.owned[node]; ranges != nil {
		return ranges, nil
	}
	var ranges []netip.Prefix
	for _, p := range a.pools {
		r, ok := p.take(func(r netip.Prefix) bool {
			// A node that has just been created with a range may not have been reconciled yet.
			keys, err := a.byRange.Keys(r.String())
			return err == nil && len(keys) == 0
		})
		if !ok {
			for i, r := range ranges {
				a.pools[i].release(r)
			}
			return nil, fmt.Errorf("nodeipam: node %s: no range of %s is free", node, p.cluster)
		}
		ranges = append(ranges, r)
	}
	a.owned[node] = ranges
	return ranges, nil
}
