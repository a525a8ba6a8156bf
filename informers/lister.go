package informers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Lister reads an informer's copy, own writes included. Its methods may be called from many goroutines and do
// no I/O.
//
// Nothing is ever missing from an answer without an error:
//
//   - Before the first whole collection has been read every method returns a [*NotSyncedError]. A resource
//     that the server does not serve has no objects, and is read as such.
//   - An object that cannot be decoded is a [*client.DecodeError] of Get and View, and beside a list of all
//     others a [*client.PartialError]. So whoever stops at an error never takes an object for one that does
//     not exist.
type Lister[T metav1.Object] struct{ core *core[T] }

// NotSyncedError says that a copy does not hold its whole collection yet.
type NotSyncedError struct {
	// Resource that is read.
	Resource string
	// Err is what has ended a wait for it, or the last failure; nil if there is none.
	Err error
}

// Error names the resource and gives the reason.
func (e *NotSyncedError) Error() string {
	if e.Err == nil {
		return "informers: " + e.Resource + " not synced"
	}
	return fmt.Sprintf("informers: %s not synced: %v", e.Resource, e.Err)
}

// Unwrap returns the reason.
func (e *NotSyncedError) Unwrap() error { return e.Err }

// ListOptions select objects of a copy.
type ListOptions struct {
	// Namespace limits the list; empty means all.
	Namespace string
	// Selector limits the list by labels; zero means everything.
	Selector labels.Selector
}

// Get returns a private copy of an object, or a NotFound *apierrors.StatusError.
func (l Lister[T]) Get(key types.NamespacedName) (T, error) {
	o, err := l.core.find(key)
	if err != nil {
		var zero T
		return zero, err
	}
	return l.core.decode(o)
}

// View calls f with an object without copying it. Its errors are those of Get. f must not change the object,
// and may keep it only to read it.
func (l Lister[T]) View(key types.NamespacedName, f func(obj T)) error {
	o, err := l.core.find(key)
	if err != nil {
		return err
	}
	obj, err := l.core.shared(o)
	if err != nil {
		return err
	}
	f(obj)
	l.core.checkMutation(o)
	return nil
}

// Has reports whether there is an object of the key, which need not be one that can be decoded.
func (l Lister[T]) Has(key types.NamespacedName) (bool, error) {
	_, err := l.core.find(key)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// List returns private copies of the selected objects, ordered by namespace and name. Each is decoded or
// copied: to look at many, ViewAll costs less.
func (l Lister[T]) List(o ListOptions) ([]T, error) {
	objs, left, err := l.core.selected(o)
	if err != nil {
		return nil, err
	}
	return l.core.copies(objs, left)
}

// Keys returns the keys of the selected objects, ordered by namespace and name. It decodes nothing.
func (l Lister[T]) Keys(o ListOptions) ([]types.NamespacedName, error) {
	objs, left, err := l.core.selected(o)
	if err != nil {
		return nil, err
	}
	return keysOf(objs), left.err()
}

// ViewAll calls f with each selected object, ordered by namespace and name, all as of one moment, until f
// returns false. See View for the rules on sharing.
func (l Lister[T]) ViewAll(o ListOptions, f func(obj T) bool) error {
	objs, left, err := l.core.selected(o)
	if err != nil {
		return err
	}
	return l.core.view(objs, left, f)
}

// Version returns the version the copy has reached; of several namespaces, that of the first.
func (l Lister[T]) Version() string {
	l.core.mu.RLock()
	defer l.core.mu.RUnlock()
	return l.core.sources[0].version
}

// Snapshot is an informer's copy at one moment: no object in it is newer than Version, own writes excepted.
type Snapshot[T metav1.Object] struct {
	// Version the copy had reached.
	Version string
	core    *core[T]
	objs    []*object[T]
	left    partial[T]
}

// Snapshot returns the copy as it is now. It costs a pointer per object and keeps those versions in memory
// while it is used.
func (l Lister[T]) Snapshot() (*Snapshot[T], error) {
	c := l.core
	c.mu.RLock()
	left, err := c.reading()
	s := &Snapshot[T]{core: c, Version: c.sources[0].version, objs: c.selectedLocked(ListOptions{}), left: left}
	c.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	sortObjects(s.objs)
	return s, nil
}

// Len returns how many objects there are.
func (s *Snapshot[T]) Len() int { return len(s.objs) }

// Get returns a private copy of an object, or a NotFound *apierrors.StatusError.
func (s *Snapshot[T]) Get(key types.NamespacedName) (T, error) {
	i, ok := slices.BinarySearchFunc(s.objs, key, func(o *object[T], k types.NamespacedName) int { return o.key.Compare(k) })
	if !ok {
		var zero T
		return zero, s.core.notFound(key, s.left)
	}
	return s.core.decode(s.objs[i])
}

// View calls f with each object, ordered by namespace and name, until f returns false. Its errors and the
// rules on sharing are those of Lister.ViewAll.
func (s *Snapshot[T]) View(f func(obj T) bool) error { return s.core.view(s.objs, s.left, f) }

// maxBehind is how long AtLeast waits for the watch before it has the collection read again.
const maxBehind = time.Second

// AtLeast returns when the copy, of all its namespaces, is at or past the version of some write, by this
// program or another. If the watch does not get there within a second the collection is read again, not older
// than that version. A version that is not a decimal number cannot be compared and always means reading
// again. The error is that of ctx, wrapped.
func (l Lister[T]) AtLeast(ctx context.Context, version string) error {
	c := l.core
	if c.err != nil {
		return c.err
	}
	if version == "" || version == "0" {
		return c.waitForSync(ctx)
	}
	// Side by side: a namespace in which nothing happens may have to be read again to know that.
	errs := make([]error, len(c.sources))
	var waits sync.WaitGroup
	for i, s := range c.sources[1:] {
		waits.Go(func() { errs[i+1] = s.atLeast(ctx, version) })
	}
	errs[0] = c.sources[0].atLeast(ctx, version)
	waits.Wait()
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("informers: %s at least at version %s: %w", c.name(), version, err)
		}
	}
	return nil
}

