package informers

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// Informer holds a copy of one collection; see the package comment for what it promises.
type Informer[T metav1.Object] struct {
	core *core[T]
	id   identity
	// The rest is guarded by the set's mu.
	refs     int
	cancel   context.CancelFunc // nil before start
	released bool
}

// AddHandler adds a handler. It may be called at any time. The handler is called with every existing object
// as Added with Initial set, ordered by namespace and name or as the server lists them, then with changes. If
// T is not registered in the scheme it is never called.
func (i *Informer[T]) AddHandler(h Handler[T], opts HandlerOptions) *Registration {
	r := newRegistration(i.core, h, opts)
	i.core.add(r)
	return &r.Registration
}

// Index returns the index of a definition. It may be called at any time. The first call for a definition adds
// it, and returns when it contains every object the informer holds.
func (i *Informer[T]) Index(d *IndexDefinition[T]) Index[T] { return Index[T]{i.core, i.core.index(d)} }

// Lister returns the lister of the copy.
func (i *Informer[T]) Lister() Lister[T] { return Lister[T]{i.core} }

// HasSynced reports whether the copy has been complete.
func (i *Informer[T]) HasSynced() bool { return i.hasSynced() }

// WaitForSync waits until HasSynced. The error of ctx is wrapped with the last failure.
func (i *Informer[T]) WaitForSync(ctx context.Context) error {
	return i.core.set.waitAll(ctx, []member{i}, member.waitForSync)
}

// WaitForSyncOrAbsent waits until HasSynced, or until the server does not serve the resource (its
// CustomResourceDefinition is not installed). Then there are no objects, the empty copy is complete, and the
// informer keeps waiting for the resource. It is for programs to which the resource is optional.
func (i *Informer[T]) WaitForSyncOrAbsent(ctx context.Context) error {
	return i.core.set.waitAll(ctx, []member{i}, member.waitForSyncOrAbsent)
}

// Client returns a client for the informer's resource whose writes the informer shows at once.
func (i *Informer[T]) Client() *client.Client[T] { return i.core.client }

// Release releases the informer. After one call for each call of For that returned it, it stops and drops its
// copy, and its handlers are no longer called.
func (i *Informer[T]) Release() {
	s := i.core.set
	s.mu.Lock()
	i.refs--
	if i.refs > 0 || i.released {
		s.mu.Unlock()
		return
	}
	i.released = true
	if m, ok := s.informers[i.id]; ok && m == member(i) {
		delete(s.informers, i.id)
	}
	s.order = slices.DeleteFunc(slices.Clone(s.order), func(m member) bool { return m == member(i) })
	cancel := i.cancel
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	i.core.release()
}

// Status describes an informer at one moment.
type Status struct {
	// Synced is true once the copy has been complete.
	Synced bool
	// NotServed is true while the server does not serve the resource: its CustomResourceDefinition is
	// not installed, or the resource has another name. There are no Objects then.
	NotServed bool
	// Version the copy has reached; of several namespaces, that of the first.
	Version string
	// Silent is the time since the last event or bookmark; of several namespaces, the longest. It is the best
	// known bound on how stale the copy is.
	Silent time.Duration
	// Objects held and the Bytes of their encoded form.
	Objects int
	Bytes   int64
	// Overlay is the number of own writes that the watch has not delivered yet.
	Overlay int
	// LastError is the last failure since the last success.
	LastError error
}

// Status returns the informer's state, for metrics and health checks.
func (i *Informer[T]) Status() Status {
	c := i.core
	c.mu.RLock()
	defer c.mu.RUnlock()
	st := Status{Synced: c.synced, NotServed: c.absent, Objects: c.count, Bytes: c.bytes, Overlay: len(c.overlay.byKey), LastError: c.err}
	for n, s := range c.sources {
		if n == 0 {
			st.Version = s.version
		}
		if !s.at.IsZero() {
			st.Silent = max(st.Silent, time.Since(s.at))
		}
		if s.lastErr != nil {
			st.LastError = s.lastErr
		}
	}
	return st
}

func (i *Informer[T]) status() InformerStatus {
	opts, s := &i.core.opts, i.core.set
	s.mu.Lock()
	users := i.refs
	s.mu.Unlock()
	st := InformerStatus{
		Resource: i.core.name(), Type: typeName[T](), Namespaces: slices.Clone(opts.Namespaces), LabelSelector: opts.LabelSelector.String(),
		FieldSelector: opts.FieldSelector.String(), Transformed: opts.Transform != nil, Users: users, Status: i.Status(),
	}
	i.core.mu.RLock()
	handlers := i.core.handlers
	i.core.mu.RUnlock()
	for _, h := range handlers {
		n, behind := h.q.depth()
		st.Handlers = append(st.Handlers, HandlerStatus{Name: h.opts.Name, Backlog: n, Behind: behind})
	}
	return st
}

func (i *Informer[T]) resource() client.Resource             { return i.core.client.Resource() }
func (i *Informer[T]) creating() *atomic.Int64               { return &i.core.creating }
func (i *Informer[T]) ready() error                          { return i.core.ready() }
func (i *Informer[T]) catchUp(version string)                { i.core.catchUp(version) }
func (i *Informer[T]) waitForSync(ctx context.Context) error { return i.core.waitForSync(ctx) }
func (i *Informer[T]) waitForSyncOrAbsent(ctx context.Context) error {
	return i.core.waitForSyncOrAbsent(ctx)
}

func (i *Informer[T]) hasSynced() bool {
	i.core.mu.RLock()
	defer i.core.mu.RUnlock()
	return i.core.synced
}

// start starts the informer of a running set, until ctx ends or it is released.
func (i *Informer[T]) start(ctx context.Context) {
	s := i.core.set
	if i.core.err != nil {
		return
	}
	s.mu.Lock()
	if i.released || i.cancel != nil {
		s.mu.Unlock()
		return
	}
	ctx, i.cancel = context.WithCancel(ctx)
	s.mu.Unlock()
	i.core.start(func(f func(ctx context.Context)) { s.spawn(func() { f(ctx) }) })
}
