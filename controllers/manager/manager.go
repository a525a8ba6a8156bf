// Package manager runs the parts of one program against one API server: shared informers, runnables of every
// replica, and runnables of the leader.
//
// [Manager.Run] starts the informers, then the runnables without leader election (webhook, health and metrics
// servers), then leader election and, while leading, the other runnables. A runnable of the leader waits for
// informers first: a controller for its sources (see controllers.Add), any other [Waiter] for what its Wait
// says, and the rest for all informers of the manager. An informer whose resource is not served, because its
// CustomResourceDefinition is not installed, does not block the others and syncs when the resource is served.
//
// A manager that leads after another one reads again the collections whose copies may lack the last writes of
// that one, and its runnables wait for that too: see informers.Set.CatchUp. The Lease must be in the store of
// the collections for this.
//
// When Run's context ends, or a runnable fails, the parts are stopped in reverse order, each after the
// previous one has returned: the runnables of the leader, which releases the lease; the runnables without
// leader election; the event recorders; the informers. The last events are therefore written, and an
// operator's own webhook answers while its reconcilers make their last writes. Options.Grace and
// Options.StopTimeout bound the time. When leadership is lost, the contexts of the leader's runnables and of
// their reconciles are canceled immediately.
package manager

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/grace"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/candidate"
	"github.com/keelson-dev/keelson/workqueue"
)

// Runnable is a part of a program. Run blocks until ctx ends and every goroutine it started has returned. It
// returns nil when ctx ends; an error before that stops the manager.
type Runnable interface {
	Run(ctx context.Context) error
}

// Waiter is a Runnable whose Wait replaces the default wait for all informers. Wait is called before Run and
// blocks until Run may be called. An error of Wait before ctx ends stops the manager.
type Waiter interface {
	Runnable
	Wait(ctx context.Context) error
}

// Func adapts a function to a Runnable.
type Func func(ctx context.Context) error

// Run calls f.
func (f Func) Run(ctx context.Context) error { return f(ctx) }

// Elector runs lead while it holds leadership; *leaderelection.Elector implements it. Run returns when ctx
// ends or leadership is lost, after lead has returned.
type Elector interface {
	Run(ctx context.Context, lead func(ctx context.Context) error) error
}

// Defaults of Options.
const (
	DefaultGrace       = 10 * time.Second
	DefaultStopTimeout = 25 * time.Second
)

// Options of a Manager. The zero value runs everything without leader election.
type Options struct {
	// Lease is the key of the Lease by which replicas elect the leader. The manager then makes the elector:
	// it records events about the Lease as the component of its name, and takes the lease only when the
	// informers are filled, so that a new leader starts with warm caches. Empty means no election by a Lease.
	Lease types.NamespacedName
	// Election configures the elector of Lease. Unless it has its own, the logger is that of the manager, the
	// metrics are those of Monitor, if that has a method Leader as metrics.Metrics does, and Warm waits for
	// the informers that there are when Run begins, but for 10 s at most.
	Election leaderelection.Options
	// Candidate, if not nil, leaves the choice of the leader to the API server, which prefers the replica of
	// the oldest version: the manager keeps a LeaseCandidate, of the name of the elector's identity, and
	// Election is Coordinated. It needs Lease, and a server with the feature CoordinatedLeaderElection.
	Candidate *candidate.Options
	// Elector elects the leader among replicas by other means than Lease. If both are empty, the manager
	// leads as soon as it runs.
	Elector Elector
	// Informers configures the shared informers; its Cache selects what they hold: namespaces, selectors,
	// transforms. Unless it has its own Logger or OnError, failures of informers are logged to Logger.
	Informers informers.SetOptions
	// Logger receives what controllers and informers log, such as missing permissions. If nil, warnings and
	// errors are logged to slog.Default(); use slog.DiscardHandler to log nothing. Warnings of one cause that
	// stays until someone changes it (a missing right, a certificate or token that is not accepted, a missing
	// namespace, a server that cannot be reached) are logged once a minute, with the number of the further
	// ones as repeated; these have level Debug.
	Logger *slog.Logger
	// Grace is how long reconciles in progress may continue after the end of Run's context before their own
	// contexts are canceled. 0 means 10 s; a negative value cancels them immediately.
	Grace time.Duration
	// StopTimeout is how long runnables may take to return after the end of Run's context. Those that have
	// not returned by then are abandoned: Run stops the rest, which may take 5 s more, and returns
	// ErrNotDrained with their names. 0 means 25 s, which is within the default termination grace period of
	// a pod; a negative value means no limit.
	StopTimeout time.Duration
	// Monitor, if not nil, measures the controllers of the manager; see package controllers/metrics.
	Monitor Monitor
	// Wrap, if not nil, is called for every reconcile of every controller, for example to trace it or to
	// change its context. It returns what next returns, or something else in its place.
	Wrap func(ctx context.Context, run *reconcile.Run, next func(context.Context) (reconcile.Result, error)) (reconcile.Result, error)
	// Configure, if not nil, returns the options of a controller that is added, from its name and the options
	// its author gave, for example for a flag with the concurrency of each controller (controller-runtime:
	// Options.Controller).
	Configure func(controller string, opts controller.Options) controller.Options
	// OnEvent, if not nil, is called before an event of an informer enqueues a key, for example to trace why
	// a reconciler ran; req is as in reconcile.Run.Key. It is called concurrently, on the goroutines of event
	// handlers, which it must not block.
	OnEvent func(controller string, req any, e Event)
}