func (s *source[T]) atLeast(ctx context.Context, version string) error {
	c := s.core
	want, comparable := decimal(version)
	var patience <-chan time.Time
	if comparable {
		t := time.NewTimer(maxBehind)
		defer t.Stop()
		patience = t.C
	}
	asked := !comparable
	c.mu.Lock()
	begun := s.begun
	if comparable && s.synced && s.number >= want {
		c.mu.Unlock()
		return nil
	}
	c.mu.Unlock()
	if asked {
		s.r.Relist("")
	}
	for {
		c.mu.Lock()
		done := s.synced && (comparable && s.number >= want || asked && s.committed > begun)
		gate := c.changed()
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-gate:
		case <-patience:
			c.mu.Lock()
			begun, asked = s.begun, true
			c.mu.Unlock()
			s.r.Relist(version)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reading begins a reading of the copy: the error says that there is nothing to read yet. The lock is held.
func (c *core[T]) reading() (partial[T], error) {
	left := partial[T]{core: c}
	if c.err != nil {
		return left, c.err
	}
	if !c.synced && !c.absent {
		return left, c.notSynced(nil)
	}
	for _, s := range c.sources {
		left.items = append(left.items, s.unread...)
	}
	return left, nil
}

// notSynced is the error of who cannot read yet, because of cause or else the last failure. The lock is held.
func (c *core[T]) notSynced(cause error) error {
	var last error
	for _, s := range c.sources {
		if !s.synced && s.lastErr != nil {
			last = s.lastErr
		}
	}
	switch {
	case cause == nil:
		cause = last
	case last != nil:
		cause = fmt.Errorf("%w (last failure: %w)", cause, last)
	}
	return &NotSyncedError{Resource: c.name(), Err: cause}
}

// find returns the state readers see of a key.
func (c *core[T]) find(key types.NamespacedName) (*object[T], error) {
	c.mu.RLock()
	left, err := c.reading()
	o := c.get(key)
	c.mu.RUnlock()
	switch {
	case err != nil:
		return nil, err
	case o == nil:
		return nil, c.notFound(key, left)
	}
	return o, nil
}

// notFound is the error of who reads a key that is not in the copy, unless it may be among what could not be
// read.
func (c *core[T]) notFound(key types.NamespacedName, left partial[T]) error {
	if err := left.err(); err != nil {
		return err
	}
	return apierrors.NewNotFound(c.client.Resource().GVR.GroupResource(), key.Name)
}

func (c *core[T]) selected(o ListOptions) ([]*object[T], partial[T], error) {
	c.mu.RLock()
	left, err := c.reading()
	var objs []*object[T]
	if err == nil {
		objs = c.selectedLocked(o)
	}
	c.mu.RUnlock()
	sortObjects(objs)
	return objs, left, err
}

func (c *core[T]) selectedLocked(o ListOptions) []*object[T] {
	var out []*object[T]
	all := o.Selector.Empty()
	if all {
		n := c.count
		if o.Namespace != "" {
			n = len(c.byNamespace[o.Namespace])
		}
		out = make([]*object[T], 0, n)
	}
	overlaid := len(c.overlay.byKey) > 0
	take := func(m map[string]*object[T]) {
		for _, obj := range m {
			if overlaid {
				if e := c.overlay.byKey[obj.key]; e != nil {
					continue
				}
			}
			if all || o.Selector.MatchesFunc(obj.label) {
				out = append(out, obj)
			}
		}
	}
	if o.Namespace != "" {
		take(c.byNamespace[o.Namespace])
	} else {
		for _, m := range c.byNamespace {
			take(m)
		}
	}
	for key := range c.overlay.byKey {
		if o.Namespace != "" && o.Namespace != key.Namespace {
			continue
		}
		if obj := c.get(key); obj != nil && (all || o.Selector.MatchesFunc(obj.label)) {
			out = append(out, obj)
		}
	}
	return out
}

func sortObjects[T metav1.Object](objs []*object[T]) {
	slices.SortFunc(objs, func(a, b *object[T]) int { return a.key.Compare(b.key) })
}

func keysOf[T metav1.Object](objs []*object[T]) []types.NamespacedName {
	keys := make([]types.NamespacedName, len(objs))
	for i, o := range objs {
		keys[i] = o.key
	}
	return keys
}

func (c *core[T]) copies(objs []*object[T], left partial[T]) ([]T, error) {
	out := make([]T, 0, len(objs))
	for _, o := range objs {
		obj, err := c.decode(o)
		if err != nil {
			left.add(o, err)
			continue
		}
		out = append(out, obj)
	}
	return out, left.err()
}

func (c *core[T]) view(objs []*object[T], left partial[T], f func(T) bool) error {
	for _, o := range objs {
		obj, err := c.shared(o)
		if err != nil {
			left.add(o, err)
			continue
		}
		more := f(obj)
		c.checkMutation(o)
		if !more {
			break
		}
	}
	return left.err()
}
