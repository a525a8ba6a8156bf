package informers

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// IndexDefinition computes the values under which an index finds objects. It is made by [DefineIndex],
// usually once in a package, and is immutable.
type IndexDefinition[T metav1.Object] struct {
	name   string
	values func(obj T) []string
}

// DefineIndex returns a definition for [Informer.Index]: values returns the values under which an object is
// found, any number of them. It must not change the object, and is called once for each version of each
// object. name appears in errors.
func DefineIndex[T metav1.Object](name string, values func(obj T) []string) *IndexDefinition[T] {
	return &IndexDefinition[T]{name: name, values: values}
}

// index finds objects by the values its definition computes of them.
type index[T metav1.Object] struct {
	*IndexDefinition[T]
	byValue map[string]*bucket[T]
	of      map[types.NamespacedName]*filed[T]
	// unfiled are the objects whose values are unknown, because they cannot be decoded or the function has
	// panicked. Any of them may belong to any value.
	unfiled map[types.NamespacedName]unfiled[T]
}

// unfiled is an object without a place in an index.
type unfiled[T metav1.Object] struct {
	obj *object[T]
	err error
}

// filed is the entry of one object in an index. Its strings are copies, since those of the object are
// replaced with each version.
type filed[T metav1.Object] struct {
	key types.NamespacedName
	// obj is the state readers see.
	obj    *object[T]
	places []place
}

// place is the position of an object in the bucket of a value.
type place struct {
	value string
	at    int
}

// bucket holds the entries of one value.
type bucket[T metav1.Object] struct {
	members []*filed[T] // in no order
	// ordered is members sorted by key, made by the first reader after members has changed, and immutable.
	ordered atomic.Pointer[[]*filed[T]]
}

// sorted returns the members by key. The lock is held at least for reading: two readers may both sort, with
// the same result.
func (b *bucket[T]) sorted() []*filed[T] {
	if s := b.ordered.Load(); s != nil {
		return *s
	}
	s := slices.Clone(b.members)
	slices.SortFunc(s, func(a, b *filed[T]) int { return a.key.Compare(b.key) })
	b.ordered.Store(&s)
	return s
}

// indexed are the values of one version of an object.
type indexed[T metav1.Object] struct{ of map[*index[T]]computed }

// computed are the values of an object in one index, or the error of computing them.
type computed struct {
	values []string
	err    error
}

// has reports whether the values of o in ix have been computed.
func (ix *index[T]) has(o *object[T]) bool {
	in := o.indexed.Load()
	if in == nil {
		return false
	}
	_, ok := in.of[ix]
	return ok
}

// absentBetween reports whether an index has a value of two states that o, between them, has not: a reader
// may have found that the object is not filed there.
func (o *object[T]) absentBetween(before, after *object[T]) bool {
	was, is, will := before.indexed.Load(), o.indexed.Load(), after.indexed.Load()
	if was == nil || is == nil || will == nil {
		return false
	}
	for ix, now := range is.of {
		if slices.Equal(was.of[ix].values, now.values) {
			continue
		}
		for _, v := range was.of[ix].values {
			if !slices.Contains(now.values, v) && slices.Contains(will.of[ix].values, v) {
				return true
			}
		}
	}
	return false
}

// valuesOf calls an index function. A panic is reported and returned.
func (c *core[T]) valuesOf(ix *index[T], obj T, key types.NamespacedName) (out computed) {
	defer func() {
		if v := recover(); v != nil {
			out = computed{err: &PanicError{Where: fmt.Sprintf("index %q of %s for %s", ix.name, c.name(), key), Value: v, Stack: debug.Stack()}}
			c.fail(out.err)
		}
	}()
	return computed{values: ix.values(obj)}
}

// lockWith computes the values of objs in every index without the lock, since index functions are the user's,
// and then locks for writing.
func (c *core[T]) lockWith(objs ...*object[T]) {
	for {
		c.mu.RLock()
		list := c.indexes
		c.mu.RUnlock()
		if len(list) > 0 {
			for _, o := range objs {
				c.compute(o, list)
			}
		}
		c.mu.Lock()
		if len(c.indexes) == len(list) {
			return
		}
		// An index was added meanwhile.
		c.mu.Unlock()
	}
}

