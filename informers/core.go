package informers

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// ErrSyncTimeout is wrapped by the error of a wait that took longer than SetOptions.SyncTimeout.
var ErrSyncTimeout = errors.New("informers: not synced within SyncTimeout")

// core is the copy of one collection, and its handlers and indexes. See the picture in the package comment.
type core[T metav1.Object] struct {
	set    *Set
	client *client.Client[T]
	opts   Options[T]
	err    error

	mu sync.RWMutex
	// byNamespace is the base, the copy as the server has sent it: namespace, name, object.
	byNamespace map[string]map[string]*object[T]
	count       int
	bytes       int64
	overlay     overlay[T]
	// sources are the reflectors that feed the base, one per namespace.
	sources  []*source[T]
	handlers []*registration[T]
	// indexes are replaced, never changed, and only grow. indexing is held while one is being filled.
	indexes  []*index[T]
	indexing sync.Mutex
	synced   bool
	// creating is the number of creations of the set whose objects are not in the overlay yet.
	creating atomic.Int64
	// recentlyDeleted are incarnations whose deletion the watch has delivered.
	recentlyDeleted deletedUIDs
	// gate is closed and replaced whenever a version is reached.
	gate chan struct{}
	// syncGate is closed when synced first becomes true.
	syncGate chan struct{}
	// absentGate is closed when the server is first found not to serve the resource; absent is true
	// while it does not.
	absentGate chan struct{}
	absentOnce sync.Once
	absent     bool
	// running is true from start until the informer is released; unsynced is what Metrics.Unsynced has
	// counted.
	running  bool
	unsynced bool
	// spawn starts a goroutine of the informer; nil until it runs.
	spawn func(func(ctx context.Context))
}

func (c *core[T]) name() string { return c.client.Resource().GVR.GroupResource().String() }

// fail reports an error that does not stop the informer.
func (c *core[T]) fail(err error) {
	c.set.fail(c.name(), err)
}

// start runs the reflectors and the handlers.
func (c *core[T]) start(spawn func(func(ctx context.Context))) {
	c.mu.Lock()
	if c.spawn != nil || c.err != nil {
		c.mu.Unlock()
		return
	}
	c.spawn = spawn
	c.running = true
	hs := slices.Clone(c.handlers)
	for _, h := range hs {
		h.started = true
	}
	delta := c.unsyncedDelta()
	c.mu.Unlock()
	c.countUnsynced(delta)
	for _, h := range hs {
		spawn(h.run)
	}
	for _, s := range c.sources {
		spawn(func(ctx context.Context) { _ = s.reflector.Run(ctx) })
	}
	if period := c.set.opts.VerifyEvery; period > 0 {
		spawn(func(ctx context.Context) { c.verifyEvery(ctx, period) })
	}
}

// compareVersions is metav1.CompareResourceVersions; ok is false if a or b is not a decimal number. An empty
// b is before every version.
func compareVersions(a, b string) (order int, ok bool) {
	n, err := metav1.CompareResourceVersions(a, cmp.Or(b, a))
	if b == "" {
		n = 1
	}
	return n, err == nil
}

// after reports whether version a is certainly later than b.
func after(a, b string) bool {
	n, ok := compareVersions(a, b)
	return ok && n > 0
}

// notBefore reports whether version a is certainly b or later.
func notBefore(a, b string) bool {
	n, ok := compareVersions(a, b)
	return ok && n >= 0
}

// base returns the state of a key that the server has sent last. The lock is held.
func (c *core[T]) base(key types.NamespacedName) *object[T] {
	return c.byNamespace[key.Namespace][key.Name]
}

// get returns the state readers see. The lock is held.
func (c *core[T]) get(key types.NamespacedName) *object[T] {
	b := c.base(key)
	if len(c.overlay.byKey) == 0 {
		return b
	}
	return c.overlay.visible(key, b)
}

// sortedBase returns the base ordered by namespace and name, so that handlers get it in the same
// order each time. The lock is held.
func (c *core[T]) sortedBase() []*object[T] {
	objs := make([]*object[T], 0, c.count)
	for _, m := range c.byNamespace {
		objs = slices.AppendSeq(objs, maps.Values(m))
	}
	sortObjects(objs)
	return objs
}

func (c *core[T]) putBase(o *object[T]) {
	m := c.byNamespace[o.key.Namespace]
	if m == nil {
		m = map[string]*object[T]{}
		// A copy, because the name outlives the object.
		c.byNamespace[strings.Clone(o.key.Namespace)] = m
	}
	if old := m[o.key.Name]; old != nil {
		c.bytes -= int64(len(old.body))
	} else {
		c.count++
	}
	// Assigning replaces the key too, so the old object's memory is released.
	m[o.key.Name] = o
	c.bytes += int64(len(o.body))
}

func (c *core[T]) deleteBase(key types.NamespacedName) {
	m := c.byNamespace[key.Namespace]
	if old := m[key.Name]; old != nil {
		c.count--
		c.bytes -= int64(len(old.body))
		delete(m, key.Name)
		if len(m) == 0 {
			delete(c.byNamespace, key.Namespace)
		}
	}
}

// change replaces old by now in the base. The lock is held.
func (c *core[T]) change(old, now *object[T], initial, unknown bool) {
	var key types.NamespacedName
	if now != nil {
		key = now.key
		if c.overlay.byKey[key] != nil || old == nil && c.creating.Load() > 0 {
			// Readers may have got the state from the overlay, and who wrote it has it, or will have.
			now.markRead()
		}
		c.putBase(now)
	} else {
		key = old.key
		c.deleteBase(key)
	}
	c.reindex(key)
	c.notify(old, now, nil, initial, unknown)
}

