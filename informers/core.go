package informers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers/reflector"
)

// core is the copy of one collection and everything that hangs on it.
type core[T metav1.Object] struct {
	set    *Set
	client *client.Client[T]
	o      Options[T]
	err    error

	mu sync.RWMutex
	// spaces is the copy as the server has told it: namespace, name, object.
	spaces map[string]map[string]*object[T]
	count  int
	bytes  int64
	over   overlay[T]
	// sources are the reflectors that feed the copy, one per namespace.
	sources  []*source[T]
	handlers []*registration[T]
	// indexes are replaced, never changed; pending ones are being filled.
	indexes []*index[T]
	synced  bool
	// buried are the incarnations the watch has told the end of lately.
	buried cemetery
	// gate is closed and replaced whenever a version is reached.
	gate chan struct{}
	// syncGate is closed when synced first becomes true.
	syncGate chan struct{}
	// spawn starts a goroutine of the informer; nil until it runs.
	spawn func(func(ctx context.Context))
}

// source is one reflector's part of a copy: all of it, or one namespace.
type source[T metav1.Object] struct {
	core      *core[T]
	namespace string // empty for all
	r         *reflector.Reflector
	// The rest is guarded by core.mu.
	version  string
	number   uint64 // version, if it is a decimal number
	begun    uint64 // readings begun and, of these, the latest one committed
	commited uint64
	at       time.Time // of the last sign of life
	synced   bool
	lastErr  error
}

