package informers

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Lister reads an informer's copy, own writes included. Its methods may be called from many goroutines and do
// no I/O.
//
// No result is incomplete without an error:
//
//   - Before the informer has synced every method returns a [*NotSyncedError]. A resource that the server
//     does not serve has no objects.
//   - A key or a list in a namespace that the informer does not hold is a [*NotHeldError].
//   - For an object that cannot be decoded Get and View return a [*client.DecodeError]; List and ViewAll
//     return a [*client.PartialError] beside all other objects. So a caller that stops at an error never
//     takes an existing object for one that does not exist.
type Lister[T metav1.Object] struct{ core *core[T] }

// NotSyncedError reports that an informer has not synced yet.
type NotSyncedError struct {
	// Resource of the informer.
	Resource string
	// Err is what has ended a wait for the sync, or the last failure; it may be nil.
	Err error
}

// Error names the resource and the reason.
func (e *NotSyncedError) Error() string {
	if e.Err == nil {
		return "informers: " + e.Resource + " not synced"
	}
	return fmt.Sprintf("informers: %s not synced: %v", e.Resource, e.Err)
}

// Public returns the resource, for the page of a health server.
func (e *NotSyncedError) Public() string { return e.Resource }

// Unwrap returns Err.
func (e *NotSyncedError) Unwrap() error { return e.Err }

