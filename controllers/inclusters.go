package controllers

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/workqueue"
)

// InClusters runs sources of one cluster, such as [For] and [Owns], in every cluster of cs, and adds their
// keys with the name of the cluster. A cluster's keys are queued when all the sources have synced there; a
// controller does not wait for clusters.
func InClusters(cs *Clusters, sources ...Source) Source {
	return sourceFunc(func(_ *manager.Manager, a *attachment) error {
		to, err := queueOf[ClusterRequest](a)
		if err != nil {
			return err
		}
		s := &inClusters{controller: a.controller, to: to, onEvent: a.onEvent, sources: sources, attached: map[*Cluster]*clusterSources{}}
		cs.mu.Lock()
		defer cs.mu.Unlock()
		for _, c := range cs.engaged {
			if err := s.engage(c); err != nil {
				for done := range s.attached {
					s.disengage(done)
				}
				return err
			}
		}
		cs.sources = append(cs.sources, s)
		a.releases = append(a.releases, func() { cs.drop(s) })
		return nil
	})
}

// drop ends a source whose controller has stopped.
func (cs *Clusters) drop(s *inClusters) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for i, other := range cs.sources {
		if other == s {
			cs.sources = append(cs.sources[:i:i], cs.sources[i+1:]...)
			break
		}
	}
	for c := range s.attached {
		s.disengage(c)
	}
}

// inClusters are the sources of one controller in every cluster. The mu of the Clusters guards it.
type inClusters struct {
	controller string
	to         queue[ClusterRequest]
	onEvent    func(controller string, req any, e manager.Event)
	sources    []Source
	attached   map[*Cluster]*clusterSources
}

// engage attaches the sources in a cluster.
func (s *inClusters) engage(c *Cluster) error {
	q := &clusterQueue{cluster: c.name, to: s.to, held: map[reconcile.Request]workqueue.AddOptions{}}
	var onEvent func(string, any, manager.Event)
	if s.onEvent != nil {
		onEvent = func(controller string, req any, e manager.Event) {
			s.onEvent(controller, ClusterRequest{c.name, req.(reconcile.Request)}, e)
		}
	}
	a := newAttachment[reconcile.Request](s.controller, q, onEvent)
	if err := a.attachAll(c.manager, s.sources); err != nil {
		return err
	}
	of := &clusterSources{attachment: a, queue: q}
	s.attached[c] = of
	c.manager.AddWithoutLeaderElection(s.controller+" sources", of)
	return nil
}

// disengage detaches the sources in a cluster, if they are attached.
func (s *inClusters) disengage(c *Cluster) {
	if of := s.attached[c]; of != nil {
		delete(s.attached, c)
		of.attachment.detach()
	}
}

// clusterSources are the sources of one controller in one cluster.
type clusterSources struct {
	attachment *attachment
	queue      *clusterQueue
}

// Run implements manager.Runnable. It passes on what the sources have added once all of them have synced,
// and runs their channels.
func (s *clusterSources) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var channels sync.WaitGroup
	defer channels.Wait()
	go func() {
		select {
		case <-s.attachment.detached:
			stop()
		case <-ctx.Done():
		}
	}()
	if err := s.attachment.wait(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // also because the controller has stopped
		}
		return err
	}
	s.queue.open()
	for _, run := range s.attachment.runs {
		channels.Go(func() { _ = run(ctx) })
	}
	<-ctx.Done()
	return nil
}

// clusterQueue adds keys of a cluster to the queue of a controller, and holds them until it is opened.
type clusterQueue struct {
	cluster string
	to      queue[ClusterRequest]
	opened  atomic.Bool

	mu    sync.Mutex
	held  map[reconcile.Request]workqueue.AddOptions
	order []reconcile.Request // of held
}

// AddWith implements queue.
func (q *clusterQueue) AddWith(req reconcile.Request, opts workqueue.AddOptions) {
	if !q.opened.Load() && q.hold(req, opts) {
		return
	}
	q.to.AddWith(ClusterRequest{q.cluster, req}, opts)
}

// hold keeps a key, unless the queue has been opened.
func (q *clusterQueue) hold(req reconcile.Request, opts workqueue.AddOptions) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.opened.Load() {
		return false
	}
	before, ok := q.held[req]
	if !ok {
		q.order = append(q.order, req)
	} else {
		opts.Cause, opts.Priority = before.Cause, max(before.Priority, opts.Priority)
	}
	q.held[req] = opts
	return true
}

func (q *clusterQueue) open() {
	q.mu.Lock()
	held, order := q.held, q.order
	q.held, q.order = nil, nil
	q.opened.Store(true)
	q.mu.Unlock()
	for _, req := range order {
		q.to.AddWith(ClusterRequest{q.cluster, req}, held[req])
	}
}
