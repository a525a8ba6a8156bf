package informers

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// HandlerOptions configure a handler.
type HandlerOptions struct {
	// Name for metrics and errors.
	Name string
	// Resync is how often every object is repeated as an Updated event with Resync set; 0 means never.
	Resync time.Duration
	// MaxBacklog is the number of objects whose changes may wait for the handler once it has synced; 0 means
	// no limit. A handler that exceeds it is reported as a *SlowHandlerError to OnError and by Metrics.Slow:
	// once, and again only after its backlog has fallen to half. Repeated objects of Resync count too.
	MaxBacklog int
	// Undecodable, if not nil, is called in place of the handler with changes to states that cannot be
	// decoded.
	Undecodable func(Undecodable)
	// Missed, if not nil, is called between two calls of the handler after states were merged that readers
	// have got, because too many waited; see "Slow handlers" in the package comment.
	Missed func()
	// EndSlow removes a handler that exceeds MaxBacklog, as Remove does, and drops its waiting changes.
	EndSlow bool
}

// Registration is a handler of an informer.
type Registration struct {
	remove func()
	resync func()
	synced chan struct{}
	done   chan struct{}
	depth  func() (int, time.Duration)
	slow   atomic.Pointer[SlowHandlerError] // for which it was removed
}

// HasSynced reports whether the handler has been called with all initial objects.
func (r *Registration) HasSynced() bool {
	select {
	case <-r.synced:
		return true
	default:
		return false
	}
}

// Synced is closed when HasSynced becomes true.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Remove removes the handler: it is not called again, but a call in progress continues. Remove does not wait;
// see Done.
func (r *Registration) Remove() { r.remove() }

// Resync repeats every object to the handler as an Updated event with Resync set, once, as
// HandlerOptions.Resync does again and again. It does not wait.
func (r *Registration) Resync() { r.resync() }

// Done is closed when the last call of the handler has returned.
func (r *Registration) Done() <-chan struct{} { return r.done }

// Err returns the *SlowHandlerError for which the handler was removed, or nil; see HandlerOptions.EndSlow.
func (r *Registration) Err() error {
	if err := r.slow.Load(); err != nil {
		return err
	}
	return nil
}

// Backlog returns the number of objects whose changes wait for the handler, including the one being
// delivered, and for how long the backlog has been non-empty.
func (r *Registration) Backlog() (objects int, behind time.Duration) { return r.depth() }

// SlowHandlerError reports a handler that does not keep up with the changes.
type SlowHandlerError struct {
	// Resource and Handler name it.
	Resource, Handler string
	// Backlog is the number of objects whose changes wait, Behind for how long the backlog has been
	// non-empty.
	Backlog int
	Behind  time.Duration
	// Ended is true if the handler was removed.
	Ended bool
}

// Error names the handler and says how far it is behind.
func (e *SlowHandlerError) Error() string {
	what := "is slow"
	if e.Ended {
		what = "was removed"
	}
	return fmt.Sprintf("informers: handler %q of %s %s: the changes of %d objects wait, backlog non-empty for %v", e.Handler, e.Resource, what, e.Backlog, e.Behind)
}

// PanicError reports a panic in a handler or an index function.
type PanicError struct {
	// Where names the handler or index.
	Where string
	// Value is the argument of panic.
	Value any
	// Stack of the goroutine.
	Stack []byte
}

// Error names the handler or index and the value.
func (e *PanicError) Error() string {
	return fmt.Sprintf("informers: panic in %s: %v", e.Where, e.Value)
}

// registration is the typed implementation of a Registration.
type registration[T metav1.Object] struct {
	Registration
	core     *core[T]
	handler  Handler[T]
	opts     HandlerOptions
	q        *queue[T]
	ended    atomic.Bool
	stop     chan struct{}
	once     sync.Once
	reported atomic.Bool // its slowness has been reported
	started  bool        // guarded by core.mu
	// known holds the states the handler has seen last of objects whose later states cannot be decoded, nil
	// if it has seen none. Only run uses it.
	known map[types.NamespacedName]*object[T]
}

func newRegistration[T metav1.Object](c *core[T], h Handler[T], opts HandlerOptions) *registration[T] {
	r := &registration[T]{core: c, handler: h, opts: opts, q: newQueue[T](), stop: make(chan struct{})}
	r.synced, r.done = make(chan struct{}), make(chan struct{})
	r.depth = r.q.depth
	r.resync = func() {
		if !r.ended.Load() {
			c.resync(r)
		}
	}
	r.remove = func() {
		r.once.Do(func() {
			r.ended.Store(true)
			close(r.stop)
			started := c.remove(r)
			r.q.drop()
			if !started {
				close(r.done)
			}
		})
	}
	return r
}

// run calls the handler until ctx ends or the registration is removed.
func (r *registration[T]) run(ctx context.Context) {
	defer close(r.done)
	var resync <-chan time.Time
	if r.opts.Resync > 0 {
		t := time.NewTicker(r.opts.Resync)
		defer t.Stop()
		resync = t.C
	}
	for {
		for {
			if r.ended.Load() || ctx.Err() != nil {
				return
			}
			c, ok := r.q.take()
			if !ok {
				break
			}
			r.deliver(&c)
		}
		select {
		case <-r.q.wake:
		case <-resync:
			r.core.resync(r)
		case <-r.stop:
			return
		case <-ctx.Done():
			return
		}
	}
}

// signal wakes the handler and checks its backlog. It is called without locks.
func (r *registration[T]) signal() {
	r.q.signal()
	if r.opts.MaxBacklog > 0 && r.HasSynced() {
		r.measure()
	}
}

