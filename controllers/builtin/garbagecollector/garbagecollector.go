// Package garbagecollector deletes objects whose owners were deleted and performs foreground deletion and
// orphaning, for every resource that can be listed, watched and deleted, including custom resources.
//
// It keeps a graph of all objects' metadata. The graph only proposes. What is promised:
//
//   - An object is deleted only when each of its owners is proven not to exist: the server has said of that
//     very object, by name, that it is not found, or has shown another one in its place, or a watch has
//     delivered its end. That a resource is not served (a 404 of a collection, of a path, of discovery)
//     proves nothing, and neither does an empty or incomplete copy.
//   - The delete carries the object's uid and version as it was read for the decision, so that one that gets
//     an owner meanwhile stays.
//   - A reference counts for the place that it names: the same uid with another name, kind or namespace says
//     nothing about others that refer to the owner rightly.
//   - A cluster-scoped object that names a namespaced owner is never deleted on account of that reference,
//     which cannot be followed. Such references, and those to an owner in another namespace, are reported by
//     events (OwnerRefInvalidNamespace).
//   - An owner that is to be orphaned, or that waits for its dependents, is let go only when every resource
//     has been read: one that cannot be watched is listed.
//   - Objects that wait for each other in a circle of foreground deletions are let go.
//   - While a reference cannot be followed because its kind is not served, its object stays.
package garbagecollector

import (
	"context"
	"log/slog"
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
	work      *controller.Controller

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
		co.Queue.Metrics, co.Metrics = monitor.Queue(name), monitor.Reconciles()
	}
	c.work = controller.New(name, reconcile.Func(c.reconcile), co)
	if monitor != nil {
		monitor.Controller(name, c.work.Queue())
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
	for _, uid := range uids {
		c.work.Enqueue(reconcile.Request{Name: string(uid)})
	}
}

func (c *collector) api(kind *client.Resource) *client.Client[*metav1.PartialObjectMetadata] {
	return client.ForResource[*metav1.PartialObjectMetadata](c.conn, *kind)
}