func decimal(version string) (uint64, bool) {
	if version == "" || version[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseUint(version, 10, 64)
	return n, err == nil
}

func (c *core[T]) name() string { return c.client.Resource().GVR.GroupResource().String() }

// get returns what the server has told about a key. The lock is held.
func (c *core[T]) base(key types.NamespacedName) *object[T] { return c.spaces[key.Namespace][key.Name] }

// get returns the state readers see. The lock is held.
func (c *core[T]) get(key types.NamespacedName) *object[T] {
	b := c.base(key)
	if len(c.over.byKey) == 0 {
		return b
	}
	return c.over.see(key, b)
}

func (c *core[T]) putBase(o *object[T]) {
	m := c.spaces[o.key.Namespace]
	if m == nil {
		m = map[string]*object[T]{}
		// A copy, because the name outlives the object.
		c.spaces[strings.Clone(o.key.Namespace)] = m
	}
	if old := m[o.key.Name]; old != nil {
		c.weigh(-len(old.body))
	} else {
		c.count++
	}
	// Assigning replaces the key too, so the old object's memory is let go.
	m[o.key.Name] = o
	c.weigh(len(o.body))
}

// weigh counts bytes kept. The lock is held.
func (c *core[T]) weigh(n int) {
	c.bytes += int64(n)
	c.set.bytes.Add(int64(n))
}

func (c *core[T]) deleteBase(key types.NamespacedName) {
	m := c.spaces[key.Namespace]
	if old := m[key.Name]; old != nil {
		c.count--
		c.weigh(-len(old.body))
		delete(m, key.Name)
		if len(m) == 0 {
			delete(c.spaces, key.Namespace)
		}
	}
}

// tell queues a change for every handler. The lock is held; the result's queues must be signalled without it.
func (c *core[T]) tell(old, now *object[T], initial, unknown bool) {
	if old != nil && now != nil && old.uid != now.uid {
		// Another incarnation: the old one's end was missed.
		c.tell(old, nil, false, true)
		old = nil
	}
	for _, h := range c.handlers {
		h.q.put(old, now, initial, unknown)
	}
}

func (c *core[T]) signal(hs []*registration[T]) {
	for _, h := range hs {
		h.q.signal()
	}
}

// Begin implements reflector.Sink.
func (s *source[T]) Begin() reflector.Copy {
	s.core.mu.Lock()
	defer s.core.mu.Unlock()
	s.begun++
	return &copyIn[T]{s: s, seq: s.begun, spaces: map[string]map[string]*object[T]{}}
}

// copyIn is a collection on its way in.
type copyIn[T metav1.Object] struct {
	s      *source[T]
	seq    uint64
	spaces map[string]map[string]*object[T]
}

// Add implements reflector.Copy.
func (n *copyIn[T]) Add(e client.Encoded) {
	c := n.s.core
	c.mu.RLock()
	known := c.base(e.Key)
	c.mu.RUnlock()
	// What is known already is kept, so that a second reading costs no second copy.
	if known == nil || !known.same(e.UID, e.ResourceVersion) {
		var err error
		if known, err = c.admit(e, false); err != nil {
			c.fail(err)
			return
		}
	}
	m := n.spaces[known.key.Namespace]
	if m == nil {
		m = map[string]*object[T]{}
		n.spaces[strings.Clone(known.key.Namespace)] = m
	}
	m[known.key.Name] = known
}

// Remove implements reflector.Copy.
func (n *copyIn[T]) Remove(e client.Encoded) { delete(n.spaces[e.Key.Namespace], e.Key.Name) }

// Commit implements reflector.Copy.
func (n *copyIn[T]) Commit(version string) {
	s, c := n.s, n.s.core
	for _, m := range n.spaces {
		for _, o := range m {
			c.compute(o)
		}
	}
	c.mu.Lock()
	first := !s.synced
	var back error
	for ns, m := range c.spaces {
		if s.namespace != "" && s.namespace != ns {
			continue
		}
		for name, old := range m {
			if n.spaces[ns][name] == nil {
				c.change(old, nil, false, true)
			}
		}
	}
	for _, m := range n.spaces {
		for name, o := range m {
			old := c.spaces[o.key.Namespace][name]
			if old == o {
				continue
			}
			c.change(old, o, first, false)
		}
	}
	s.commited = n.seq
	s.synced = true
	if num, ok := decimal(version); ok && num < s.number {
		// The server went back, as after its data was restored from a backup: what it says now is what counts.
		s.number = num
		back = &WentBackError{Resource: c.name(), From: s.version, To: strings.Clone(version)}
	}
	c.over.drop(func(e *own[T]) bool {
		if s.namespace != "" && s.namespace != e.key.Namespace {
			return false
		}
		return e.gone && n.seq > e.begun
	}, c.reindex)
	c.reached(s, version)
	if !c.synced && !slices.ContainsFunc(c.sources, func(s *source[T]) bool { return !s.synced }) {
		c.synced = true
		for _, h := range c.handlers {
			h.q.putMark()
		}
		close(c.syncGate)
	}
	hs := slices.Clone(c.handlers)
	c.mu.Unlock()
	c.signal(hs)
	if back != nil {
		c.fail(back)
	}
	if f := c.set.o.Metrics.Read; f != nil {
		f(c.name(), !first)
	}
}

// WentBackError reports a collection that was read at an earlier version than before.
type WentBackError struct {
	// Resource that was read.
	Resource string
	// From and To are the versions.
	From, To string
}

// Error names the resource and the versions.
func (e *WentBackError) Error() string {
	return fmt.Sprintf("informers: %s went back from version %s to %s", e.Resource, e.From, e.To)
}

// older reports whether a is an earlier version of the same incarnation than b.
func older[T metav1.Object](a, b *object[T]) bool {
	x, ok1 := decimal(a.version)
	y, ok2 := decimal(b.version)
	return ok1 && ok2 && a.uid == b.uid && x < y
}

// change replaces old by now in the copy. The lock is held.
func (c *core[T]) change(old, now *object[T], initial, unknown bool) {
	var key types.NamespacedName
	if now != nil {
		key = now.key
		c.putBase(now)
	} else {
		key = old.key
		c.deleteBase(key)
	}
	c.reindex(key)
	c.tell(old, now, initial, unknown)
}

// Apply implements reflector.Sink.
func (s *source[T]) Apply(ev client.EncodedEvent) {
	c := s.core
	var o *object[T]
	var err error
	if o, err = c.admit(ev.Object, ev.Type == client.Deleted); err != nil {
		c.fail(err)
		return
	}
	c.compute(o)
	c.mu.Lock()
	old := c.base(o.key)
	n, comparable := decimal(o.version)
	switch {
	case comparable && n <= s.number:
		// Everything up to there has been told; a server that repeats some of it may not repeat all.
	case ev.Type == client.Deleted && old == nil:
		c.bury(o)
		c.reindex(o.key)
	case ev.Type == client.Deleted:
		// Handlers are told the final state.
		c.deleteBase(o.key)
		c.bury(o)
		c.reindex(o.key)
		if old.uid != o.uid {
			c.tell(old, nil, false, true)
		} else {
			c.tell(o, nil, false, false)
		}
	case old != nil && old.uid == o.uid && (old.version == o.version || older(o, old)):
		// Told before.
	default:
		c.change(old, o, false, false)
	}
	c.reached(s, o.version)
	hs := c.handlers
	c.mu.Unlock()
	c.signal(hs)
	if f := c.set.o.Metrics.Event; f != nil {
		f(c.name(), string(ev.Type))
	}
}

// bury notes that the watch has told the end of an incarnation. With a selector the end may only be that of its being
// selected, so that nothing follows. The lock is held.
func (c *core[T]) bury(o *object[T]) {
	if c.o.LabelSelector.Empty() && c.o.FieldSelector.Empty() {
		c.buried.add(o.uid)
		c.over.passed(o.key, o.uid)
	}
}

// Progress implements reflector.Sink.
func (s *source[T]) Progress(version string) {
	s.core.mu.Lock()
	s.core.reached(s, version)
	s.core.mu.Unlock()
}

// Gone implements reflector.Sink.
func (s *source[T]) Gone() {
	c := s.core
	c.mu.Lock()
	for ns, m := range c.spaces {
		if s.namespace != "" && s.namespace != ns {
			continue
		}
		for _, old := range m {
			c.change(old, nil, false, true)
		}
	}
	c.over.drop(func(e *own[T]) bool { return s.namespace == "" || s.namespace == e.key.Namespace }, c.reindex)
	hs := slices.Clone(c.handlers)
	c.mu.Unlock()
	c.signal(hs)
}

// reached notes that a source has told everything up to version. The lock is held.
func (c *core[T]) reached(s *source[T], version string) {
	s.at = time.Now()
	s.lastErr = nil
	n, ok := decimal(version)
	if !ok || n >= s.number {
		if version != s.version {
			// A copy: the version of an event shares memory with its object.
			s.version = string([]byte(version))
		}
		if ok {
			s.number = n
		}
	}
	if len(c.over.byKey) > 0 {
		c.over.sweep(s, c.reindex)
	}
	if c.gate != nil {
		close(c.gate)
		c.gate = nil
	}
}

// changed returns a channel that is closed at the next sign of life. The lock is held for writing.
func (c *core[T]) changed() <-chan struct{} {
	if c.gate == nil {
		c.gate = make(chan struct{})
	}
	return c.gate
}

// admit turns what came off the wire into what is kept. whole keeps the body even over the memory budget, for
// what is passed on and not kept.
func (c *core[T]) admit(e client.Encoded, whole bool) (*object[T], error) {
	if c.o.Transform != nil {
		t, err := c.transform(e)
		if err != nil {
			return nil, err
		}
		e = t
	}
	if c.keepsDecoded() {
		obj, err := c.client.Decode(e)
		if err != nil {
			return nil, err
		}
		return c.decodedObject(obj), nil
	}
	if most := c.set.o.MemoryBudget; most > 0 && !whole && c.set.bytes.Load()+int64(len(e.Body)) > most {
		return bare[T](e), nil
	}
	return newObject[T](e), nil
}

// decodedObject keeps obj itself and none of the bytes it came in.
func (c *core[T]) decodedObject(obj T) *object[T] {
	m := metav1.MetaOf(obj)
	o := &object[T]{
		key: m.Key(), uid: m.UID, version: m.ResourceVersion, generation: m.Generation,
		deleting: m.DeletionTimestamp != nil, finalizers: uint16(min(len(m.Finalizers), 1<<16-1)),
	}
	for k, v := range m.Labels {
		o.labels = append(o.labels, client.Label{Key: k, Value: v})
	}
	o.share(obj, true, c.sum(obj))
	return o
}

func (c *core[T]) keepsDecoded() bool { return c.o.Decoded || c.set.o.Decoded }

func (c *core[T]) transform(e client.Encoded) (out client.Encoded, err error) {
	obj, err := c.client.Decode(e)
	if err != nil {
		return out, err
	}
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Where: "transform of " + c.name(), Value: v, Stack: debug.Stack()}
		}
	}()
	if err := c.o.Transform(obj); err != nil {
		return out, fmt.Errorf("informers: transform %s %s: %w", c.name(), e.Key, err)
	}
	if out, err = client.EncodeObject(obj, e.Form, false); err != nil {
		return out, err
	}
	if out.Key != e.Key || out.UID != e.UID || out.ResourceVersion != e.ResourceVersion {
		return out, fmt.Errorf("informers: transform %s %s: a transform must keep name, namespace, uid and resourceVersion", c.name(), e.Key)
	}
	return out, nil
}

