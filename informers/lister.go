package informers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Lister reads an informer's copy, own writes included. Its methods may be called from many goroutines and do no
// I/O, unless a memory budget made the informer give up bodies.
type Lister[T metav1.Object] struct{ core *core[T] }

// ListOptions select objects of a copy.
type ListOptions struct {
	// Namespace limits the list; empty means all.
	Namespace string
	// Selector limits the list by labels; zero means everything.
	Selector labels.Selector
}

// Get returns a private copy of an object, or a NotFound *apierrors.StatusError.
func (l Lister[T]) Get(key types.NamespacedName) (T, error) {
	o := l.core.look(key)
	if o == nil {
		var zero T
		return zero, apierrors.NewNotFound(l.core.client.Resource().GVR.GroupResource(), key.Name)
	}
	return l.core.decode(o)
}

// View calls f with an object without copying it and reports whether there is one that can be decoded. f must
// not change the object, and may keep it only to read it.
func (l Lister[T]) View(key types.NamespacedName, f func(obj T)) bool {
	o := l.core.look(key)
	if o == nil {
		return false
	}
	obj, err := l.core.sharedOrError(o)
	if err != nil {
		l.core.fail(err)
		return false
	}
	f(obj)
	l.core.checkMutation(o)
	return true
}

// Has reports whether there is an object of the key.
func (l Lister[T]) Has(key types.NamespacedName) bool { return l.core.look(key) != nil }

// Len returns how many objects the server has told of.
func (l Lister[T]) Len() int {
	l.core.mu.RLock()
	defer l.core.mu.RUnlock()
	return l.core.count
}

// List returns private copies of the selected objects, ordered by namespace and name. Objects that cannot be
// decoded are reported and left out.
func (l Lister[T]) List(o ListOptions) []T { return l.core.copies(l.core.selected(o)) }

// Keys returns the keys of the selected objects, ordered by namespace and name. It decodes nothing.
func (l Lister[T]) Keys(o ListOptions) []types.NamespacedName {
	objs := l.core.selected(o)
	keys := make([]types.NamespacedName, len(objs))
	for i, o := range objs {
		keys[i] = o.key
	}
	return keys
}

// ViewAll calls f with each selected object, ordered by namespace and name, all as of one moment, until f
// returns false. What is said of View holds.
func (l Lister[T]) ViewAll(o ListOptions, f func(obj T) bool) {
	l.core.view(l.core.selected(o), f)
}

// ByIndex returns private copies of the objects an index files under value, ordered by namespace and
// name. An index that was never added has none.
func (l Lister[T]) ByIndex(name, value string) []T {
	return l.core.copies(l.core.filedUnder(name, value))
}

// ViewByIndex calls f with each object an index files under value until f returns false. What is said of View holds.
func (l Lister[T]) ViewByIndex(name, value string, f func(obj T) bool) {
	l.core.view(l.core.filedUnder(name, value), f)
}

// KeysByIndex returns the keys of the objects an index files under value, ordered by namespace and name.
func (l Lister[T]) KeysByIndex(name, value string) []types.NamespacedName {
	l.core.mu.RLock()
	fs := l.core.bucket(name, value)
	l.core.mu.RUnlock()
	keys := make([]types.NamespacedName, len(fs))
	for i, f := range fs {
		keys[i] = f.key
	}
	return keys
}

