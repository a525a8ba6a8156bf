package informers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers/reflector"
)

// SetOptions configure a Set. The zero value is usable.
type SetOptions struct {
	// Cache selects what the informers hold.
	Cache Cache
	// Logger logs failures if OnError is nil; nil discards them.
	Logger *slog.Logger
	// OnError is called with every failure an informer recovers from: a list or watch that failed, an object
	// that cannot be decoded, a panic (*PanicError), a modified shared object (*MutationError), a slow
	// handler (*SlowHandlerError), a copy that differs from the server (*InconsistentError). It may be called
	// from several goroutines at once.
	OnError func(resource string, err error)
	// Decoded keeps every object decoded instead of encoded. It takes several times the memory and is for
	// programs that read most objects often.
	Decoded bool
	// KeepManagedFields keeps metadata.managedFields, which are otherwise dropped on arrival.
	KeepManagedFields bool
	// NoOverlay makes own writes visible only when the watch has delivered them.
	NoOverlay bool
	// DetectMutations checks shared objects for modifications after each handler call and View, at the cost
	// of encoding each object read twice. It is for tests.
	DetectMutations bool
	// VerifyEvery is how often every informer's copy is compared with the server, as by Informer.Verify; an
	// *InconsistentError with the keys that differ is reported. 0 means never. Each comparison costs a full
	// list; it is for tests and for finding lost events.
	VerifyEvery time.Duration
	// NoWatchList reads collections with list instead of watch-list.
	NoWatchList bool
	// PageSize is the limit of a page of a list; 0 means 2000.
	PageSize int64
	// Silence is the time without events and bookmarks after which a watch is closed and reopened; 0 derives
	// it from the interval the server grants. See client.EncodedWatchOptions.
	Silence time.Duration
	// Timeout is after how long a watch is reopened; 0 means five to ten minutes. See
	// client.EncodedWatchOptions.
	Timeout time.Duration
	// SyncTimeout is the longest time that WaitForSync and WaitForSyncOrAbsent wait, so that a program which
	// may not list a resource fails instead of waiting forever; 0 means no limit. Their error is then a
	// *NotSyncedError that wraps ErrSyncTimeout and the last failure.
	SyncTimeout time.Duration
	// Metrics are called on events of the set.
	Metrics Metrics
}

// Metrics are functions called by a set, possibly from several goroutines at once. Each may be nil. They must
// not block.
type Metrics struct {
	// Event is called for each event of a watch.
	Event func(resource, typ string)
	// Read is called when a whole collection has been read, with the time it took; again is false the first
	// time.
	Read func(resource string, again bool, took time.Duration)
	// Unsynced is called when the number of running informers of a resource changes that have not synced or
	// whose resource is not served. Calls may be in another order than the changes, but their sum is right.
	Unsynced func(resource string, delta int)
	// Failed is called for each failure, as OnError is.
	Failed func(resource string)
	// Handled is called after each call of a handler with its duration.
	Handled func(resource, handler string, typ EventType, took time.Duration)
	// Slow is called when a handler exceeds its MaxBacklog, with the number of objects whose changes wait.
	Slow func(resource, handler string, backlog int)
}

// Set is a group of informers over one connection. All calls of For and ForResource for the same collection
// share one informer.
type Set struct {
	conn   client.Conn
	opts   SetOptions
	policy cachePolicy

	mu        sync.Mutex
	informers map[identity]member
	order     []member
	start     func(member) // starts an informer; nil before Run
	ended     bool
	wg        sync.WaitGroup
}

// identity is what distinguishes the informers of a set.
type identity struct {
	resource           client.Resource
	typ                any
	namespaces, l, f   string
	decoded, transform bool
	byPolicy           bool // the transform is that of the set's Cache
	share              string
}

// member is an informer of any type.
type member interface {
	resource() client.Resource
	start(ctx context.Context)
	waitForSync(ctx context.Context) error
	waitForSyncOrAbsent(ctx context.Context) error
	ready() error
	catchUp(version string)
	observe(w client.Write)
	creating() *atomic.Int64
	hasSynced() bool
	status() InformerStatus
}

