package informers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers/reflector"
)

// SetOptions tune a Set. The zero value is good.
type SetOptions struct {
	// Logger gets failures if OnError is nil; nil discards.
	Logger *slog.Logger
	// OnError is told of every failure an informer recovers from: a list or watch that failed, an object that
	// cannot be decoded, a panic (*PanicError), a changed shared object (*MutationError), a slow handler
	// (*SlowHandlerError), a copy that is wrong (*InconsistentError). Several goroutines may call it at once.
	OnError func(resource string, err error)
	// Decoded keeps every object decoded instead of encoded: several times the memory, for programs that read
	// everything all the time.
	Decoded bool
	// KeepManagedFields keeps metadata.managedFields, which are otherwise dropped on arrival.
	KeepManagedFields bool
	// NoOverlay shows own writes only when the watch has told them.
	NoOverlay bool
	// DetectMutations looks for changes to shared objects after each handler call and View, at the price of
	// encoding each object read twice. Meant for tests.
	DetectMutations bool
	// VerifyEvery compares every informer's copy with the server so often, as Informer.Verify does, and
	// reports an *InconsistentError with the keys that differ; 0 never. Each time costs a full list: meant
	// for tests and for the search of lost events.
	VerifyEvery time.Duration
	// NoWatchList uses list and watch from the start.
	NoWatchList bool
	// PageSize of lists, 0 means 2000.
	PageSize int64
	// Silence after which a watch counts as dead, 0 means what the server promises; see
	// client.EncodedWatchOptions.
	Silence time.Duration
	// Metrics are told what happens.
	Metrics Metrics
}

// Metrics are functions a set calls, several goroutines at once; each may be nil. They must not block.
type Metrics struct {
	// Event is called for each event of a watch.
	Event func(resource, typ string)
	// Read is called when a collection has been read whole, again is true but for the first time.
	Read func(resource string, again bool)
	// Failed is called for each failure, as OnError is.
	Failed func(resource string)
	// Handled is called after each call of a handler.
	Handled func(resource, handler string, typ EventType, took time.Duration)
	// Slow is called when a handler exceeds its MaxBacklog, with the number of objects whose changes wait.
	Slow func(resource, handler string, backlog int)
}

// Set is a group of informers over one connection. An informer is shared by all who ask for the same
// collection.
type Set struct {
	conn client.Conn
	o    SetOptions

	mu        sync.Mutex
	informers map[identity]member
	order     []member
	ctx       context.Context // of Run; nil before
	ended     bool
	wg        sync.WaitGroup
}

// identity tells collections apart.
type identity struct {
	resource           client.Resource
	typ                any
	namespaces, l, f   string
	decoded, transform bool
	share              string
}

// member is what a set needs of an informer.
type member interface {
	resource() client.Resource
	begin()
	waitForSync(ctx context.Context) error
	waitForSyncOrAbsent(ctx context.Context) error
	observe(w client.Write)
	hasSynced() bool
}

// NewSet returns an empty set over a connection.
func NewSet(c client.Conn, o SetOptions) *Set {
	s := &Set{o: o, informers: map[identity]member{}}
	s.conn = s.Observe(c)
	return s
}

// Conn returns the connection of the set. What is written through it is visible in the set's listers at once,
// with the exceptions that the package comment names.
func (s *Set) Conn() client.Conn { return s.conn }

// Through returns a connection that is like the set's, but writes (and reads) through c: that of another user
// of the same server.
func (s *Set) Observe(c client.Conn) client.Conn {
	if s.o.NoOverlay {
		return c
	}
	return client.Observe(c, s.observe)
}

// saw shows an own write to the informers of its resource.
func (s *Set) observe(w client.Write) {
	s.mu.Lock()
	list := s.order
	s.mu.Unlock()
	for _, m := range list {
		if m.resource().GVR == w.Resource {
			m.observe(w)
		}
	}
}

func (s *Set) fail(resource string, err error) {
	if s.o.Metrics.Failed != nil {
		s.o.Metrics.Failed(resource)
	}
	switch {
	case s.o.OnError != nil:
		s.o.OnError(resource, err)
	case s.o.Logger != nil:
		s.o.Logger.Warn("informer failure, going on", "resource", resource, "error", err)
	}
}

// Run runs every informer of the set, those added later too, until ctx ends and all its goroutines have
// returned. It returns nil. A set runs once.
func (s *Set) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.ctx != nil {
		s.mu.Unlock()
		return fmt.Errorf("informers: the set runs already")
	}
	s.ctx = ctx
	list := s.order
	s.mu.Unlock()
	for _, m := range list {
		m.begin()
	}
	<-ctx.Done()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}

// spawn runs f until it returns, if the set is running.
func (s *Set) spawn(ctx context.Context, f func(ctx context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil || s.ended {
		return false
	}
	s.wg.Go(func() { f(ctx) })
	return true
}

// running returns the context of Run, or nil.
func (s *Set) running() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	return s.ctx
}

// WaitForSync waits until every informer the set has now holds its whole collection. The error of ctx is
// wrapped with the name and the last failure of one that does not. An informer that cannot work fails it at
// once.
func (s *Set) WaitForSync(ctx context.Context) error { return s.wait(ctx, member.waitForSync) }

