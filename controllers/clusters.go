package controllers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// ErrDisengaged is the cause of the context of a reconcile whose cluster was disengaged.
var ErrDisengaged = errors.New("controllers: the cluster was disengaged")

// ClusterRequest is the key of an object in one of several clusters; see [Clusters].
type ClusterRequest struct {
	// Cluster is the name that the cluster was engaged by.
	Cluster string
	reconcile.Request
}

// String returns the cluster and the key, separated by a slash.
func (r ClusterRequest) String() string { return r.Cluster + "/" + r.Request.String() }

// LogValue implements slog.LogValuer.
func (r ClusterRequest) LogValue() slog.Value {
	return slog.GroupValue(slog.String("cluster", r.Cluster), slog.String("namespace", r.Namespace), slog.String("name", r.Name))
}

// Clusters are the clusters that the controllers of one program work on beside that of its manager. Clusters
// are engaged and disengaged before and while the manager runs. A controller over them is added once:
//
//	fleet := controllers.NewClusters(m, controllers.ClustersOptions{})
//	r := fleet.Reconciler(func(ctx context.Context, c *controllers.Cluster, req reconcile.Request) (
//		reconcile.Result, error) {
//		node, err := controllers.ListerIn[*corev1.Node](c).Get(req)
//		...
//	})
//	opts := controllers.Options{Options: controller.Options{Concurrency: 8}}
//	_, err := controllers.Add(m, "nodes", r, opts,
//		controllers.InClusters(fleet, controllers.For[*corev1.Node]()))
//	...
//	_, err = fleet.Engage("member-1", conn)
//
// Each cluster has a manager with informers of its own, which run on every replica, leader or not. A cluster
// whose API server does not respond, or whose informers cannot sync, delays no other one: its keys are queued
// when its own informers have synced, clusters take turns in the queue, and ClustersOptions.Concurrency
// bounds the workers that it can hold. All methods may be called concurrently.
type Clusters struct {
	hub  *manager.Manager
	opts ClustersOptions

	mu      sync.Mutex
	engaged map[string]*Cluster
	sources []*inClusters
	start   func(*Cluster) // nil unless Run runs
	ended   bool
}

// ClustersOptions configure Clusters.
type ClustersOptions struct {
	// Informers configures the informers of each cluster; its Cache selects what they hold. Unless it has its
	// own Logger or OnError, failures are logged to the logger of the manager, with the cluster. Its Metrics
	// are of all clusters together; if none is set, and the manager's Monitor has the methods InformersOf and
	// InformerSetOf of metrics.Metrics, those measure each cluster under its name.
	Informers informers.SetOptions
	// Concurrency is how many reconciles of one cluster a controller runs at once, so that others get workers
	// when the reconciles of one cluster block. 0 means a quarter of the controller's Concurrency, but at
	// least 1.
	Concurrency int
}

// clusterMonitor is a manager.Monitor that measures the informers of each cluster, such as metrics.Metrics.
type clusterMonitor interface {
	InformersOf(cluster string) informers.Metrics
	InformerSetOf(cluster string, s *informers.Set) (remove func())
}

// NewClusters returns an empty set of clusters, which runs with m.
func NewClusters(m *manager.Manager, opts ClustersOptions) *Clusters {
	cs := &Clusters{hub: m, opts: opts, engaged: map[string]*Cluster{}}
	m.AddWithoutLeaderElection("clusters", cs)
	return cs
}

// Cluster is one of [Clusters]. All methods may be called concurrently.
type Cluster struct {
	name    string
	manager *manager.Manager
	stop    context.CancelFunc // nil until it is started; guarded by the mu of its Clusters
	done    chan struct{}      // closed when nothing of the cluster runs any more
	// unmeasure ends the metrics of the informers, once they have ended.
	unmeasure func()

	mu      sync.Mutex
	gone    bool
	err     error
	last    int
	cancels map[int]context.CancelCauseFunc // of the reconciles in progress
	idle    chan struct{}                   // closed when it is gone and no reconcile is in progress
	listers map[reflect.Type]any
}

// Name returns the name that the cluster was engaged by.
func (c *Cluster) Name() string { return c.name }

// Conn returns a connection to the cluster. Writes through it are immediately visible in its listers.
func (c *Cluster) Conn() client.Conn { return c.manager.Conn() }

// Manager returns the manager of the cluster, which leads as long as it runs. Its Recorder writes events in
// the cluster. What is added to it runs on every replica.
func (c *Cluster) Manager() *manager.Manager { return c.manager }

// Done returns a channel that is closed when the cluster is disengaged and nothing of it runs any more.
func (c *Cluster) Done() <-chan struct{} { return c.done }

// Err returns why the cluster was disengaged, if that was a failure of its manager, or nil.
func (c *Cluster) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// ListerIn returns the lister of the cluster's informer for T. Until the informer has synced, reading it
// returns an error; a source of [InClusters], such as [Reads], makes a controller wait for it.
func ListerIn[T metav1.Object](c *Cluster) informers.Lister[T] {
	typ := reflect.TypeFor[T]()
	c.mu.Lock()
	l, ok := c.listers[typ].(informers.Lister[T])
	c.mu.Unlock()
	if ok {
		return l
	}
	inf := informers.For[T](c.manager.Informers())
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok = c.listers[typ].(informers.Lister[T]); ok { // another goroutine was faster
		inf.Release()
		return l
	}
	l = inf.Lister()
	c.listers[typ] = l
	return l
}