// compute computes the missing values of o in the indexes of list. It is called without the lock.
func (c *core[T]) compute(o *object[T], list []*index[T]) {
	for slices.ContainsFunc(list, func(ix *index[T]) bool { return !ix.has(o) }) {
		have := o.indexed.Load()
		next := &indexed[T]{of: make(map[*index[T]]computed, len(list))}
		if have != nil {
			maps.Copy(next.of, have.of)
		}
		obj, err := c.shared(o)
		if err != nil {
			c.failedToDecode(o, err)
		}
		for _, ix := range list {
			if _, ok := next.of[ix]; ok {
				continue
			}
			if err != nil {
				next.of[ix] = computed{err: err}
				continue
			}
			next.of[ix] = c.valuesOf(ix, obj, o.key)
		}
		if o.indexed.CompareAndSwap(have, next) {
			return
		}
	}
}

// reindex updates the entries of a key to the state readers see. The lock is held.
func (c *core[T]) reindex(key types.NamespacedName) {
	if len(c.indexes) == 0 {
		return
	}
	o := c.get(key)
	for _, ix := range c.indexes {
		ix.file(key, o)
	}
}

// file makes obj, the state readers see, the entry of a key; nil removes it.
func (ix *index[T]) file(key types.NamespacedName, obj *object[T]) {
	f := ix.of[key]
	delete(ix.unfiled, key)
	if obj == nil {
		if f != nil {
			ix.unfile(f)
			delete(ix.of, key)
		}
		return
	}
	var found computed
	if in := obj.indexed.Load(); in != nil {
		found = in.of[ix]
	}
	if found.err != nil {
		if ix.unfiled == nil {
			ix.unfiled = map[types.NamespacedName]unfiled[T]{}
		}
		ix.unfiled[obj.key] = unfiled[T]{obj, found.err}
	}
	vals := found.values
	if f == nil {
		f = &filed[T]{key: types.NamespacedName{Namespace: strings.Clone(key.Namespace), Name: strings.Clone(key.Name)}}
		ix.of[f.key] = f
	}
	f.obj = obj
	if slices.EqualFunc(f.places, vals, func(p place, v string) bool { return p.value == v }) {
		return
	}
	ix.unfile(f)
	f.places = make([]place, 0, len(vals))
	for _, v := range vals {
		if slices.ContainsFunc(f.places, func(p place) bool { return p.value == v }) {
			continue
		}
		b := ix.byValue[v]
		if b == nil {
			b, v = &bucket[T]{}, strings.Clone(v)
			ix.byValue[v] = b
		} else {
			// All members share the string of the first.
			v = b.members[0].under(v)
		}
		f.places = append(f.places, place{v, len(b.members)})
		b.members = append(b.members, f)
		b.ordered.Store(nil)
	}
}

// under returns the copy of value that f holds.
func (f *filed[T]) under(value string) string {
	return f.places[slices.IndexFunc(f.places, func(p place) bool { return p.value == value })].value
}

// unfile removes f from all its buckets; the last member of each moves to its position.
func (ix *index[T]) unfile(f *filed[T]) {
	for _, p := range f.places {
		b := ix.byValue[p.value]
		n := len(b.members) - 1
		last := b.members[n]
		b.members[p.at] = last
		last.places[slices.IndexFunc(last.places, func(q place) bool { return q.value == p.value })].at = p.at
		b.members[n] = nil
		b.members = b.members[:n]
		b.ordered.Store(nil)
		if n == 0 {
			delete(ix.byValue, p.value)
		}
	}
	f.places = nil
}

// index returns the index of a definition, which the first call adds and fills.
func (c *core[T]) index(d *IndexDefinition[T]) *index[T] {
	// One at a time, so that every caller gets a filled index.
	c.indexing.Lock()
	defer c.indexing.Unlock()
	ix := &index[T]{IndexDefinition: d, byValue: map[string]*bucket[T]{}, of: map[types.NamespacedName]*filed[T]{}}
	c.mu.Lock()
	if i := slices.IndexFunc(c.indexes, func(ix *index[T]) bool { return ix.IndexDefinition == d }); i >= 0 {
		ix = c.indexes[i]
		c.mu.Unlock()
		return ix
	}
	// From here on lockWith computes the values of this index too.
	c.indexes = append(slices.Clip(c.indexes), ix)
	list := c.indexes
	c.mu.Unlock()
	for {
		var missing []*object[T]
		c.mu.Lock()
		c.each(func(o *object[T]) {
			if !ix.has(o) {
				missing = append(missing, o)
			}
		})
		if len(missing) == 0 {
			c.each(func(o *object[T]) { ix.file(o.key, c.get(o.key)) })
			c.mu.Unlock()
			return ix
		}
		c.mu.Unlock()
		for _, o := range missing {
			c.compute(o, list)
		}
	}
}

