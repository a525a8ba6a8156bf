package informers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers/reflector"
)

// Begin implements reflector.Sink.
func (s *source[T]) Begin() reflector.Copy {
	s.core.mu.Lock()
	defer s.core.mu.Unlock()
	s.begun++
	return &incoming[T]{s: s, seq: s.begun, byNamespace: map[string]map[string]*object[T]{}}
}

// incoming is a collection on its way in.
type incoming[T metav1.Object] struct {
	s           *source[T]
	seq         uint64
	byNamespace map[string]map[string]*object[T]
	// order holds the objects as the server has listed them, those among them that were replaced or removed
	// since.
	order  []*object[T]
	unread []*client.DecodeError
}

// Add implements reflector.Copy.
func (n *incoming[T]) Add(e client.Encoded) {
	c := n.s.core
	c.mu.RLock()
	known := c.base(e.Key)
	c.mu.RUnlock()
	// What is known already is kept, so that a second reading costs no second copy.
	if known == nil || !known.same(e.UID, e.ResourceVersion) {
		known = c.accept(e)
	}
	n.put(known)
}

// Unreadable implements reflector.Copy.
func (n *incoming[T]) Unreadable(err *client.DecodeError) {
	if err.Key.Name == "" {
		n.unread = append(n.unread, err)
		return
	}
	n.put(n.s.core.unreadable(client.Encoded{Key: err.Key}, err))
}

func (n *incoming[T]) put(o *object[T]) {
	m := n.byNamespace[o.key.Namespace]
	if m == nil {
		m = map[string]*object[T]{}
		n.byNamespace[strings.Clone(o.key.Namespace)] = m
	}
	m[o.key.Name] = o
	n.order = append(n.order, o)
}

// has reports whether o is part of the collection.
func (n *incoming[T]) has(o *object[T]) bool { return n.byNamespace[o.key.Namespace][o.key.Name] == o }

// Remove implements reflector.Copy.
func (n *incoming[T]) Remove(e client.Encoded) { delete(n.byNamespace[e.Key.Namespace], e.Key.Name) }