// Engage adds a cluster. Its informers start with the manager, or immediately if that runs. Engage returns an
// error if the name is empty or in use, if a source of a controller fails because a type is not in the scheme
// of conn, or if the manager has stopped.
func (cs *Clusters) Engage(name string, conn client.Conn) (*Cluster, error) {
	if name == "" {
		return nil, errors.New("controllers: a cluster needs a name")
	}
	opts := cs.opts.Informers
	measured, ok := cs.hub.Monitor().(clusterMonitor)
	measure := ok && reflect.ValueOf(opts.Metrics).IsZero()
	if measure {
		opts.Metrics = measured.InformersOf(name)
	}
	log := cs.hub.Logger().With("cluster", name)
	c := &Cluster{
		name: name, manager: manager.New(conn, manager.Options{Informers: opts, Logger: log}), done: make(chan struct{}), unmeasure: func() {},
		cancels: map[int]context.CancelCauseFunc{}, idle: make(chan struct{}), listers: map[reflect.Type]any{},
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch {
	case cs.ended:
		return nil, fmt.Errorf("controllers: cannot engage the cluster %s: the manager has stopped", name)
	case cs.engaged[name] != nil:
		return nil, fmt.Errorf("controllers: a cluster %s is engaged already", name)
	}
	for i, s := range cs.sources {
		if err := s.engage(c); err != nil {
			for _, attached := range cs.sources[:i] {
				attached.disengage(c)
			}
			return nil, fmt.Errorf("controllers: cannot engage the cluster %s: %w", name, err)
		}
	}
	if measure {
		c.unmeasure = measured.InformerSetOf(name, c.manager.Informers())
	}
	cs.engaged[name] = c
	if cs.start != nil {
		cs.start(c)
	}
	return c, nil
}

// Disengage removes a cluster, cancels the contexts of its reconciles, and waits until these and its
// informers have ended, or ctx ends, whose error it then returns. It reports whether there was one. Keys of
// the cluster that are still queued are dropped. A reconcile must not disengage its own cluster and wait.
func (cs *Clusters) Disengage(ctx context.Context, name string) (bool, error) {
	cs.mu.Lock()
	c := cs.engaged[name]
	cs.mu.Unlock()
	if c == nil {
		return false, nil
	}
	cs.remove(c, nil)
	select {
	case <-c.done:
		return true, nil
	case <-ctx.Done():
		return true, fmt.Errorf("controllers: the cluster %s has not stopped: %w", name, ctx.Err())
	}
}

// remove makes sure that no reconcile of the cluster begins, cancels those in progress, and begins to stop
// its manager.
func (cs *Clusters) remove(c *Cluster, err error) {
	cs.mu.Lock()
	if cs.engaged[c.name] != c {
		cs.mu.Unlock()
		return
	}
	delete(cs.engaged, c.name)
	for _, s := range cs.sources {
		s.disengage(c)
	}
	stop := c.stop
	cs.mu.Unlock()
	c.close(err)
	if stop != nil {
		stop()
	} else {
		c.unmeasure()
		close(c.done) // it never ran
	}
}

// Get returns an engaged cluster.
func (cs *Clusters) Get(name string) (*Cluster, bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c, ok := cs.engaged[name]
	return c, ok
}

// Names returns the names of the engaged clusters in their order.
func (cs *Clusters) Names() []string {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	out := make([]string, 0, len(cs.engaged))
	for name := range cs.engaged {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Run implements manager.Runnable; the manager calls it.
func (cs *Clusters) Run(ctx context.Context) error {
	var running sync.WaitGroup
	cs.mu.Lock()
	cs.start = func(c *Cluster) {
		member, stop := context.WithCancel(ctx)
		c.stop = stop
		running.Go(func() {
			defer stop()
			cs.run(member, c)
		})
	}
	for _, c := range cs.engaged {
		cs.start(c)
	}
	cs.mu.Unlock()
	<-ctx.Done()
	cs.mu.Lock()
	cs.start, cs.ended = nil, true
	cs.mu.Unlock()
	running.Wait()
	return nil
}

// run runs a cluster until ctx ends or its manager fails.
func (cs *Clusters) run(ctx context.Context, c *Cluster) {
	defer close(c.done)
	err := c.manager.Run(ctx)
	c.unmeasure()
	if err != nil {
		cs.hub.Logger().Error("cluster failed, disengaging it", "cluster", c.name, "err", err)
	}
	if ctx.Err() == nil {
		cs.remove(c, err)
	}
	c.close(err)
	<-c.idle
}

// close marks the cluster as gone and cancels its reconciles.
func (c *Cluster) close(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	c.gone, c.err = true, err
	for _, cancel := range c.cancels {
		cancel(ErrDisengaged)
	}
	if len(c.cancels) == 0 {
		close(c.idle)
	}
}

// begin reports whether a reconcile of the cluster may begin; then end must be called with the number.
func (c *Cluster) begin(cancel context.CancelCauseFunc) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return 0, false
	}
	c.last++
	c.cancels[c.last] = cancel
	return c.last, true
}

func (c *Cluster) end(run int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.cancels, run)
	if c.gone && len(c.cancels) == 0 {
		close(c.idle)
	}
}

func (c *Cluster) isGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}
