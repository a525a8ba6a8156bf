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

// HandlerOptions tune a handler.
type HandlerOptions struct {
	// Name for metrics and errors.
	Name string
	// Resync repeats every object as an Updated with Resync set, every so often; 0 never.
	Resync time.Duration
	// MaxBacklog is how many objects' changes may wait for the handler once it is Synced, 0 for any number. A
	// handler that exceeds it is reported as a *SlowHandlerError to OnError and by Metrics.Slow: once, and
	// again only after its backlog has been down to half. What Resync repeats counts too.
	MaxBacklog int
	// Undecodable, if not nil, is called in place of the handler with changes to states that cannot be
	// decoded.
	Undecodable func(Undecodable)
	// EndSlow ends a handler that exceeds MaxBacklog, as Remove does, and what waits for it is dropped.
	EndSlow bool
}

// Registration is a handler of an informer.
type Registration struct {
	remove func()
	synced chan struct{}
	done   chan struct{}
	depth  func() (int, time.Duration)
	slow   atomic.Pointer[SlowHandlerError] // that ended it
}

// HasSynced reports whether the handler has been told of everything that was there at first.
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

// Remove ends the handler: after the call under way, if any, it is not called again. It does not wait; see
// Done.
func (r *Registration) Remove() { r.remove() }

// Done is closed when the handler will not be called any more and its goroutine, if it ever ran, is ending.
func (r *Registration) Done() <-chan struct{} { return r.done }

// Err is nil, or the *SlowHandlerError that ended the handler; see HandlerOptions.EndSlow.
func (r *Registration) Err() error {
	if err := r.slow.Load(); err != nil {
		return err
	}
	return nil
}

// Backlog returns how many objects have changes the handler is yet to be told, the one it is being told
// included, and for how long there have always been some.
func (r *Registration) Backlog() (objects int, behind time.Duration) { return r.depth() }

// SlowHandlerError reports a handler that does not keep up with the changes.
type SlowHandlerError struct {
	// Resource and Handler name it.
	Resource, Handler string
	// Backlog is how many objects' changes it had yet to be told, Behind for how long there have always been
	// some.
	Backlog int
	Behind  time.Duration
	// Ended says that it is called no more.
	Ended bool
}

// Error names the handler and says how far it is behind.
func (e *SlowHandlerError) Error() string {
	what := "is slow"
	if e.Ended {
		what = "was ended"
	}
	return fmt.Sprintf("informers: handler %q of %s %s: changes of %d objects wait, it has been behind for %v", e.Handler, e.Resource, what, e.Backlog, e.Behind)
}

// PanicError reports a panic in a handler or an index function.
type PanicError struct {
	// Where names the handler or index.
	Where string
	// Value is what was given to panic.
	Value any
	// Stack of the goroutine.
	Stack []byte
}

// Error gives the place and the value.
func (e *PanicError) Error() string {
	return fmt.Sprintf("informers: panic in %s: %v", e.Where, e.Value)
}

// registration is the other side of a Registration.
type registration[T metav1.Object] struct {
	Registration
	core     *core[T]
	handler  Handler[T]
	o        HandlerOptions
	q        *queue[T]
	ended    atomic.Bool
	stop     chan struct{}
	once     sync.Once
	reported atomic.Bool // its slowness has been reported
	started  bool        // guarded by core.mu
	// known are the states the handler knows of objects whose later states cannot be decoded, nil for none.
	// Only run uses it.
	known map[types.NamespacedName]*object[T]
}

func newRegistration[T metav1.Object](c *core[T], h Handler[T], o HandlerOptions) *registration[T] {
	r := &registration[T]{core: c, handler: h, o: o, q: newQueue[T](), stop: make(chan struct{})}
	r.synced, r.done = make(chan struct{}), make(chan struct{})
	r.depth = r.q.depth
	r.remove = func() {
		r.once.Do(func() {
			r.ended.Store(true)
			close(r.stop)
			started := c.forget(r)
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
	if r.o.Resync > 0 {
		t := time.NewTicker(r.o.Resync)
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

// signal wakes the handler and sees whether it keeps up. It is called without locks.
func (r *registration[T]) signal() {
	r.q.signal()
	if r.o.MaxBacklog > 0 && r.HasSynced() {
		r.measure()
	}
}

// measure reports and perhaps ends a handler that is behind too far.
func (r *registration[T]) measure() {
	n, behind := r.q.depth()
	if n <= r.o.MaxBacklog {
		if n <= r.o.MaxBacklog/2 {
			r.reported.Store(false)
		}
		return
	}
	if r.ended.Load() || !r.reported.CompareAndSwap(false, true) {
		return
	}
	err := &SlowHandlerError{Resource: r.core.name(), Handler: r.o.Name, Backlog: n, Behind: behind, Ended: r.o.EndSlow}
	if err.Ended {
		r.slow.Store(err)
		r.remove()
	}
	if f := r.core.set.o.Metrics.Slow; f != nil {
		f(err.Resource, err.Handler, n)
	}
	r.core.fail(err)
}

// notify gives a change to the handler. A state that cannot be decoded is left out: the handler goes on knowing
// the last one that could, which is in r.known as long as it differs from what the queue takes the handler to
// know.
func (r *registration[T]) deliver(c *change[T]) {
	if c.mark {
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
	was, unknown := c.known, c.unknown
	if known, ok := r.known[c.key]; ok {
		was = known
		delete(r.known, c.key)
	}
	final := c.deleted
	if was == nil {
		// No state of it could be decoded: the handler has never heard of it.
		r.undecodable(Deleted, final, nil, false)
		return
	}
	obj, ok := r.decoded(final)
	if !ok {
		final, unknown = was, true
		if obj, ok = r.decoded(was); !ok {
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

// undecodable reports a change to a state that cannot be decoded to the one who wants to know.
func (r *registration[T]) undecodable(typ EventType, o, before *object[T], initial bool) {
	if r.o.Undecodable == nil {
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
	r.o.Undecodable(u)
}

// recovered reports a panic of the handler. It is deferred.
func (r *registration[T]) recovered(key types.NamespacedName) {
	if v := recover(); v != nil {
		r.core.fail(&PanicError{Where: fmt.Sprintf("handler %q of %s for %s", r.o.Name, r.core.name(), key), Value: v, Stack: debug.Stack()})
	}
}

// decoded returns the decoded form of a state, which stays in memory while the result is referenced, and
// reports one that has none.
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
	if r.core.set.o.Metrics.Handled != nil {
		start = time.Now()
	}
	defer func() {
		if !start.IsZero() {
			r.core.set.o.Metrics.Handled(r.core.name(), r.o.Name, ev.Type, time.Since(start))
		}
		r.core.checkMutation(ev.old)
		r.core.checkMutation(ev.new)
	}()
	defer r.recovered(ev.Key)
	r.handler(ev)
}