// Event is what an event of an informer is about.
type Event struct {
	Type informers.EventType
	// Kind and Key of the object, and its resourceVersion after the change or, if it is deleted, before.
	Kind            string
	Key             types.NamespacedName
	ResourceVersion string
}

// Monitor measures a manager's controllers and informers, for metrics and debug views. The methods that name
// a controller are called once for each, from one goroutine, before it runs.
type Monitor interface {
	// Queue returns the metrics hooks of the controller's work queue, or nil for none.
	Queue(controller string) *workqueue.Metrics
	// Reconciles returns the metrics hooks of the reconciles of all controllers.
	Reconciles() controller.Metrics
	// Controller receives the controller's work queue for inspection.
	Controller(controller string, q controller.QueueView)
	// InformerSet receives the manager's informers, once, from New.
	InformerSet(s *informers.Set)
}

// Manager is a set of runnables that share one connection. Runnables may be added before and during Run.
type Manager struct {
	conn client.Conn
	set  *informers.Set
	opts Options
	// elector is the one of Options.Lease, nil without; err is why it could not be made, and that of Run.
	elector *leaderelection.Elector
	err     error
	log     *slog.Logger
	causes  *causes  // of warnings in log
	parent  *Manager // of a Manager returned by As or Under

	all, led, events *group // all: the runnables without leader election

	mu        sync.Mutex
	recorders map[string]*events.Recorder // by component
}

// New returns a manager for conn.
func New(conn client.Conn, opts Options) *Manager {
	if opts.Logger == nil {
		opts.Logger = slog.New(warnings{})
	}
	limited := newRepeats(opts.Logger.Handler())
	opts.Logger = slog.New(limited)
	if opts.Grace == 0 {
		opts.Grace = DefaultGrace
	}
	if opts.StopTimeout == 0 {
		opts.StopTimeout = DefaultStopTimeout
	}
	if opts.Informers.Logger == nil {
		opts.Informers.Logger = opts.Logger
	}
	set := informers.NewSet(conn, opts.Informers)
	if opts.Monitor != nil {
		opts.Monitor.InformerSet(set)
	}
	m := &Manager{
		conn: set.Conn(), set: set, opts: opts, log: opts.Logger, causes: limited.seen, all: &group{}, led: &group{}, events: &group{}, recorders: map[string]*events.Recorder{},
	}
	if opts.Lease.Name != "" {
		m.elect()
	} else if opts.Candidate != nil {
		m.err = errors.New("manager: Options.Candidate needs a Lease")
	}
	if len(m.namespaces()) > 0 {
		m.AddWithoutLeaderElection("namespaces", Func(m.checkNamespaces))
	}
	return m
}

// As returns a view of m for controllers that act as the user of conn. It shares the informers and runnables
// of m, but writes and records events through conn. What is added to it runs with m; its own Run fails.
func (m *Manager) As(conn client.Conn) *Manager {
	return &Manager{
		conn: m.set.Observe(conn), set: m.set, opts: m.opts, log: m.log, causes: m.causes, parent: m, all: m.all, led: m.led, events: m.events,
		recorders: map[string]*events.Recorder{},
	}
}

