package controllers

import (
	"context"
	"errors"
	"sync"

	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/workqueue"
)

// Reconciler returns a reconciler for one controller that calls f with the cluster of the key. Keys of
// clusters that are not engaged are dropped. The context of f ends, with the cause [ErrDisengaged], when the
// cluster is disengaged; its result is then ignored.
func (cs *Clusters) Reconciler(f func(ctx context.Context, c *Cluster, req reconcile.Request) (reconcile.Result, error)) reconcile.Reconciler[ClusterRequest] {
	return &clusterReconciler{clusters: cs, f: f, limit: max(cs.opts.Concurrency, 1), busy: map[*Cluster]*busyCluster{}}
}

type clusterReconciler struct {
	clusters *Clusters
	f        func(ctx context.Context, c *Cluster, req reconcile.Request) (reconcile.Result, error)
	queue    *workqueue.Queue[ClusterRequest] // nil until it is bound, and in tests of the reconciler alone
	limit    int                              // of reconciles of one cluster at once

	mu   sync.Mutex
	busy map[*Cluster]*busyCluster
}

// busyCluster is a cluster with reconciles in progress.
type busyCluster struct {
	running int
	// waiting are the keys for which a worker was free while running was at the limit, with their priorities.
	waiting  map[ClusterRequest]int
	waitList []ClusterRequest
}

// bind implements binder.
func (r *clusterReconciler) bind(c *controller.Controller[ClusterRequest], concurrency int) error {
	if r.queue != nil {
		return errors.New("a result of Clusters.Reconciler is for one controller: call it once for each")
	}
	r.queue = c.Queue()
	if r.clusters.opts.Concurrency < 1 {
		r.limit = max(concurrency/4, 1)
	}
	return nil
}

// Reconcile implements reconcile.Reconciler.
func (r *clusterReconciler) Reconcile(ctx context.Context, req ClusterRequest) (reconcile.Result, error) {
	c, ok := r.clusters.Get(req.Cluster)
	if !ok || !r.enter(c, req) {
		return reconcile.Result{}, nil
	}
	defer r.leave(c)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	run, ok := c.begin(cancel)
	if !ok {
		return reconcile.Result{}, nil
	}
	defer c.end(run)
	result, err := r.f(ctx, c, req.Request)
	if c.isGone() {
		return reconcile.Result{}, nil
	}
	return result, err
}

// enter reports whether a reconcile of the cluster may begin now. Otherwise the key is queued again when one
// has ended.
func (r *clusterReconciler) enter(c *Cluster, req ClusterRequest) bool {
	if r.queue == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.busy[c]
	if b == nil {
		b = &busyCluster{waiting: map[ClusterRequest]int{}}
		r.busy[c] = b
	}
	if b.running < r.limit {
		b.running++
		return true
	}
	if _, ok := b.waiting[req]; !ok {
		b.waitList = append(b.waitList, req)
	}
	entry, _ := r.queue.Entry(req)
	b.waiting[req] = entry.Priority
	return false
}

// leave queues the key that waits longest.
func (r *clusterReconciler) leave(c *Cluster) {
	if r.queue == nil {
		return
	}
	r.mu.Lock()
	b := r.busy[c]
	b.running--
	var next ClusterRequest
	var priority int
	found := len(b.waitList) > 0
	if found {
		next, b.waitList = b.waitList[0], b.waitList[1:]
		priority = b.waiting[next]
		delete(b.waiting, next)
	}
	if b.running == 0 && len(b.waitList) == 0 {
		delete(r.busy, c)
	}
	r.mu.Unlock()
	if found {
		r.queue.AddWith(next, workqueue.AddOptions{Priority: priority, Cause: "cluster has a free worker"})
	}
}