// deleteAll removes the selected objects of a source from the base, in order. The lock is held.
func (c *core[T]) deleteAll(s *source[T], selected func(*object[T]) bool) {
	var objs []*object[T]
	for ns, m := range c.byNamespace {
		if s.namespace != "" && s.namespace != ns {
			continue
		}
		for _, old := range m {
			if selected(old) {
				objs = append(objs, old)
			}
		}
	}
	sortObjects(objs)
	for _, old := range objs {
		c.change(old, nil, false, true)
	}
}

// notify queues a change for every handler; final is the last state of a deleted object, nil if that is old.
// The lock is held; the handlers must be signalled without it.
func (c *core[T]) notify(old, now, final *object[T], initial, unknown bool) {
	if old != nil && now != nil && old.uid != now.uid {
		// Another incarnation: the deletion of the old one was missed.
		c.notify(old, nil, nil, false, true)
		old = nil
	}
	for _, h := range c.handlers {
		h.q.put(old, now, final, initial, unknown)
	}
}

func (c *core[T]) signal(hs []*registration[T]) {
	for _, h := range hs {
		h.signal()
	}
}

// add registers a handler and queues everything in the base for it.
func (c *core[T]) add(r *registration[T]) {
	c.mu.Lock()
	c.handlers = append(slices.Clip(c.handlers), r)
	for _, o := range c.sortedBase() {
		r.q.put(nil, o, nil, true, false)
	}
	if c.synced {
		r.q.putMark()
	}
	spawn := c.spawn
	r.started = spawn != nil
	c.mu.Unlock()
	r.q.signal()
	if spawn != nil {
		spawn(r.run)
	}
}

// remove removes a handler and reports whether its goroutine was started.
func (c *core[T]) remove(r *registration[T]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers = slices.DeleteFunc(slices.Clone(c.handlers), func(h *registration[T]) bool { return h == r })
	return r.started
}

// resync queues every object again for one handler.
func (c *core[T]) resync(r *registration[T]) {
	c.mu.RLock()
	for _, o := range c.sortedBase() {
		r.q.putResync(o)
	}
	c.mu.RUnlock()
	r.q.signal()
}

func (c *core[T]) waitForSync(ctx context.Context) error { return c.wait(ctx, nil) }

func (c *core[T]) waitForSyncOrAbsent(ctx context.Context) error { return c.wait(ctx, c.absentGate) }

// ready is waitForSyncOrAbsent without the wait, and without what CatchUp wants.
func (c *core[T]) ready() error {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("not yet"))
	return c.reach(ctx, c.absentGate)
}

// wait waits for the sync or for the other channel, and then for what CatchUp wants.
func (c *core[T]) wait(ctx context.Context, other <-chan struct{}) error {
	if err := c.reach(ctx, other); err != nil {
		return err
	}
	for {
		c.mu.Lock()
		done := c.absent || !slices.ContainsFunc(c.sources, (*source[T]).behind)
		gate := c.changed()
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-gate:
		case <-ctx.Done():
			c.mu.RLock()
			defer c.mu.RUnlock()
			return c.notSynced(context.Cause(ctx))
		}
	}
}

// catchUp is Set.CatchUp.
func (c *core[T]) catchUp(version string) {
	c.mu.Lock()
	var reread []*source[T]
	for _, s := range c.sources {
		// A first read that has not begun will be recent enough.
		if s.begun > 0 && !(s.synced && notBefore(s.version, version)) {
			s.floor, s.floorReads = version, s.begun
			reread = append(reread, s)
		}
	}
	c.mu.Unlock()
	for _, s := range reread {
		s.reflector.Relist("")
	}
}

// reach waits for the sync or for the other channel.
func (c *core[T]) reach(ctx context.Context, other <-chan struct{}) error {
	if c.err != nil {
		return c.err
	}
	select {
	case <-c.syncGate:
		return nil
	case <-other:
		return nil
	default:
	}
	select {
	case <-c.syncGate:
		return nil
	case <-other:
		return nil
	case <-ctx.Done():
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.notSynced(context.Cause(ctx))
}

// unsyncedDelta returns the argument of Metrics.Unsynced after a change of running, synced or absent, 0 for
// none. The lock is held.
func (c *core[T]) unsyncedDelta() int {
	unsynced := c.running && (!c.synced || c.absent)
	if unsynced == c.unsynced {
		return 0
	}
	c.unsynced = unsynced
	if unsynced {
		return 1
	}
	return -1
}

// countUnsynced calls Metrics.Unsynced. It is called without locks.
func (c *core[T]) countUnsynced(delta int) {
	if f := c.set.opts.Metrics.Unsynced; f != nil && delta != 0 {
		f(c.name(), delta)
	}
}

// release is called when the informer is released.
func (c *core[T]) release() {
	c.mu.Lock()
	c.running = false
	delta := c.unsyncedDelta()
	c.mu.Unlock()
	c.countUnsynced(delta)
}

// wake closes the channel of changed. The lock is held.
func (c *core[T]) wake() {
	if c.gate != nil {
		close(c.gate)
		c.gate = nil
	}
}

// changed returns a channel that is closed when a source makes progress. The lock is held for writing.
func (c *core[T]) changed() <-chan struct{} {
	if c.gate == nil {
		c.gate = make(chan struct{})
	}
	return c.gate
}