// decode returns a private copy of an object.
func (c *core[T]) decode(o *object[T]) (T, error) {
	if obj, ok := o.hot(); ok {
		return codec.DeepCopy(obj), nil
	}
	if o.body == "" {
		return c.live(o)
	}
	return c.client.Decode(o.encoded())
}

// shared returns the decoded form that is shared, and zero after reporting an object that cannot be decoded.
func (c *core[T]) shared(o *object[T]) T {
	obj, err := c.sharedOrError(o)
	if err != nil {
		c.fail(err)
	}
	return obj
}

func (c *core[T]) sharedOrError(o *object[T]) (T, error) {
	if obj, ok := o.hot(); ok {
		return obj, nil
	}
	var obj T
	var err error
	if o.body == "" {
		obj, err = c.live(o)
	} else {
		obj, err = c.client.Decode(o.encoded())
	}
	if err != nil {
		var zero T
		return zero, err
	}
	o.share(obj, false, c.sum(obj))
	return obj, nil
}

// ErrNotKept says that an object's past state was not kept, because of SetOptions.MemoryBudget.
var ErrNotKept = errors.New("informers: the memory budget did not allow to keep this state")

// live reads an object whose bytes were not kept from the server. It may have changed since, but must be the same one.
func (c *core[T]) live(o *object[T]) (T, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	obj, err := c.client.Get(ctx, o.key)
	if err == nil && metav1.MetaOf(obj).UID != o.uid {
		var zero T
		return zero, fmt.Errorf("%w: %s %s was deleted", ErrNotKept, c.name(), o.key)
	}
	return obj, err
}

