package informers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers/reflector"
)

// source is one reflector's part of a copy: all of it, or one namespace. It is the reflector's Sink.
type source[T metav1.Object] struct {
	core      *core[T]
	namespace string // empty for all
	reflector *reflector.Reflector
	// The rest is guarded by core.mu.
	version   string
	begun     uint64 // reads begun and, of these, the latest one committed
	committed uint64
	at        time.Time // of the last event, bookmark or commit
	synced    bool
	lastErr   error
	// floor is the version that CatchUp wants, "" for none: it is reached by the watch, or by a read begun
	// after the first floorReads.
	floor      string
	floorReads uint64
	// written holds the entries of the overlay with a version in order of arrival: the versions are nearly in
	// order. The list is not shared with other sources, whose versions may lag.
	written []*ownWrite[T]
	// gaps are the latest ones, while the set creates objects that may have come and gone in them.
	gaps []gap
	// unread is what could not be read at all: items of the latest read, and events since.
	unread []*client.DecodeError
}

// gap is a range of versions, after from and up to to, which a read has replaced: handlers have got the
// difference of its ends, and none of the states between them.
type gap struct{ from, to string }

// maxGaps is how many gaps a source keeps: no creation takes as long as that many reads.
const maxGaps = 16

// maxUnread limits how many missed events are kept: one is enough to know that the copy may be wrong.
const maxUnread = 100

// Begin implements reflector.Sink.
func (s *source[T]) Begin() reflector.Copy {
	s.core.mu.Lock()
	defer s.core.mu.Unlock()
	s.begun++
	return &incoming[T]{s: s, seq: s.begun, start: time.Now(), byNamespace: map[string]map[string]*object[T]{}}
}

// addGap notes that a read has taken the place of what followed s.version. The lock is held.
func (s *source[T]) addGap(to string) {
	switch {
	case s.core.creating.Load() == 0:
		s.gaps = nil
	case to != "" && after(to, s.version):
		s.gaps = append(s.gaps[max(0, len(s.gaps)-maxGaps+1):], gap{s.version, strings.Clone(to)})
	}
}

// skipped reports whether a version is in a gap. The lock is held.
func (s *source[T]) skipped(version string) bool {
	return slices.ContainsFunc(s.gaps, func(g gap) bool { return after(version, g.from) && notBefore(g.to, version) })
}

// Apply implements reflector.Sink.
func (s *source[T]) Apply(ev client.EncodedEvent) {
	c := s.core
	o := c.accept(ev.Object)
	c.lockWith(o)
	old := c.base(o.key)
	switch {
	case notBefore(s.version, o.version):
		// Everything up to s.version was delivered; a server that repeats some of it may not repeat all.
	case ev.Type == client.Deleted && old == nil:
		c.recordDeleted(o)
		c.reindex(o.key)
	case ev.Type == client.Deleted:
		// Handlers get the final state.
		c.deleteBase(o.key)
		c.recordDeleted(o)
		c.reindex(o.key)
		if old.uid != o.uid {
			c.notify(old, nil, nil, false, true)
		} else {
			c.notify(old, nil, o, false, false)
		}
	case old != nil && old.uid == o.uid && (old.version == o.version || after(old.version, o.version)):
		// Delivered before.
	default:
		c.change(old, o, false, false)
	}
	c.advance(s, o.version)
	hs := c.handlers
	c.mu.Unlock()
	c.signal(hs)
	if f := c.set.opts.Metrics.Event; f != nil {
		f(c.name(), string(ev.Type))
	}
}

// Progress implements reflector.Sink.
func (s *source[T]) Progress(version string) {
	c := s.core
	c.mu.Lock()
	c.advance(s, version)
	hs := c.handlers
	c.mu.Unlock()
	c.signal(hs)
}

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
	c.applyWritten(s, "", func(types.NamespacedName) *object[T] { return nil })
	c.deleteAll(s, func(*object[T]) bool { return true })
	s.unread, s.written = nil, nil
	held := s.synced && !c.absent
	c.absent = true
	c.absentOnce.Do(func() { close(c.absentGate) })
	c.wake()
	c.overlay.drop(func(e *ownWrite[T]) bool { return s.covers(e.key.Namespace) }, c.uncovered)
	hs := slices.Clone(c.handlers)
	delta := c.unsyncedDelta()
	c.mu.Unlock()
	c.countUnsynced(delta)
	c.signal(hs)
	if held {
		c.fail(&NotServedError{Resource: c.name()})
	}
}

// behind reports whether the source has not reached its floor. The lock is held.
func (s *source[T]) behind() bool {
	return s.floor != "" && s.committed <= s.floorReads && !notBefore(s.version, s.floor)
}

// covers reports whether objects of a namespace come from s.
func (s *source[T]) covers(namespace string) bool {
	return s.namespace == "" || s.namespace == namespace
}

func (s *source[T]) failed(err error) {
	s.core.mu.Lock()
	s.lastErr = err
	s.core.mu.Unlock()
	s.core.fail(err)
}