// NewSet returns an empty set over a connection.
func NewSet(c client.Conn, opts SetOptions) *Set {
	s := &Set{opts: opts, informers: map[identity]member{}, policy: newCachePolicy(opts.Cache, c.Scheme())}
	s.conn = s.Observe(c)
	return s
}

// Conn returns the connection of the set. Writes through it are visible to the set's listers at once,
// with the exceptions listed in the package comment.
func (s *Set) Conn() client.Conn { return s.conn }

// Observe returns a connection through c whose writes are visible to the set's listers at once, like those
// through Conn. It is for connections of other users to the same server.
func (s *Set) Observe(c client.Conn) client.Conn {
	if s.opts.NoOverlay {
		return c
	}
	return ownConn{client.Observe(c, s.observe), s}
}

// ownConn is a connection of Observe.
type ownConn struct {
	client.Conn
	set *Set
}

// Unwrap returns the wrapped connection.
func (c ownConn) Unwrap() client.Conn { return c.Conn }

// Do implements client.Conn. An object that is created may be gone before its creator has the reply, and the
// set the write: until then every new object may be the one.
func (c ownConn) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if r.Path == "" && r.Subresource == "" && r.Verb() == "create" {
		defer c.set.creating(r.Resource)()
	}
	return c.Conn.Do(ctx, r)
}

// Upgrade implements client.Upgrader if the wrapped connection does.
func (c ownConn) Upgrade(ctx context.Context, r *client.Request) (*client.Upgraded, error) {
	if u, ok := c.Conn.(client.Upgrader); ok {
		return u.Upgrade(ctx, r)
	}
	return nil, fmt.Errorf("informers: %T cannot upgrade requests: %w", c.Conn, errors.ErrUnsupported)
}

// creating notes that an object of a resource is being created, until done is called.
func (s *Set) creating(resource schema.GroupVersionResource) (done func()) {
	var counts []*atomic.Int64
	s.mu.Lock()
	for _, m := range s.order {
		if m.resource().GVR == resource {
			counts = append(counts, m.creating())
		}
	}
	s.mu.Unlock()
	for _, n := range counts {
		n.Add(1)
	}
	return func() {
		for _, n := range counts {
			n.Add(-1)
		}
	}
}

// observe passes an own write to the informers of its resource.
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
	if s.opts.Metrics.Failed != nil {
		s.opts.Metrics.Failed(resource)
	}
	switch {
	case s.opts.OnError != nil:
		s.opts.OnError(resource, err)
	case s.opts.Logger != nil:
		s.opts.Logger.Warn("informer failed, retrying", "resource", resource, "err", err)
	}
}

// Run runs every informer of the set, including those added later, until ctx ends and all its goroutines have
// returned, and returns nil. A second call returns an error.
func (s *Set) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.start != nil {
		s.mu.Unlock()
		return errors.New("informers: Set.Run called twice")
	}
	start := func(m member) { m.start(ctx) }
	s.start = start
	list := s.order
	s.mu.Unlock()
	for _, m := range list {
		start(m)
	}
	<-ctx.Done()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}

// spawn runs f in a goroutine that Run waits for, unless Run has ended.
func (s *Set) spawn(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.wg.Go(f)
	}
}

// WaitForSync waits until every current informer of the set has synced, or ctx ends. The error wraps that of
// ctx and holds the name and the last failure of an informer that has not. An informer of a type that is not
// registered in the scheme is an error at once.
func (s *Set) WaitForSync(ctx context.Context) error { return s.wait(ctx, member.waitForSync) }

// WaitForSyncOrAbsent is WaitForSync for all informers but those whose resource the server does not serve;
// see [Informer.WaitForSyncOrAbsent].
func (s *Set) WaitForSyncOrAbsent(ctx context.Context) error {
	return s.wait(ctx, member.waitForSyncOrAbsent)
}

