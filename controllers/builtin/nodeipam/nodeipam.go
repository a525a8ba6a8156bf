// Package nodeipam gives each node a range of addresses for its pods, podCIDRs, from the ranges of the
// cluster: one of each, so that with an IPv4 and an IPv6 range nodes have both.
//
// Which ranges are used is computed from the nodes. It is read from the server, not from a copy that may be
// behind, when the controller begins, so that one that takes over does not give away what its predecessor
// gave. A node's range is free when the node is deleted, and is used again after the others.
//
// nodeipam.go reads nodes and writes their ranges; book.go has which node has which, and pool.go which ranges
// are free, both without a server.
package nodeipam

import (
	"context"
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
	book   *book
	loaded bool
}

var byRange = informers.DefineIndex("nodeipam.range", func(n *corev1.Node) []string { return n.Spec.PodCIDRs })

// Add adds the controller to m. It returns an error for ranges that do not go together.
func Add(m *manager.Manager, opts Options) error {
	book, err := newBook(opts)
	if err != nil {
		return err
	}
	nodes := informers.For[*corev1.Node](m.Informers())
	a := &allocator{nodes: nodes.Lister(), byRange: nodes.Index(byRange), api: client.For[*corev1.Node](m.Conn()), recorder: m.Recorder("cidrAllocator"),
		log: m.Logger(), book: book}
	// One worker: allocations of a few microseconds each are not worth a lock.
	_, err = controllers.Add(m, "node-ipam", reconcile.Func(a.reconcile), controllers.Options{Options: controller.Options{Concurrency: 1}},
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
		a.book.own(req.Name, nil)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, err
	case len(n.Spec.PodCIDRs) > 0:
		a.book.own(n.Name, a.rangesOf(n))
		return reconcile.Result{}, nil
	case n.DeletionTimestamp != nil:
		return reconcile.Result{}, nil
	}
	ranges, err := a.book.allocate(n.Name, a.isFree)
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
		a.book.own(n.Name, a.rangesOf(n))
	}
	a.loaded = true
	return nil
}

// rangesOf returns the ranges of a node. Those that are of no pool are logged: they were given to the node by
// another configuration.
func (a *allocator) rangesOf(n *corev1.Node) []netip.Prefix {
	ranges, outside := a.book.rangesOf(n)
	for _, r := range outside {
		a.log.Warn("range of node is outside of the ranges of the cluster", "name", n.Name, "range", r)
	}
	return ranges
}

// isFree reports whether no node of the copy has a range. One that has just been created with a range may not
// have been reconciled yet.
func (a *allocator) isFree(r netip.Prefix) bool {
	keys, err := a.byRange.Keys(r.String())
	return err == nil && len(keys) == 0
}