// Under returns a view of m for runnables that need a second leadership, for example controllers that another
// program has run so far, under a lease of both. It shares the informers and connection of m. What is added
// to it with Add runs while m leads and elector leads too; elector takes part in its election once m leads,
// so that no replica has only the second. As with the election of m, its loss or failure stops m. name
// appears in errors. The view's own Run fails.
func (m *Manager) Under(name string, elector Elector) *Manager {
	view := m.As(m.conn)
	view.conn, view.led = m.conn, &group{}
	m.led.add(&member{name: name, r: Func(func(ctx context.Context) error {
		stopping, stop := context.WithCancel(ctx)
		defer stop()
		r := &run{Manager: view, stop: stop}
		r.lead(stopping, elector, grace.Later(ctx))
		return r.err()
	})})
	return view
}

// LeaderElector returns the elector that the manager has made for Options.Lease, for health checks, or nil.
func (m *Manager) LeaderElector() *leaderelection.Elector { return m.elector }

// Conn returns the connection for controllers. Writes through it are immediately visible in the listers of
// Informers.
func (m *Manager) Conn() client.Conn { return m.conn }

// Informers returns the shared informers, which the manager runs.
func (m *Manager) Informers() *informers.Set { return m.set }

// Monitor returns Options.Monitor.
func (m *Manager) Monitor() Monitor { return m.opts.Monitor }

// Wrap returns Options.Wrap, which may be nil.
func (m *Manager) Wrap() func(ctx context.Context, run *reconcile.Run, next func(context.Context) (reconcile.Result, error)) (reconcile.Result, error) {
	return m.opts.Wrap
}

// Configure returns Options.Configure, which may be nil.
func (m *Manager) Configure() func(controller string, opts controller.Options) controller.Options {
	return m.opts.Configure
}

// OnEvent returns Options.OnEvent, which may be nil.
func (m *Manager) OnEvent() func(controller string, req any, e Event) {
	return m.opts.OnEvent
}

// Logger returns a logger to Options.Logger or its default, which limits warnings as that says. It is never
// nil.
func (m *Manager) Logger() *slog.Logger { return m.log }

// Recorder returns the event recorder of a component, which the manager runs. Calls with the same name return
// the same recorder.
func (m *Manager) Recorder(component string) *events.Recorder {
	m.mu.Lock()
	r, ok := m.recorders[component]
	if !ok {
		r = events.New(m.conn, events.Options{Component: component, Logger: m.log})
		m.recorders[component] = r
	}
	m.mu.Unlock()
	if !ok {
		m.AddWithoutLeaderElection(component+" events", r)
	}
	return r
}

// Add adds a runnable that runs while the manager leads, such as a controller. name appears in errors. Unless
// r is a Waiter, it runs after every informer of the manager has synced or its resource was found not to be
// served.
func (m *Manager) Add(name string, r Runnable) {
	wait := m.set.WaitForSyncOrAbsent
	if w, ok := r.(Waiter); ok {
		wait = w.Wait
	}
	m.led.add(&member{name: name, r: r, wait: wait})
}

// Remove stops the runnables with that name that were added with Add or AddWithoutLeaderElection, and waits
// until they have returned or ctx ends, whose error it then returns. Reconciles in progress are not canceled.
// It reports whether there were any. The informers that only a removed controller used stop with it. A
// runnable must not remove itself.
func (m *Manager) Remove(ctx context.Context, name string) (bool, error) {
	led, err := m.led.stop(ctx, name)
	all, err2 := m.all.stop(ctx, name)
	return led || all, errors.Join(err, err2)
}

// Has reports whether a runnable with that name was added with Add and has not returned. Controllers of which
// a manager must have only one use it to avoid adding themselves twice.
func (m *Manager) Has(name string) bool { return m.led.has(name) }

// AddWithoutLeaderElection adds a runnable that runs on every replica, leader or not. Unless r is a Waiter,
// it does not wait for informers. Event recorders are stopped after the other runnables, so that they write
// the last events of those.
func (m *Manager) AddWithoutLeaderElection(name string, r Runnable) {
	g := m.all
	if _, ok := r.(*events.Recorder); ok {
		g = m.events
	}
	n := &member{name: name, r: r}
	if w, ok := r.(Waiter); ok {
		n.wait = w.Wait
	}
	g.add(n)
}