func (s *Set) wait(ctx context.Context, wait func(member, context.Context) error) error {
	s.mu.Lock()
	list := s.order
	s.mu.Unlock()
	return s.waitAll(ctx, list, wait)
}

// waitAll waits for each of list, all together for SyncTimeout at most.
func (s *Set) waitAll(ctx context.Context, list []member, wait func(member, context.Context) error) error {
	if s.opts.SyncTimeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, s.opts.SyncTimeout, ErrSyncTimeout)
		defer cancel()
		ctx = limited
	}
	for _, m := range list {
		if err := wait(m, ctx); err != nil {
			return err
		}
	}
	return nil
}

// CatchUp requests that each current informer reads its collection again unless its copy, in all its
// namespaces, has reached version, which must be one of a store that the collections are in too. It does not
// wait: WaitForSync and WaitForSyncOrAbsent, those of the informers included, return from then on when that
// is done, while listers go on with the copies that there are. A program that is about to act on copies which
// may lack the writes of another one, such as those of the leader before, calls it first.
func (s *Set) CatchUp(version string) {
	for _, m := range s.members() {
		m.catchUp(version)
	}
}

// Ready returns nil if every current informer of the set has synced or its resource is not served, and
// otherwise an error that names those that have not, with their last failures. It does not wait; it is for
// readiness checks.
func (s *Set) Ready() error {
	var errs []error
	for _, m := range s.members() {
		errs = append(errs, m.ready())
	}
	return errors.Join(errs...)
}

// ErrNotServed is the Err of a *NotSyncedError of [Set.Served].
var ErrNotServed = errors.New("the server does not serve it: its CustomResourceDefinition is not installed, or the resource has another name")

// Served returns nil if the server serves the resources of all current informers, as far as they have found
// out, and otherwise an error that wraps a *NotSyncedError for each other one. It does not wait.
func (s *Set) Served() error {
	var errs []error
	for _, m := range s.members() {
		if st := m.status(); st.NotServed {
			errs = append(errs, &NotSyncedError{Resource: st.Resource, Err: ErrNotServed})
		}
	}
	return errors.Join(errs...)
}

func (s *Set) members() []member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order
}

// InformerStatus is the state of an informer of a set at one moment.
type InformerStatus struct {
	// Resource is its name as in Metrics, such as "deployments.apps".
	Resource string
	// Type is the Go type of its objects.
	Type string
	// Namespaces, LabelSelector and FieldSelector are what it holds; empty means everything.
	Namespaces                   []string
	LabelSelector, FieldSelector string
	// Transformed is true if it has a transform.
	Transformed bool
	// Users is the number of calls that returned it and have not released it.
	Users int
	Status
	// Handlers has an entry for each handler.
	Handlers []HandlerStatus
}

// HandlerStatus is the state of a handler at one moment.
type HandlerStatus struct {
	// Name is that of its HandlerOptions.
	Name string
	// Backlog and Behind are the results of Registration.Backlog.
	Backlog int
	Behind  time.Duration
}

// Status returns the state of every current informer of the set, for metrics and health checks.
func (s *Set) Status() []InformerStatus {
	s.mu.Lock()
	list := s.order
	s.mu.Unlock()
	all := make([]InformerStatus, len(list))
	for n, m := range list {
		all[n] = m.status()
	}
	return all
}

// HasSynced reports whether every current informer of the set has synced.
func (s *Set) HasSynced() bool {
	s.mu.Lock()
	list := s.order
	s.mu.Unlock()
	return !slices.ContainsFunc(list, func(m member) bool { return !m.hasSynced() })
}