// ListOptions select objects of a copy.
type ListOptions struct {
	// Namespace limits the list; empty means all.
	Namespace string
	// LabelSelector limits the list by labels; zero means everything.
	LabelSelector labels.Selector
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

// View calls f with an object without copying it. Its errors are those of Get. f must not change the object;
// it may keep it for reading.
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

// Has reports whether an object of the key exists, even if it cannot be decoded.
func (l Lister[T]) Has(key types.NamespacedName) (bool, error) {
	_, err := l.core.find(key)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// List returns private copies of the selected objects, ordered by namespace and name. Each is decoded or
// copied; ViewAll costs less.
func (l Lister[T]) List(opts ListOptions) ([]T, error) {
	objs, left, err := l.core.selected(opts)
	if err != nil {
		return nil, err
	}
	return l.core.copies(objs, left)
}

// Keys returns the keys of the selected objects, ordered by namespace and name. It decodes nothing.
func (l Lister[T]) Keys(opts ListOptions) ([]types.NamespacedName, error) {
	objs, left, err := l.core.selected(opts)
	if err != nil {
		return nil, err
	}
	return keysOf(objs), left.err()
}

// ViewAll calls f with each selected object, ordered by namespace and name, all as of one moment, until f
// returns false. See View for the rules on sharing.
func (l Lister[T]) ViewAll(opts ListOptions, f func(obj T) bool) error {
	objs, left, err := l.core.selected(opts)
	if err != nil {
		return err
	}
	return l.core.view(objs, left, f)
}

// Version returns the resourceVersion the copy has reached; of several namespaces, that of the first.
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

// Snapshot returns the copy as it is now. It costs a pointer per object and keeps these versions of the
// objects in memory while it is referenced.
func (l Lister[T]) Snapshot() (*Snapshot[T], error) {
	c := l.core
	c.mu.RLock()
	left, err := c.beginRead()
	s := &Snapshot[T]{core: c, Version: c.sources[0].version, objs: c.selectedLocked(ListOptions{}), left: left}
	c.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	sortObjects(s.objs)
	return s, nil
}

// Len returns the number of objects.
func (s *Snapshot[T]) Len() int { return len(s.objs) }

// Get returns a private copy of an object, or a NotFound *apierrors.StatusError.
func (s *Snapshot[T]) Get(key types.NamespacedName) (T, error) {
	i, ok := slices.BinarySearchFunc(s.objs, key, func(o *object[T], k types.NamespacedName) int { return o.key.Compare(k) })
	if !ok {
		var zero T
		if err := s.core.holds(key.Namespace); err != nil {
			return zero, err
		}
		return zero, s.core.notFound(key, s.left)
	}
	return s.core.decode(s.objs[i])
}

// View calls f with each object, ordered by namespace and name, until f returns false. Its errors and the
// rules on sharing are those of Lister.ViewAll.
func (s *Snapshot[T]) View(f func(obj T) bool) error { return s.core.view(s.objs, s.left, f) }

// AtLeast returns when the copy, in all its namespaces, has reached the resourceVersion of a write by this
// program or another. If the watch does not reach it within a second the collection is read again, not older
// than that version. A version that is not a decimal number cannot be compared, and the collection is always
// read again. The error wraps that of ctx.
func (l Lister[T]) AtLeast(ctx context.Context, version string) error {
	c := l.core
	if c.err != nil {
		return c.err
	}
	if version == "" || version == "0" {
		return c.waitForSync(ctx)
	}
	// In parallel: a namespace without changes may have to be read again.
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

// beginRead begins a read of the copy. The error is a *NotSyncedError, or that of a type that is not
// registered. The lock is held.
func (c *core[T]) beginRead() (partial[T], error) {
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

// notSynced returns the error of a read or wait before the sync, with cause or else the last failure. The
// lock is held.
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

// holds returns a *NotHeldError if the informer does not hold a namespace.
func (c *core[T]) holds(namespace string) error {
	if len(c.opts.Namespaces) == 0 || slices.Contains(c.opts.Namespaces, namespace) {
		return nil
	}
	return &NotHeldError{Resource: c.name(), Namespace: namespace, Namespaces: slices.Clone(c.opts.Namespaces)}
}

// find returns the state readers see of a key.
func (c *core[T]) find(key types.NamespacedName) (*object[T], error) {
	if err := c.holds(key.Namespace); err != nil {
		return nil, err
	}
	c.mu.RLock()
	left, err := c.beginRead()
	o := c.get(key)
	if o != nil {
		o.markRead()
	}
	c.mu.RUnlock()
	switch {
	case err != nil:
		return nil, err
	case o == nil:
		return nil, c.notFound(key, left)
	}
	return o, nil
}

// notFound returns the error for a key that is not in the copy: NotFound, unless it may be among the items
// that could not be read.
func (c *core[T]) notFound(key types.NamespacedName, left partial[T]) error {
	if err := left.err(); err != nil {
		return err
	}
	return apierrors.NewNotFound(c.client.Resource().GVR.GroupResource(), key.Name)
}

func (c *core[T]) selected(opts ListOptions) ([]*object[T], partial[T], error) {
	if opts.Namespace != "" {
		if err := c.holds(opts.Namespace); err != nil {
			return nil, partial[T]{core: c}, err
		}
	}
	c.mu.RLock()
	left, err := c.beginRead()
	var objs []*object[T]
	if err == nil {
		objs = c.selectedLocked(opts)
	}
	c.mu.RUnlock()
	sortObjects(objs)
	return objs, left, err
}

func (c *core[T]) selectedLocked(opts ListOptions) []*object[T] {
	var out []*object[T]
	all := opts.LabelSelector.Empty()
	if all {
		n := c.count
		if opts.Namespace != "" {
			n = len(c.byNamespace[opts.Namespace])
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
			obj.markRead() // that it is not selected is a result too
			if all || opts.LabelSelector.MatchesFunc(obj.label) {
				out = append(out, obj)
			}
		}
	}
	if opts.Namespace != "" {
		take(c.byNamespace[opts.Namespace])
	} else {
		for _, m := range c.byNamespace {
			take(m)
		}
	}
	for key := range c.overlay.byKey {
		if opts.Namespace != "" && opts.Namespace != key.Namespace {
			continue
		}
		obj := c.get(key)
		if obj == nil {
			continue
		}
		obj.markRead()
		if all || opts.LabelSelector.MatchesFunc(obj.label) {
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
