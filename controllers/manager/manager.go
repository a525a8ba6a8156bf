// Package manager runs the parts of one program against one API server: shared informers, what runs on
// every replica, and what runs on the leader only.
//
// [Manager.Run] starts informers, then the runnables of all replicas (webhook, health and metrics servers),
// then leader election and, while leading, the led runnables. A led runnable waits for the informers: a
// controller for its sources (see controllers.Add), any other for all. One whose resource is not served,
// because its CustomResourceDefinition is not installed, holds up nothing, and works as soon as it is.
//
// When Run's context ends, or a runnable fails, all is stopped in the reverse order, each part when the one
// before it has returned: the led runnables, and with them the lease is released; the runnables of all
// replicas; the recorders of events; the informers. So the last events are written, and an operator's own
// webhook answers while its reconcilers make their last writes. Options.Grace and Options.StopTimeout bound
// the time. When leadership is lost, the contexts of the led runnables and of their reconciles end at once.
package manager

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/workqueue"
)

// Runnable is anything with a life. Run blocks until ctx ends and all it started has returned; an
// error while ctx is live stops the whole manager.
type Runnable interface {
	Run(ctx context.Context) error
}

// Waiter is a Runnable that says itself what it waits for before it runs. An error of Wait while ctx is live
// stops the whole manager.
type Waiter interface {
	Runnable
	Wait(ctx context.Context) error
}

// Func adapts a function to Runnable.
type Func func(ctx context.Context) error

// Run calls f.
func (f Func) Run(ctx context.Context) error { return f(ctx) }

// Elector holds leadership while it runs lead; *leaderelection.Elector is one. Run returns when ctx
// ends or leadership is lost, after lead has returned.
type Elector interface {
	Run(ctx context.Context, lead func(ctx context.Context) error) error
}

// Defaults of Options.
const (
	DefaultGrace       = 10 * time.Second
	DefaultStopTimeout = 25 * time.Second
)

// Options of a Manager; the zero value runs everything at once without leader election.
type Options struct {
	// Elector decides when the led runnables run; nil runs them at once.
	Elector Elector
	// Informers configures the shared informers. Without a Logger and OnError of its own their failures go to
	// Logger.
	Informers informers.SetOptions
	// Logger gets what controllers and informers log, such as a missing right. Nil logs warnings and errors
	// to slog.Default(); a logger of slog.DiscardHandler logs nothing.
	Logger *slog.Logger
	// Grace is how long reconciles under way may go on after the end of Run's context before their own
	// contexts end. 0 means 10 s; negative ends them at once.
	Grace time.Duration
	// StopTimeout is how long everything may take to return after the end of Run's context. What has not
	// returned by then is left behind: Run stops the rest, which may take it 5 s more, and returns
	// ErrNotDrained with the names. 0 means 25 s, so that it is over before a pod is killed; negative means
	// no limit.
	StopTimeout time.Duration
	// Monitor, if not nil, is told of every controller that is added; package controllers/metrics has one.
	Monitor Monitor
	// Wrap, if not nil, is given the reconciler of every controller that is added and returns the one to run:
	// for traces, or to change the context of all reconciles. reconcile.FromContext names the run.
	Wrap func(controller string, r reconcile.Reconciler) reconcile.Reconciler
}

// Monitor watches over the work of a manager's controllers, for metrics and debug views. Calls come from one
// goroutine at a time for each controller, before it runs.
type Monitor interface {
	// Queue returns what is to be told about the work queue of a controller of that name; nil is nothing.
	Queue(controller string) *workqueue.Metrics
	// Reconciles returns what is to be told about the reconciles of all controllers; nil is nothing.
	Reconciles() *controller.Metrics
	// Controller is given the queue to look into.
	Controller(controller string, q *workqueue.Queue[types.NamespacedName])
}

// Manager is a set of runnables around one connection. Add may be called before and during Run.
type Manager struct {
	conn client.Conn
	set  *informers.Set
	opts Options
	log  *slog.Logger
	of   *Manager // the one that is to be run, if this one is not

	all, led, events *group

	mu        sync.Mutex
	recorders map[string]*events.Recorder // by component
}

// New makes a manager for conn.
func New(conn client.Conn, o Options) *Manager {
	if o.Logger == nil {
		o.Logger = slog.New(warnings{})
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = DefaultStopTimeout
	}
	if o.Informers.Logger == nil {
		o.Informers.Logger = o.Logger
	}
	set := informers.NewSet(conn, o.Informers)
	return &Manager{
		conn: set.Conn(), set: set, opts: o, log: o.Logger, all: &group{}, led: &group{}, events: &group{}, recorders: map[string]*events.Recorder{},
	}
}

// As returns m for controllers that act as another user, the one of conn: the same informers and the same
// life, but [Manager.Conn] and the events are conn's. Only m itself is to be run: Run of what As returns
// fails.
func (m *Manager) As(conn client.Conn) *Manager {
	return &Manager{
		conn: m.set.Observe(conn), set: m.set, opts: m.opts, log: m.log, of: m, all: m.all, led: m.led, events: m.events,
		recorders: map[string]*events.Recorder{},
	}
}

// Conn is the connection controllers use. What is written through it is visible at once in the listers of
// Informers.
func (m *Manager) Conn() client.Conn { return m.conn }

// Informers are the shared informers; the manager runs them.
func (m *Manager) Informers() *informers.Set { return m.set }

// Monitor is that of the options, nil if there is none.
func (m *Manager) Monitor() Monitor { return m.opts.Monitor }

// Wrap returns r as Options.Wrap has it.
func (m *Manager) Wrap(controller string, r reconcile.Reconciler) reconcile.Reconciler {
	if m.opts.Wrap == nil {
		return r
	}
	return m.opts.Wrap(controller, r)
}

// Logger returns the one of the options, or what stands in for it; never nil.
func (m *Manager) Logger() *slog.Logger { return m.log }

// Recorder returns a recorder of events for a component, which the manager runs. Calls with one name share
// one.
func (m *Manager) Recorder(component string) *events.Recorder {
	m.mu.Lock()
	r, ok := m.recorders[component]
	if !ok {
		r = events.New(m.conn, events.Options{Component: component, Logger: m.log})
		m.recorders[component] = r
	}
	m.mu.Unlock()
	if !ok {
		m.AddAlways(component+" events", r)
	}
	return r
}

// Add registers a runnable that needs leadership, such as a controller. name appears in errors. It runs when
// all informers of the manager have synced or are found not to be served, unless it is a Waiter.
func (m *Manager) Add(name string, r Runnable) {
	wait := m.set.WaitForSyncOrAbsent
	if w, ok := r.(Waiter); ok {
		wait = w.Wait
	}
	m.led.add(&member{name: name, r: r, wait: wait})
}

// Has reports whether a runnable of that name is registered with Add, so that what a manager can have only
// once is not added twice.
func (m *Manager) Has(name string) bool { return m.led.has(name) }

// AddAlways registers a runnable that runs on every replica, leader or not. It waits for nothing, unless it
// is a Waiter. A recorder of events is stopped after the others, so that it writes what they record last.
func (m *Manager) AddAlways(name string, r Runnable) {
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