// measure reports, and with EndSlow removes, a handler whose backlog is too large.
func (r *registration[T]) measure() {
	n, behind := r.q.depth()
	if n <= r.opts.MaxBacklog {
		if n <= r.opts.MaxBacklog/2 {
			r.reported.Store(false)
		}
		return
	}
	if r.ended.Load() || !r.reported.CompareAndSwap(false, true) {
		return
	}
	err := &SlowHandlerError{Resource: r.core.name(), Handler: r.opts.Name, Backlog: n, Behind: behind, Ended: r.opts.EndSlow}
	if err.Ended {
		r.slow.Store(err)
		r.remove()
	}
	if f := r.core.set.opts.Metrics.Slow; f != nil {
		f(err.Resource, err.Handler, n)
	}
	r.core.fail(err)
}

// deliver calls the handler with a change. A state that cannot be decoded is skipped: for the handler the
// object keeps the last one that could, which is in r.known while it differs from the state that the queue
// assumes the handler has seen.
func (r *registration[T]) deliver(c *change[T]) {
	switch {
	case c.gap:
		if r.opts.Missed != nil {
			r.opts.Missed()
		}
		return
	case c.mark:
		close(r.synced)
		return
	}
	if c.deleted != nil {
		r.deliverDeleted(c)
	}
	if c.now != nil && !r.ended.Load() {
		r.deliverState(c)
	}
}

func (r *registration[T]) deliverDeleted(c *change[T]) {
	known, unknown := c.known, c.unknown
	if k, ok := r.known[c.key]; ok {
		known = k
		delete(r.known, c.key)
	}
	final := c.deleted
	if known == nil {
		// No state of it could be decoded: the handler has not seen it.
		r.undecodable(Deleted, final, nil, false)
		return
	}
	obj, ok := r.decoded(final)
	if !ok {
		final, unknown = known, true
		if obj, ok = r.decoded(known); !ok {
			return
		}
	}
	ev := event(Deleted, final, r.core)
	ev.old, ev.before, ev.StateUnknown = final, c.deleted, unknown
	r.call(ev)
	runtime.KeepAlive(obj)
}

func (r *registration[T]) deliverState(c *change[T]) {
	before, now := c.before, c.now
	known, differs := r.known[c.key]
	if differs {
		before = known
	}
	obj, ok := r.decoded(now)
	typ := Updated
	if !ok {
		if c.before == nil {
			typ = Added
		}
		r.undecodable(typ, now, c.before, c.initial)
		if !differs {
			if r.known == nil {
				r.known = map[types.NamespacedName]*object[T]{}
			}
			// A copy, because the entry outlives the object.
			r.known[types.NamespacedName{Namespace: strings.Clone(c.key.Namespace), Name: strings.Clone(c.key.Name)}] = before
		}
		return
	}
	delete(r.known, c.key)
	if before == nil {
		typ = Added
	}
	ev := event(typ, now, r.core)
	ev.old, ev.before, ev.new, ev.Initial, ev.Resync = before, c.before, now, c.initial && typ == Added, c.resync
	r.call(ev)
	runtime.KeepAlive(obj)
}

// undecodable calls HandlerOptions.Undecodable, if set, with a change to a state that cannot be decoded.
func (r *registration[T]) undecodable(typ EventType, o, before *object[T], initial bool) {
	if r.opts.Undecodable == nil {
		return
	}
	_, err := r.core.shared(o)
	u := Undecodable{Type: typ, Key: o.key, UID: o.uid, Labels: o.labelMap(), ResourceVersion: o.version, Initial: initial && typ == Added, Err: err}
	for _, of := range []*object[T]{o, before} {
		if of == nil {
			continue
		}
		ref, ok := r.core.controller(of)
		if ok && !slices.ContainsFunc(u.Owners, func(have metav1.OwnerReference) bool { return have.UID == ref.UID }) {
			u.Owners = append(u.Owners, ref)
		}
	}
	defer r.recovered(o.key)
	r.opts.Undecodable(u)
}

// recovered reports a panic of the handler. It is deferred.
func (r *registration[T]) recovered(key types.NamespacedName) {
	if v := recover(); v != nil {
		r.core.fail(&PanicError{Where: fmt.Sprintf("handler %q of %s for %s", r.opts.Name, r.core.name(), key), Value: v, Stack: debug.Stack()})
	}
}

// decoded returns the decoded form of a state, which stays in memory while the result is referenced. A
// decoding error is reported.
func (r *registration[T]) decoded(o *object[T]) (T, bool) {
	obj, err := r.core.shared(o)
	if err != nil {
		r.core.failedToDecode(o, err)
	}
	return obj, err == nil
}

func event[T metav1.Object](typ EventType, o *object[T], c *core[T]) Event[T] {
	return Event[T]{
		Type: typ, Key: o.key, UID: o.uid, Labels: o.labelMap(), Generation: o.generation,
		ResourceVersion: o.version, Terminating: o.terminating, core: c,
	}
}

func (r *registration[T]) call(ev Event[T]) {
	start := time.Time{}
	if r.core.set.opts.Metrics.Handled != nil {
		start = time.Now()
	}
	defer func() {
		if !start.IsZero() {
			r.core.set.opts.Metrics.Handled(r.core.name(), r.opts.Name, ev.Type, time.Since(start))
		}
		r.core.checkMutation(ev.old)
		r.core.checkMutation(ev.new)
	}()
	defer r.recovered(ev.Key)
	r.handler(ev)
}