// each calls f for every object of the copy and of the overlay. The lock is held.
func (c *core[T]) each(f func(*object[T])) {
	for _, m := range c.byNamespace {
		for _, o := range m {
			f(o)
		}
	}
	for _, e := range c.overlay.byKey {
		if e.obj != nil {
			f(e.obj)
		}
	}
}

// Index reads an informer's copy by the values of a definition, own writes included. Its methods may be
// called from many goroutines and do no I/O. Their errors are those of [Lister]; in addition, while the
// values of an object are unknown every method returns a [*client.PartialError], since it may belong to any
// value.
type Index[T metav1.Object] struct {
	core *core[T]
	ix   *index[T]
}

// List returns private copies of the objects filed under value, ordered by namespace and name.
func (x Index[T]) List(value string) ([]T, error) {
	objs, left, err := x.under(value)
	if err != nil {
		return nil, err
	}
	return x.core.copies(objs, left)
}

// View calls f with each object filed under value, ordered by namespace and name, until f returns false. See
// [Lister.View] for the rules on sharing.
func (x Index[T]) View(value string, f func(obj T) bool) error {
	objs, left, err := x.under(value)
	if err != nil {
		return err
	}
	return x.core.view(objs, left, f)
}

// Keys returns the keys of the objects filed under value, ordered by namespace and name. It decodes nothing.
func (x Index[T]) Keys(value string) ([]types.NamespacedName, error) {
	c := x.core
	c.mu.RLock()
	left, err := c.beginRead()
	x.ix.noteUnfiled(&left)
	var fs []*filed[T]
	if b := x.ix.byValue[value]; b != nil {
		fs = b.sorted()
	}
	for _, f := range fs {
		f.obj.markRead()
	}
	c.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	// Only the keys of fs may be read without the lock.
	keys := make([]types.NamespacedName, len(fs))
	for i, f := range fs {
		keys[i] = f.key
	}
	return keys, left.err()
}

// Len returns how many objects are filed under value, which is what reading them costs. It is 0 before the
// informer has synced, and objects whose values are unknown are not counted.
func (x Index[T]) Len(value string) int {
	x.core.mu.RLock()
	defer x.core.mu.RUnlock()
	b := x.ix.byValue[value]
	if b == nil {
		return 0
	}
	return len(b.members)
}

// Values returns all values under which there are objects, in order.
func (x Index[T]) Values() ([]string, error) {
	c := x.core
	c.mu.RLock()
	left, err := c.beginRead()
	x.ix.noteUnfiled(&left)
	out := slices.Sorted(maps.Keys(x.ix.byValue))
	c.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	return out, left.err()
}

// noteUnfiled adds the unfiled objects to left, by key. The lock is held.
func (ix *index[T]) noteUnfiled(left *partial[T]) {
	if len(ix.unfiled) == 0 {
		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(ix.unfiled), types.NamespacedName.Compare) {
		left.add(ix.unfiled[key].obj, ix.unfiled[key].err)
	}
}

// under returns the objects filed under value, by key, and the unfiled ones.
func (x Index[T]) under(value string) ([]*object[T], partial[T], error) {
	c := x.core
	c.mu.RLock()
	defer c.mu.RUnlock()
	left, err := c.beginRead()
	if err != nil {
		return nil, left, err
	}
	x.ix.noteUnfiled(&left)
	b := x.ix.byValue[value]
	if b == nil {
		return nil, left, nil
	}
	fs := b.sorted()
	objs := make([]*object[T], len(fs))
	for i, f := range fs {
		objs[i] = f.obj
		f.obj.markRead()
	}
	return objs, left, nil
}