// WaitForSyncOrAbsent is WaitForSync for all but the informers whose resource the server does not serve; see
// [Informer.WaitForSyncOrAbsent].
func (s *Set) WaitForSyncOrAbsent(ctx context.Context) error {
	return s.wait(ctx, member.waitForSyncOrAbsent)
}

func (s *Set) wait(ctx context.Context, wait func(member, context.Context) error) error {
	s.mu.Lock()
	list := s.order
	s.mu.Unlock()
	for _, m := range list {
		if err := wait(m, ctx); err != nil {
			return err
		}
	}
	return nil
}

// Ready returns nil if every informer the set has now holds its whole collection or has found that it is not
// served, and otherwise an error that names one that does not, with its last failure. It does not wait; it is
// meant for readiness checks.
func (s *Set) Ready() error {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("not yet"))
	return s.WaitForSyncOrAbsent(ctx)
}

// HasSynced reports whether every informer the set has now holds its whole collection.
func (s *Set) HasSynced() bool {
	s.mu.Lock()
	list := s.order
	s.mu.Unlock()
	return !slices.ContainsFunc(list, func(m member) bool { return !m.hasSynced() })
}

// Options say what an informer holds. The zero value is every object of the resource.
type Options[T metav1.Object] struct {
	// Namespaces to hold, one watch each; none means all.
	Namespaces []string
	// LabelSelector and FieldSelector limit the collection on the server.
	LabelSelector labels.Selector
	FieldSelector fields.Selector
	// Transform may change each object before it is kept, to drop what is not needed. It must keep the name,
	// the namespace, the uid and the resourceVersion. An object for which it fails cannot be
	// decoded: see Lister and Handler.
	Transform func(T) error
	// Decoded is as in SetOptions, for this informer.
	Decoded bool
	// Share names a variant: informers with a Transform are shared only by those who give the same name.
	Share string
}

// For returns the informer for T as registered in the connection's scheme: the one the set has, or a new one,
// which runs at once if the set does. If T is not registered, waiting for its sync returns the error. Give it
// back with [Informer.Release] if the set is to outlive the need for it.
func For[T metav1.Object](s *Set, opts ...Options[T]) *Informer[T] {
	info, err := scheme.InfoFor[T](s.conn.Scheme())
	if err != nil {
		return newInformer(s, client.For[T](s.conn), firstOption(opts), err)
	}
	return get(s, client.Resource{GVR: info.GVR, GVK: info.GVK, Namespaced: info.Namespaced}, client.For[T](s.conn), firstOption(opts))
}

// ForResource is For with a resource that need not be in the scheme: T is then *metav1.Unstructured,
// *metav1.PartialObjectMetadata with Resource.Metadata set, or any type that decodes from it.
func ForResource[T metav1.Object](s *Set, r client.Resource, opts ...Options[T]) *Informer[T] {
	return get(s, r, client.ForResource[T](s.conn, r), firstOption(opts))
}

func firstOption[T metav1.Object](opts []Options[T]) Options[T] {
	switch len(opts) {
	case 0:
		return Options[T]{}
	case 1:
		return opts[0]
	}
	panic(fmt.Sprintf("informers: %d Options in one call: put the fields of all into one", len(opts)))
}

func get[T metav1.Object](s *Set, r client.Resource, c *client.Client[T], o Options[T]) *Informer[T] {
	spaces := slices.Clone(o.Namespaces)
	slices.Sort(spaces)
	o.Namespaces = slices.Compact(spaces)
	id := identity{
		resource: r, typ: (*T)(nil), namespaces: fmt.Sprint(o.Namespaces), l: o.LabelSelector.String(), f: o.FieldSelector.String(),
		decoded: o.Decoded, transform: o.Transform != nil, share: o.Share,
	}
	own := o.Transform != nil && o.Share == ""
	s.mu.Lock()
	if m, ok := s.informers[id]; ok && !own {
		i := m.(*Informer[T])
		i.refs++
		s.mu.Unlock()
		return i
	}
	i := newInformer(s, c, o, c.Err())
	i.refs = 1
	i.id = id
	if !own {
		s.informers[id] = i
	}
	s.order = append(slices.Clip(s.order), i)
	s.mu.Unlock()
	i.begin()
	return i
}

func newInformer[T metav1.Object](s *Set, c *client.Client[T], o Options[T], err error) *Informer[T] {
	k := &core[T]{set: s, client: c, o: o, err: err, byNamespace: map[string]map[string]*object[T]{}, syncGate: make(chan struct{}), absentGate: make(chan struct{})}
	i := &Informer[T]{core: k}
	spaces := o.Namespaces
	if len(spaces) == 0 {
		spaces = []string{""}
	}
	lw := reflector.For(c, !s.o.KeepManagedFields)
	for _, ns := range spaces {
		src := &source[T]{core: k, namespace: ns}
		src.r = reflector.New(lw, src, reflector.Options{
			List:     client.ListOptions{Namespace: ns, LabelSelector: o.LabelSelector, FieldSelector: o.FieldSelector},
			PageSize: s.o.PageSize, NoWatchList: s.o.NoWatchList, Silence: s.o.Silence, OnError: src.failed,
		})
		k.sources = append(k.sources, src)
	}
	return i
}