// Options select what an informer holds. The zero value selects every object of the resource in the
// namespaces of SetOptions.Cache.
type Options[T metav1.Object] struct {
	// Namespaces to watch, with one watch each; empty means those of SetOptions.Cache, by default all, which
	// metav1.NamespaceAll stands for.
	Namespaces []string
	// LabelSelector and FieldSelector limit the collection on the server.
	LabelSelector labels.Selector
	FieldSelector fields.Selector
	// Transform may change each object before it is stored, for example to drop fields. It must keep the
	// name, namespace, uid and resourceVersion. An object for which it fails counts as one that cannot be
	// decoded: see Lister and Handler.
	Transform func(T) error
	// Decoded is as in SetOptions, for this informer.
	Decoded bool
	// Share is the name under which an informer with a Transform is shared: calls with a Transform and the
	// same name return one informer, with the Transform of the first. Without a name it is not shared.
	Share string
}

// For returns the informer for T as registered in the connection's scheme: an existing one of the set with
// equal options, or a new one, which starts at once if the set is running. Without opts it holds what
// SetOptions.Cache says for T. At most one value of opts may be given; it takes the place of what the Cache
// says, except that without Namespaces it has those of the Cache. If T is not registered, waiting for its
// sync returns the error. A caller that no longer needs the informer calls [Informer.Release].
func For[T metav1.Object](s *Set, opts ...Options[T]) *Informer[T] {
	info, err := scheme.InfoFor[T](s.conn.Scheme())
	if err != nil {
		unknown, _ := complete(s.policy, client.Resource{}, opts)
		return newInformer(s, client.For[T](s.conn), unknown, err)
	}
	return get(s, client.Resource{GVR: info.GVR, GVK: info.GVK, Namespaced: info.Namespaced}, client.For[T](s.conn), opts)
}

// ForResource is For with a resource that need not be in the scheme: T is *metav1.Unstructured,
// *metav1.PartialObjectMetadata with Resource.Metadata set, or any type that the resource decodes into.
func ForResource[T metav1.Object](s *Set, r client.Resource, opts ...Options[T]) *Informer[T] {
	return get(s, r, client.ForResource[T](s.conn, r), opts)
}

func get[T metav1.Object](s *Set, r client.Resource, c *client.Client[T], given []Options[T]) *Informer[T] {
	opts, byPolicy := complete(s.policy, r, given)
	id := identity{
		resource: r, typ: (*T)(nil), namespaces: fmt.Sprint(opts.Namespaces), l: opts.LabelSelector.String(), f: opts.FieldSelector.String(),
		decoded: opts.Decoded, transform: opts.Transform != nil, share: opts.Share,
	}
	id.byPolicy = id.transform && byPolicy
	private := id.transform && !byPolicy && opts.Share == ""
	s.mu.Lock()
	if m, ok := s.informers[id]; ok && !private {
		i := m.(*Informer[T])
		i.refs++
		s.mu.Unlock()
		return i
	}
	i := newInformer(s, c, opts, cmp.Or(c.Err(), s.policy.err))
	i.refs = 1
	i.id = id
	if !private {
		s.informers[id] = i
	}
	s.order = append(slices.Clip(s.order), i)
	start := s.start
	if s.ended {
		start = nil
	}
	s.mu.Unlock()
	if start != nil {
		start(i)
	}
	return i
}

func newInformer[T metav1.Object](s *Set, c *client.Client[T], opts Options[T], err error) *Informer[T] {
	k := &core[T]{set: s, client: c, opts: opts, err: err, byNamespace: map[string]map[string]*object[T]{}, syncGate: make(chan struct{}), absentGate: make(chan struct{})}
	i := &Informer[T]{core: k}
	namespaces := opts.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	lw := reflector.For(c, !s.opts.KeepManagedFields)
	for _, ns := range namespaces {
		src := &source[T]{core: k, namespace: ns}
		src.reflector = reflector.New(lw, src, reflector.Options{
			List:     client.ListOptions{Namespace: ns, LabelSelector: opts.LabelSelector, FieldSelector: opts.FieldSelector},
			PageSize: s.opts.PageSize, NoWatchList: s.opts.NoWatchList, Silence: s.opts.Silence, Timeout: s.opts.Timeout, OnError: src.failed,
		})
		k.sources = append(k.sources, src)
	}
	return i
}
