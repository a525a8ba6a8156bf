package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
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

// RouteOptions configure the controller of routes.
type RouteOptions struct {
	// Cluster is the name of the cluster for the cloud; empty means "kubernetes".
	Cluster string
	// ClusterCIDRs are the ranges of all pods: routes to other ranges are left alone. At least one is
	// required.
	ClusterCIDRs []netip.Prefix
	// Period is the time between readings of the cloud's routes; 0 means 10 seconds.
	Period time.Duration
}

// AddRoutes adds the controller that keeps a route to each range of pods, spec.podCIDRs of the nodes, and the
// condition NetworkUnavailable of the nodes. It writes with the rights of system:controller:route-controller.
func AddRoutes(m *manager.Manager, to Routes, opts RouteOptions) error {
	if len(opts.ClusterCIDRs) == 0 {
		return errors.New("cloud: RouteOptions.ClusterCIDRs is empty: no route would be one of the cluster")
	}
	r := &router{to: to, cluster: cmp.Or(opts.Cluster, "kubernetes"), ranges: opts.ClusterCIDRs, period: cmp.Or(opts.Period, 10*time.Second),
		nodes: informers.For[*corev1.Node](m.Informers()).Lister(), api: client.For[*corev1.Node](m.Conn()), recorder: m.Recorder("route_controller")}
	_, err := controllers.Add(m, "cloud-route", reconcile.Func(r.reconcile), controllers.Options{Options: controller.Options{Concurrency: 1}},
		controllers.Watches(func(e informers.Event[*corev1.Node]) []whole {
			if before, after := e.Old(), e.New(); before != nil && after != nil && before.UID == after.UID &&
				slices.Equal(before.Spec.PodCIDRs, after.Spec.PodCIDRs) && slices.Equal(before.Status.Addresses, after.Status.Addresses) {
				return nil
			}
			return []whole{{}}
		}))
	return err
}

// whole is the one key: the routes of a cluster are listed together.
type whole struct{}

// String describes the key in logs.
func (whole) String() string { return "all routes" }

type router struct {
	to       Routes
	cluster  string
	ranges   []netip.Prefix
	period   time.Duration
	nodes    informers.Lister[*corev1.Node]
	api      *client.Client[*corev1.Node]
	recorder *events.Recorder
}

// reconcile removes routes that lead to no node, makes those that are missing, and says of each node whether
// it has its routes.
func (r *router) reconcile(ctx context.Context, _ whole) (reconcile.Result, error) {
	have, err := r.to.List(ctx, r.cluster)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("list routes: %w", err)
	}
	var nodes []*corev1.Node
	if err := r.nodes.ViewAll(informers.ListOptions{}, func(n *corev1.Node) bool { nodes = append(nodes, n); return true }); err != nil {
		return reconcile.Result{}, err
	}
	surplus, missing := decideRoutes(nodes, have, r.ranges)
	var errs []error
	kept := map[string]bool{} // CIDRs of routes that are to go and do not
	for _, route := range surplus {
		if err := r.to.Delete(ctx, r.cluster, route); err != nil {
			kept[route.CIDR] = true
			errs = append(errs, fmt.Errorf("delete route %s: %w", route.CIDR, err))
		}
	}
	failed := map[string]bool{} // names of nodes
	for _, route := range missing {
		err := errors.New("a route to another node could not be deleted")
		if !kept[route.CIDR] {
			err = r.to.Create(ctx, r.cluster, route)
		}
		if err != nil {
			failed[route.Node] = true
			if i := slices.IndexFunc(nodes, func(n *corev1.Node) bool { return n.Name == route.Node }); i >= 0 {
				r.recorder.Eventf(nodes[i], corev1.EventTypeWarning, "FailedToCreateRoute", "Could not create route %s for node %s: %v", route.CIDR, route.Node, err)
			}
			errs = append(errs, fmt.Errorf("create route %s for node %s: %w", route.CIDR, route.Node, err))
		}
	}
	for _, n := range nodes {
		if err := r.setCondition(ctx, n, len(n.Spec.PodCIDRs) > 0 && !failed[n.Name]); err != nil {
			errs = append(errs, fmt.Errorf("write the condition of node %s: %w", n.Name, err))
		}
	}
	return reconcile.Result{RequeueAfter: r.period}, errors.Join(errs...)
}

// decideRoutes returns the routes of the cluster that are to be deleted, and those to be made: one for each
// range of each node. A route whose target has other addresses than its node is replaced, if the cloud names
// addresses.
func decideRoutes(nodes []*corev1.Node, have []Route, ranges []netip.Prefix) (surplus, missing []Route) {
	wanted := map[[2]string]*corev1.Node{} // by node and CIDR
	for _, n := range nodes {
		for _, cidr := range n.Spec.PodCIDRs {
			wanted[[2]string{n.Name, cidr}] = n
		}
	}
	for _, route := range have {
		if !within(route.CIDR, ranges) {
			continue
		}
		key := [2]string{route.Node, route.CIDR}
		n := wanted[key]
		if n == nil || route.Blackhole || len(route.Addresses) > 0 && !sameAddresses(route.Addresses, n.Status.Addresses) {
			surplus = append(surplus, route)
			continue
		}
		delete(wanted, key) // a second route to the same target would be surplus
	}
	for _, n := range nodes {
		for _, cidr := range n.Spec.PodCIDRs {
			if wanted[[2]string{n.Name, cidr}] != nil {
				missing = append(missing, Route{Node: n.Name, Addresses: n.Status.Addresses, CIDR: cidr})
			}
		}
	}
	return surplus, missing
}

// within reports whether a range is in one of others.
func within(cidr string, ranges []netip.Prefix) bool {
	p, err := netip.ParsePrefix(cidr)
	return err == nil && slices.ContainsFunc(ranges, func(r netip.Prefix) bool { return r.Bits() <= p.Bits() && r.Contains(p.Addr()) })
}

func sameAddresses(a, b []corev1.NodeAddress) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x corev1.NodeAddress) bool { return !slices.Contains(b, x) })
}

// setCondition writes NetworkUnavailable of a node.
func (r *router) setCondition(ctx context.Context, n *corev1.Node, routed bool) error {
	c := corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Reason: "NoRouteCreated", Message: "RouteController failed to create a route"}
	if routed {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "RouteCreated", "RouteController created a route"
	}
	i := slices.IndexFunc(n.Status.Conditions, func(have corev1.NodeCondition) bool { return have.Type == c.Type })
	if i >= 0 && n.Status.Conditions[i].Status == c.Status && n.Status.Conditions[i].Reason == c.Reason {
		return nil
	}
	c.LastTransitionTime = metav1.Now()
	c.LastHeartbeatTime = c.LastTransitionTime
	next := codec.DeepCopy(n)
	if i < 0 {
		next.Status.Conditions = append(next.Status.Conditions, c)
	} else {
		next.Status.Conditions[i] = c
	}
	// Strategic: the conditions of others are merged by type.
	_, err := client.PatchFrom(ctx, r.api, n, next, client.PatchFromOptions{PatchOptions: client.PatchOptions{Subresource: "status"}, Strategic: true})
	return err
}