// IndexValues returns the values an index files objects under, in order.
func (l Lister[T]) IndexValues(name string) []string {
	l.core.mu.RLock()
	defer l.core.mu.RUnlock()
	ix := l.core.indexNamed(name)
	if ix == nil {
		return nil
	}
	out := make([]string, 0, len(ix.byValue))
	for v := range ix.byValue {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
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
}

// Snapshot returns the copy as it is now. It costs a pointer per object and keeps those versions in memory while it is used.
func (l Lister[T]) Snapshot() *Snapshot[T] {
	c := l.core
	c.mu.RLock()
	s := &Snapshot[T]{core: c, Version: c.sources[0].version, objs: c.selectedLocked(ListOptions{})}
	c.mu.RUnlock()
	sortObjects(s.objs)
	return s
}

// Len returns how many objects there are.
func (s *Snapshot[T]) Len() int { return len(s.objs) }

// Get returns a private copy of an object, or a NotFound *apierrors.StatusError.
func (s *Snapshot[T]) Get(key types.NamespacedName) (T, error) {
	i, ok := slices.BinarySearchFunc(s.objs, key, func(o *object[T], k types.NamespacedName) int { return o.key.Compare(k) })
	if !ok {
		var zero T
		return zero, apierrors.NewNotFound(s.core.client.Resource().GVR.GroupResource(), key.Name)
	}
	return s.core.decode(s.objs[i])
}

// View calls f with each object, ordered by namespace and name, until f returns false. What is said of Lister.View holds.
func (s *Snapshot[T]) View(f func(obj T) bool) { s.core.view(s.objs, f) }

// maxBehind is how long AtLeast waits for the watch before it has the collection read again.
const maxBehind = time.Second

// AtLeast returns when the copy is at or past the version of some write, by this program or another. If the
// watch does not get there within a second the collection is read again, not older than that version. A version that is not a
// decimal number cannot be compared and always means reading again. The error is that of ctx, wrapped.
func (l Lister[T]) AtLeast(ctx context.Context, version string) error {
	c := l.core
	if c.err != nil {
		return c.err
	}
	if version == "" || version == "0" {
		return c.waitForSync(ctx)
	}
	for _, s := range c.sources {
		if err := s.atLeast(ctx, version); err != nil {
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
		done := s.synced && (comparable && s.number >= want || asked && s.commited > begun)
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

// look returns the state readers see of a key.
func (c *core[T]) look(key types.NamespacedName) *object[T] {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.get(key)
}

func (c *core[T]) selected(o ListOptions) []*object[T] {
	c.mu.RLock()
	objs := c.selectedLocked(o)
	c.mu.RUnlock()
	sortObjects(objs)
	return objs
}

func (c *core[T]) selectedLocked(o ListOptions) []*object[T] {
	var out []*object[T]
	all := o.Selector.Empty()
	if all {
		n := c.count
		if o.Namespace != "" {
			n = len(c.spaces[o.Namespace])
		}
		out = make([]*object[T], 0, n)
	}
	overlaid := len(c.over.byKey) > 0
	take := func(m map[string]*object[T]) {
		for _, obj := range m {
			if overlaid {
				if e := c.over.byKey[obj.key]; e != nil {
					continue
				}
			}
			if all || o.Selector.MatchesFunc(obj.label) {
				out = append(out, obj)
			}
		}
	}
	if o.Namespace != "" {
		take(c.spaces[o.Namespace])
	} else {
		for _, m := range c.spaces {
			take(m)
		}
	}
	for key := range c.over.byKey {
		if o.Namespace != "" && o.Namespace != key.Namespace {
			continue
		}
		if obj := c.get(key); obj != nil && (all || o.Selector.MatchesFunc(obj.label)) {
			out = append(out, obj)
		}
	}
	return out
}

// filedUnder returns the objects an index files under value, by key.
func (c *core[T]) filedUnder(name, value string) []*object[T] {
	c.mu.RLock()
	defer c.mu.RUnlock()
	fs := c.bucket(name, value)
	out := make([]*object[T], len(fs))
	for i, f := range fs {
		out[i] = f.obj
	}
	return out
}

// bucket returns what an index files under value, by key. The lock is held; afterwards only the keys may be read.
func (c *core[T]) bucket(name, value string) []*filed[T] {
	ix := c.indexNamed(name)
	if ix == nil || ix.byValue[value] == nil {
		return nil
	}
	return ix.byValue[value].sorted()
}

func sortObjects[T metav1.Object](objs []*object[T]) {
	slices.SortFunc(objs, func(a, b *object[T]) int { return a.key.Compare(b.key) })
}

func (c *core[T]) copies(objs []*object[T]) []T {
	out := make([]T, 0, len(objs))
	for _, o := range objs {
		obj, err := c.decode(o)
		if err != nil {
			c.fail(err)
			continue
		}
		out = append(out, obj)
	}
	return out
}

func (c *core[T]) view(objs []*object[T], f func(T) bool) {
	for _, o := range objs {
		obj, err := c.sharedOrError(o)
		if err != nil {
			c.fail(err)
			continue
		}
		more := f(obj)
		c.checkMutation(o)
		if !more {
			return
		}
	}
}