// Commit implements reflector.Copy.
func (n *incoming[T]) Commit(version string) {
	s, c := n.s, n.s.core
	n.order = slices.DeleteFunc(n.order, func(o *object[T]) bool { return !n.has(o) })
	c.lockWith(n.order...)
	first := !s.synced
	var regressed error
	if len(n.unread) == 0 {
		// Otherwise what is missing may be what could not be read.
		c.deleteAll(s, func(old *object[T]) bool { return n.byNamespace[old.key.Namespace][old.key.Name] == nil })
	}
	for _, o := range n.order {
		if old := c.base(o.key); old != o {
			c.change(old, o, first, false)
		}
	}
	s.committed, s.unread = n.seq, n.unread
	s.synced, c.absent = true, false
	if num, ok := decimal(version); ok && num < s.number {
		// The server went back, as after its data was restored from a backup: what it says now is what
		// counts.
		s.number = num
		regressed = &RegressedError{Resource: c.name(), From: s.version, To: strings.Clone(version)}
	}
	c.overlay.drop(func(e *ownWrite[T]) bool {
		if s.namespace != "" && s.namespace != e.key.Namespace {
			return false
		}
		return e.deleted && n.seq > e.begun
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
	if regressed != nil {
		c.fail(regressed)
	}
	if f := c.set.o.Metrics.Read; f != nil {
		f(c.name(), !first)
	}
}

// deleteAll takes the selected objects of a source out of the copy, in order. The lock is held.
func (c *core[T]) deleteAll(s *source[T], which func(*object[T]) bool) {
	var gone []*object[T]
	for ns, m := range c.byNamespace {
		if s.namespace != "" && s.namespace != ns {
			continue
		}
		for _, old := range m {
			if which(old) {
				gone = append(gone, old)
			}
		}
	}
	sortObjects(gone)
	for _, old := range gone {
		c.change(old, nil, false, true)
	}
}

// RegressedError reports a collection that was read at an earlier version than before.
type RegressedError struct {
	// Resource that was read.
	Resource string
	// From and To are the versions.
	From, To string
}

// Error names the resource and the versions.
func (e *RegressedError) Error() string {
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
	c.notify(old, now, nil, initial, unknown)
}

// Apply implements reflector.Sink.
func (s *source[T]) Apply(ev client.EncodedEvent) {
	c := s.core
	o := c.accept(ev.Object)
	c.lockWith(o)
	old := c.base(o.key)
	n, comparable := decimal(o.version)
	switch {
	case comparable && n <= s.number:
		// Everything up to there has been told; a server that repeats some of it may not repeat all.
	case ev.Type == client.Deleted && old == nil:
		c.noteDeleted(o)
		c.reindex(o.key)
	case ev.Type == client.Deleted:
		// Handlers are told the final state.
		c.deleteBase(o.key)
		c.noteDeleted(o)
		c.reindex(o.key)
		if old.uid != o.uid {
			c.notify(old, nil, nil, false, true)
		} else {
			c.notify(old, nil, o, false, false)
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

// noteDeleted notes that the watch has told the end of an incarnation. With a selector the end may only be that of
// its being selected, so that nothing follows. The lock is held.
func (c *core[T]) noteDeleted(o *object[T]) {
	if c.o.LabelSelector.Empty() && c.o.FieldSelector.Empty() {
		c.recentlyDeleted.add(o.uid)
		c.overlay.passed(o.key, o.uid)
	}
}

// Progress implements reflector.Sink.
func (s *source[T]) Progress(version string) {
	s.core.mu.Lock()
	s.core.reached(s, version)
	s.core.mu.Unlock()
}

// maxUnread bounds how many missed events are remembered: one is enough to know that the copy may be wrong.
const maxUnread = 100

// Missed implements reflector.Sink.
func (s *source[T]) Missed(err *client.DecodeError) {
	s.core.mu.Lock()
	if len(s.unread) < maxUnread {
		s.unread = append(s.unread, err)
	}
	s.core.mu.Unlock()
}

// NotServed implements reflector.Sink.
func (s *source[T]) NotServed() {
	c := s.core
	c.mu.Lock()
	c.deleteAll(s, func(*object[T]) bool { return true })
	s.unread = nil
	held := s.synced && !c.absent
	c.absent = true
	c.absentOnce.Do(func() { close(c.absentGate) })
	c.overlay.drop(func(e *ownWrite[T]) bool { return s.namespace == "" || s.namespace == e.key.Namespace }, c.reindex)
	hs := slices.Clone(c.handlers)
	c.mu.Unlock()
	c.signal(hs)
	if held {
		c.fail(&NotServedError{Resource: c.name()})
	}
}

// NotServedError reports that the server has stopped serving a resource: a CustomResourceDefinition was
// removed. What the copy held is deleted.
type NotServedError struct {
	// Resource that was read.
	Resource string
}

// Error names the resource.
func (e *NotServedError) Error() string {
	return "informers: " + e.Resource + " is not served any more: its objects are taken for deleted"
}

// reached notes that a source has told everything up to version. The lock is held.
func (c *core[T]) reached(s *source[T], version string) {
	s.at = time.Now()
	s.lastErr = nil
	n, ok := decimal(version)
	if !ok || n >= s.number {
		if version != s.version {
			// A copy: the version of an event shares memory with its object.
			s.version = strings.Clone(version)
		}
		if ok {
			s.number = n
		}
	}
	if len(c.overlay.byKey) > 0 {
		c.overlay.sweep(s, c.reindex)
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

func (s *source[T]) failed(err error) {
	s.core.mu.Lock()
	s.lastErr = err
	s.core.mu.Unlock()
	s.core.fail(err)
}