// advance notes that a source has delivered everything up to version. The lock is held.
func (c *core[T]) advance(s *source[T], version string) {
	s.at = time.Now()
	s.lastErr = nil
	if version != s.version && !after(s.version, version) {
		// A copy: the version of an event shares memory with its object.
		s.version = strings.Clone(version)
	}
	if len(c.overlay.byKey) > 0 {
		c.overlay.sweep(s, c.uncovered)
	}
	c.wake()
}

// incoming is a whole collection while it is being read.
type incoming[T metav1.Object] struct {
	s           *source[T]
	seq         uint64
	start       time.Time
	byNamespace map[string]map[string]*object[T]
	// order holds the objects in the order of the server's list, including those that were replaced or
	// removed since.
	order  []*object[T]
	unread []*client.DecodeError
}

// Add implements reflector.Copy.
func (n *incoming[T]) Add(e client.Encoded) {
	c := n.s.core
	c.mu.RLock()
	o := c.base(e.Key)
	c.mu.RUnlock()
	// An unchanged object is kept, so that a second read costs no second copy.
	if o == nil || !o.same(e.UID, e.ResourceVersion) {
		o = c.accept(e)
	}
	n.put(o)
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

// at returns the object of a key, nil if there is none.
func (n *incoming[T]) at(key types.NamespacedName) *object[T] {
	return n.byNamespace[key.Namespace][key.Name]
}

// Remove implements reflector.Copy.
func (n *incoming[T]) Remove(e client.Encoded) { delete(n.byNamespace[e.Key.Namespace], e.Key.Name) }

// Commit implements reflector.Copy.
func (n *incoming[T]) Commit(version string) {
	s, c := n.s, n.s.core
	n.order = slices.DeleteFunc(n.order, func(o *object[T]) bool { return n.at(o.key) != o })
	c.lockWith(n.order...)
	first := !s.synced
	var regressed error
	if len(n.unread) == 0 {
		// Otherwise a missing object may be among those that could not be read.
		if !first && version != "" {
			c.applyWritten(s, version, n.at)
		}
		c.deleteAll(s, func(old *object[T]) bool { return n.at(old.key) == nil })
	}
	for _, o := range n.order {
		if old := c.base(o.key); old != o {
			c.change(old, o, first, false)
		}
	}
	s.addGap(version)
	s.committed, s.unread = n.seq, n.unread
	s.synced, c.absent = true, false
	if after(s.version, version) && version != "" {
		// As after the server's data was restored from a backup: the current data counts.
		regressed = &RegressedError{Resource: c.name(), From: s.version, To: strings.Clone(version)}
		s.version = strings.Clone(version)
	}
	c.overlay.drop(func(e *ownWrite[T]) bool {
		return s.covers(e.key.Namespace) && e.deleted && n.seq > e.begun
	}, c.uncovered)
	c.advance(s, version)
	if !c.synced && !slices.ContainsFunc(c.sources, func(s *source[T]) bool { return !s.synced }) {
		c.synced = true
		for _, h := range c.handlers {
			h.q.putMark()
		}
		close(c.syncGate)
	}
	hs := slices.Clone(c.handlers)
	delta := c.unsyncedDelta()
	c.mu.Unlock()
	c.countUnsynced(delta)
	c.signal(hs)
	if regressed != nil {
		c.fail(regressed)
	}
	if f := c.set.opts.Metrics.Read; f != nil {
		f(c.name(), !first, time.Since(n.start))
	}
}

// RegressedError reports a collection whose version is lower than before.
type RegressedError struct {
	// Resource that was read.
	Resource string
	// From and To are the versions.
	From, To string
}

// Error names the resource and the versions.
func (e *RegressedError) Error() string {
	return fmt.Sprintf("informers: resourceVersion of %s regressed from %s to %s", e.Resource, e.From, e.To)
}

// NotServedError reports that the server has stopped serving a resource: a CustomResourceDefinition was
// removed. The objects of the copy are reported as deleted.
type NotServedError struct {
	// Resource that was read.
	Resource string
}

// Error names the resource.
func (e *NotServedError) Error() string {
	return "informers: " + e.Resource + " is no longer served: its objects are reported as deleted"
}

// maxBehind is how long AtLeast waits for the watch before it requests another read of the collection.
const maxBehind = time.Second

// atLeast is [Lister.AtLeast] of one source.
func (s *source[T]) atLeast(ctx context.Context, version string) error {
	c := s.core
	_, comparable := compareVersions(version, "")
	var overdue <-chan time.Time
	if comparable {
		t := time.NewTimer(maxBehind)
		defer t.Stop()
		overdue = t.C
	}
	relisted := !comparable
	c.mu.Lock()
	begun := s.begun
	done := s.synced && notBefore(s.version, version)
	c.mu.Unlock()
	if done {
		return nil
	}
	if relisted {
		s.reflector.Relist("")
	}
	for {
		c.mu.Lock()
		done := s.synced && (notBefore(s.version, version) || relisted && s.committed > begun)
		gate := c.changed()
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-gate:
		case <-overdue:
			c.mu.Lock()
			begun, relisted = s.begun, true
			c.mu.Unlock()
			s.reflector.Relist(version)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
