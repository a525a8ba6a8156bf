// Package garbagecollector deletes objects whose owners were deleted and performs foreground deletion and
// orphaning, for every resource that can be listed, watched and deleted, including custom resources.
// It keeps a graph of the metadata of all objects, which only suggests what to examine. It guarantees:
//
//   - An object is deleted only when each of its owners is proven not to exist: the server has answered a
//     read of that owner by name with not found or with an object of another uid, or a watch has delivered
//     its deletion. A resource that is not served (404 for a collection, a path or discovery) is no proof,
//     and neither is an empty or incomplete cache.
//   - The delete has the uid and resourceVersion that the decision was based on as preconditions, so an
//     object that gets an owner meanwhile is kept.
//   - A reference is judged by the name, kind and namespace in it: a wrong reference to a uid does not affect
//     objects with a right one.
//   - A cluster-scoped object that names a namespaced owner is never deleted because of that reference, which
//     cannot be resolved. Such references, and those to an owner in another namespace, are reported by events
//     (OwnerRefInvalidNamespace).
//   - The finalizer of an owner that orphans or waits for its dependents is removed only when every resource
//     has been read: one that cannot be watched is listed.
//   - Objects that wait for each other in a cycle of foreground deletions are released.
//   - While a reference cannot be resolved because its kind is not served, the object is kept.
package garbagecollector

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/workqueue"
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of objects reconciled concurrently; 0 means 20.
	Concurrency int
	// ResyncPeriod is the time between discoveries of the served resources; 0 means 30 s. Changes of
	// CustomResourceDefinitions are handled immediately.
	ResyncPeriod time.Duration
	// Ignored resources are not collected; nil means Events.
	Ignored []schema.GroupResource
}

// name of the controller in logs, metrics and events.
const name = "garbage-collector-controller"

const (
	// patience is how long the first reading of a resource is waited for before work goes on without it.
	patience = 30 * time.Second
	// unservedFor is how long a resource must be missing from what the server says it serves before its
	// objects are forgotten.
	unservedFor = 5 * time.Minute
)

type collector struct {
	conn      client.Conn
	set       *informers.Set
	discovery *discovery.Client
	opts      Options
	log       *slog.Logger
	recorder  *events.Recorder
	graph     *graph
	work      *controller.Controller[reconcile.Request]

	nudge chan struct{} // a resource definition changed
	begun chan struct{} // closed when the served resources have been listed first

	mu       sync.Mutex
	monitors map[schema.GroupResource]*monitor
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 20
	}
	if opts.ResyncPeriod == 0 {
		opts.ResyncPeriod = 30 * time.Second
	}
	if opts.Ignored == nil {
		opts.Ignored = []schema.GroupResource{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}}
	}
	c := &collector{conn: m.Conn(), set: m.Informers(), opts: opts, log: m.Logger(), recorder: m.Recorder(name), graph: newGraph(),
		discovery: discovery.New(m.Conn(), discovery.Options{}), monitors: map[schema.GroupResource]*monitor{},
		nudge: make(chan struct{}, 1), begun: make(chan struct{})}
	co := controller.Options{Concurrency: opts.Concurrency, Logger: m.Logger()}
	monitor := m.Monitor()
	if monitor != nil {
		co.Queue, co.Metrics = workqueue.Options[reconcile.Request]{Metrics: monitor.Queue(name)}, monitor.Reconciles()
	}
	c.work = controller.New(name, reconcile.Func(c.reconcile), co)
	if monitor != nil {
		monitor.Controller(name, c.work.QueueView())
	}
	m.Add(name, c)
	return nil
}

// Wait implements manager.Waiter. Run waits for the collector's own informers, so that no other one delays
// it.
func (c *collector) Wait(context.Context) error { return nil }

// Run implements manager.Runnable.
func (c *collector) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { c.follow(ctx) })
	c.waitForFirst(ctx)
	err := c.work.Run(ctx)
	wg.Wait()
	for _, m := range c.monitors {
		m.inf.Release()
	}
	return err
}

// check has objects looked at. Their keys in the queue are their uids.
func (c *collector) check(uids []types.UID) {
	slices.Sort(uids) // they are collected from maps
	for _, uid := range uids {
		c.work.Enqueue(reconcile.Request{Name: string(uid)})
	}
}

func (c *collector) api(kind *client.Resource) *client.Client[*metav1.PartialObjectMetadata] {
	return client.ForResource[*metav1.PartialObjectMetadata](c.conn, *kind)
}