// fail reports an error that does not stop the informer.
func (c *core[T]) fail(err error) {
	c.set.fail(c.name(), err)
}

func (s *source[T]) failed(err error) {
	s.core.mu.Lock()
	s.lastErr = err
	s.core.mu.Unlock()
	s.core.fail(err)
}

// resync queues every object again for one handler.
func (c *core[T]) resync(q *queue[T]) {
	c.mu.RLock()
	for _, m := range c.spaces {
		for _, o := range m {
			q.repeat(o)
		}
	}
	c.mu.RUnlock()
	q.signal()
}

// add registers a handler and tells it everything that is there.
func (c *core[T]) add(r *registration[T]) {
	c.mu.Lock()
	c.handlers = append(slices.Clip(c.handlers), r)
	for _, m := range c.spaces {
		for _, o := range m {
			r.q.put(nil, o, true, false)
		}
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

// forget takes a handler out and reports whether its goroutine was started.
func (c *core[T]) forget(r *registration[T]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers = slices.DeleteFunc(slices.Clone(c.handlers), func(h *registration[T]) bool { return h == r })
	return r.started
}

// start runs the reflectors and the handlers.
func (c *core[T]) start(spawn func(func(ctx context.Context))) {
	c.mu.Lock()
	if c.spawn != nil || c.err != nil {
		c.mu.Unlock()
		return
	}
	c.spawn = spawn
	hs := slices.Clone(c.handlers)
	for _, h := range hs {
		h.started = true
	}
	c.mu.Unlock()
	for _, h := range hs {
		spawn(h.run)
	}
	for _, s := range c.sources {
		spawn(func(ctx context.Context) { _ = s.r.Run(ctx) })
	}
}

// errNotSynced is the error of a wait that ended before the copy was complete.
var errNotSynced = errors.New("informers: not synced")

func (c *core[T]) waitForSync(ctx context.Context) error {
	if c.err != nil {
		return c.err
	}
	select {
	case <-c.syncGate:
		return nil
	default:
	}
	select {
	case <-c.syncGate:
		return nil
	case <-ctx.Done():
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	var last error
	for _, s := range c.sources {
		if !s.synced && s.lastErr != nil {
			last = s.lastErr
		}
	}
	if last != nil {
		return fmt.Errorf("%w: %s: %w (last failure: %w)", errNotSynced, c.name(), context.Cause(ctx), last)
	}
	return fmt.Errorf("%w: %s: %w", errNotSynced, c.name(), context.Cause(ctx))
}
