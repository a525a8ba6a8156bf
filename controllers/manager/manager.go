// Package manager runs the parts of one program against one API server: shared informers, what runs on
// every replica, and what runs on the leader only.
//
// [Manager.Run] starts in this order and stops in the reverse one: informers; runnables of all
// replicas (webhook and metrics servers); leader election; and, while leading, the led runnables,
// after the informers have synced; one whose resource is not served, because its CustomResourceDefinition is not installed, holds up
// nobody, and works as soon as it is. Run returns when everything it started has returned. The lease is
// released only after the led runnables have returned.
package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/workqueue"
)

// Runnable is anything with a life. Run blocks until ctx ends and all it started has returned; an
// error while ctx is live stops the whole manager.
type Runnable interface {
	Run(ctx context.Context) error
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

// Options of a Manager; the zero value runs everything at once without leader election.
type Options struct {
	// Elector decides when the led runnables run; nil runs them at once.
	Elector Elector
	// Informers configures the shared informers. Without a Logger and OnError of its own their failures go to Logger.
	Informers informers.SetOptions
	// Logger is handed to controllers, and told what keeps informers from their work, such as a missing right; nil discards.
	Logger *slog.Logger
	// Monitor, if not nil, is told of every controller that is added; package controllers/metrics has one.
	Monitor Monitor
}

// Monitor watches over the work of a manager's controllers, for metrics and debug views. Calls come from one goroutine at a time for each
// controller, before it runs.
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

	all, led *group

	mu        sync.Mutex
	recorders map[string]*events.Recorder // by component
}

// New makes a manager for conn.
func New(conn client.Conn, o Options) *Manager {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Informers.Logger == nil {
		o.Informers.Logger = o.Logger
	}
	set := informers.NewSet(conn, o.Informers)
	return &Manager{conn: set.Conn(), set: set, opts: o, log: o.Logger, all: &group{}, led: &group{}, recorders: map[string]*events.Recorder{}}
}

// As returns m for controllers that act as another user, the one of conn: the same informers and the same life, but
// [Manager.Conn] and the events are conn's. Only m itself is to be run.
func (m *Manager) As(conn client.Conn) *Manager {
	return &Manager{conn: m.set.Through(conn), set: m.set, opts: m.opts, log: m.log, all: m.all, led: m.led, recorders: map[string]*events.Recorder{}}
}

// Conn is the connection controllers use. What is written through it is visible at once in the listers of Informers.
func (m *Manager) Conn() client.Conn { return m.conn }

// Informers are the shared informers; the manager runs them.
func (m *Manager) Informers() *informers.Set { return m.set }

// Monitor is that of the options, nil if there is none.
func (m *Manager) Monitor() Monitor { return m.opts.Monitor }

// Logger is never nil.
func (m *Manager) Logger() *slog.Logger { return m.log }

// Recorder returns a recorder of events for a component, which the manager runs. Calls with one name share one.
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

// Add registers a runnable that needs leadership, such as a controller. name appears in errors.
func (m *Manager) Add(name string, r Runnable) { m.led.add(name, r) }

// AddAlways registers a runnable that runs on every replica, leader or not.
func (m *Manager) AddAlways(name string, r Runnable) { m.all.add(name, r) }

// Run runs everything until ctx ends or something fails, and returns the failure, or nil.
func (m *Manager) Run(ctx context.Context) error {
	// The informers outlive what reads them: their context ends last.
	setCtx, stopSet := context.WithCancel(context.WithoutCancel(ctx))
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	setDone := make(chan error, 1)
	go func() {
		err := m.set.Run(setCtx)
		if err != nil {
			fail(fmt.Errorf("manager: informers: %w", err))
		}
		setDone <- err
	}()

	var wg sync.WaitGroup
	run := func(f func(context.Context) error) {
		wg.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				fail(err)
			}
		})
	}
	run(m.all.run)
	run(func(ctx context.Context) error {
		lead := func(ctx context.Context) error {
			if err := m.set.WaitForServed(ctx); err != nil {
				return err
			}
			return m.led.run(ctx)
		}
		if m.opts.Elector == nil {
			return lead(ctx)
		}
		if err := m.opts.Elector.Run(ctx, lead); err != nil {
			return fmt.Errorf("manager: leader election: %w", err)
		}
		if ctx.Err() == nil {
			return errors.New("manager: leadership was lost")
		}
		return nil
	})
	wg.Wait()
	stopSet()
	<-setDone
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// group is a growing set of runnables that may be added before or while it runs.
type group struct {
	mu      sync.Mutex
	members []member
	// started is how the running group learns of later members; nil when it does not run.
	started func(member)
}

type member struct {
	name string
	r    Runnable
}

func (g *group) add(name string, r Runnable) {
	g.mu.Lock()
	m := member{name, r}
	g.members = append(g.members, m)
	start := g.started
	g.mu.Unlock()
	if start != nil {
		start(m)
	}
}

// run runs all members until ctx ends or one fails. A member that returns nil early is done.
func (g *group) run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var wg sync.WaitGroup
	var closing sync.Mutex // a member added while the group ends is not started
	ended := false
	start := func(m member) {
		closing.Lock()
		defer closing.Unlock()
		if ended {
			return
		}
		wg.Go(func() {
			if err := m.r.Run(ctx); err != nil && ctx.Err() == nil {
				fail(fmt.Errorf("%s: %w", m.name, err))
			}
		})
	}
	g.mu.Lock()
	for _, m := range g.members {
		start(m)
	}
	g.started = start
	g.mu.Unlock()
	<-ctx.Done()
	closing.Lock()
	ended = true
	closing.Unlock()
	g.mu.Lock()
	g.started = nil
	g.mu.Unlock()
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
