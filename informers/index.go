package informers

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// index finds objects by values a function computes of them.
type index[T metav1.Object] struct {
	name string
	fn   func(T) []string
	// ready is false while the objects that were there before are being computed.
	ready   bool
	byValue map[string]*bucket[T]
	of      map[types.NamespacedName]*filed[T]
}

// filed is one object's place in an index. Its strings are its own: the object's come and go with each version.
type filed[T metav1.Object] struct {
	key types.NamespacedName
	// obj is the state readers see.
	obj    *object[T]
	places []place
}

// place is where in the bucket of a value an object is filed.
type place struct {
	value string
	at    int
}

// bucket holds what is filed under one value.
type bucket[T metav1.Object] struct {
	members []*filed[T] // in no order
	// ordered is members by key, made by the first reader after a member came or went, and never changed.
	ordered atomic.Pointer[[]*filed[T]]
}

// sorted returns the members by key. The lock is held at least for reading: two readers may both sort, to the same end.
func (b *bucket[T]) sorted() []*filed[T] {
	if s := b.ordered.Load(); s != nil {
		return *s
	}
	s := slices.Clone(b.members)
	slices.SortFunc(s, func(a, b *filed[T]) int { return a.key.Compare(b.key) })
	b.ordered.Store(&s)
	return s
}

// indexed are the values of one version of an object, by index name.
type indexed struct{ values map[string][]string }

// values calls an index function; a panic is reported and gives none.
func (c *core[T]) values(ix *index[T], obj T, key types.NamespacedName) (vals []string) {
	defer func() {
		if v := recover(); v != nil {
			vals = nil
			c.fail(&PanicError{Where: fmt.Sprintf("index %q of %s for %s", ix.name, c.name(), key), Value: v, Stack: debug.Stack()})
		}
	}()
	return ix.fn(obj)
}

// compute makes the index values of o that are missing. It is called without the lock.
func (c *core[T]) compute(o *object[T]) {
	c.mu.RLock()
	list := c.indexes
	c.mu.RUnlock()
	if len(list) == 0 {
		return
	}
	have := o.indexed.Load()
	next := &indexed{values: make(map[string][]string, len(list))}
	fresh := false
	var obj T
	for _, ix := range list {
		if have != nil {
			if v, ok := have.values[ix.name]; ok {
				next.values[ix.name] = v
				continue
			}
		}
		if !fresh {
			var err error
			if obj, err = c.sharedOrError(o); err != nil {
				c.fail(err)
				o.indexed.Store(next)
				return
			}
			fresh = true
		}
		next.values[ix.name] = c.values(ix, obj, o.key)
	}
	if fresh {
		o.indexed.Store(next)
	}
}

// reindex files a key anew by the state readers see. The lock is held.
func (c *core[T]) reindex(key types.NamespacedName) {
	if len(c.indexes) == 0 {
		return
	}
	o := c.get(key)
	for _, ix := range c.indexes {
		ix.file(key, o)
	}
}

// file notes the state readers see of a key, nil for none.
func (ix *index[T]) file(key types.NamespacedName, obj *object[T]) {
	f := ix.of[key]
	if obj == nil {
		if f != nil {
			ix.unfile(f)
			delete(ix.of, key)
		}
		return
	}
	var vals []string
	if in := obj.indexed.Load(); in != nil {
		vals = in.values[ix.name]
	}
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
			// The string that is there already serves all its members.
			v = b.members[0].under(v)
		}
		f.places = append(f.places, place{v, len(b.members)})
		b.members = append(b.members, f)
		b.ordered.Store(nil)
	}
}

// under returns the string of its own in which f is filed under value.
func (f *filed[T]) under(value string) string {
	return f.places[slices.IndexFunc(f.places, func(p place) bool { return p.value == value })].value
}

// unfile takes f out of all its buckets; the last member of each takes its place there.
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

// addIndex adds an index and fills it. The same name again is an error.
func (c *core[T]) addIndex(name string, fn func(T) []string) error {
	ix := &index[T]{name: name, fn: fn, byValue: map[string]*bucket[T]{}, of: map[types.NamespacedName]*filed[T]{}}
	c.mu.Lock()
	if slices.ContainsFunc(c.indexes, func(i *index[T]) bool { return i.name == name }) {
		c.mu.Unlock()
		return fmt.Errorf("informers: index %q of %s exists already", name, c.name())
	}
	// From here on what arrives is computed for this index too.
	c.indexes = append(slices.Clip(c.indexes), ix)
	c.mu.Unlock()
	for {
		var missing []*object[T]
		c.mu.Lock()
		c.each(func(o *object[T]) {
			if in := o.indexed.Load(); in == nil || !has(in.values, name) {
				missing = append(missing, o)
			}
		})
		if len(missing) == 0 {
			c.each(func(o *object[T]) { ix.file(o.key, c.get(o.key)) })
			ix.ready = true
			c.mu.Unlock()
			return nil
		}
		c.mu.Unlock()
		for _, o := range missing {
			c.compute(o)
			if in := o.indexed.Load(); in == nil || !has(in.values, name) {
				// It cannot be decoded: reported, and indexed nowhere.
				next := &indexed{values: map[string][]string{name: nil}}
				if in != nil {
					for k, v := range in.values {
						next.values[k] = v
					}
				}
				o.indexed.Store(next)
			}
		}
	}
}

func has(m map[string][]string, k string) bool {
	_, ok := m[k]
	return ok
}

// each calls f for every object of the copy and of the overlay. The lock is held.
func (c *core[T]) each(f func(*object[T])) {
	for _, m := range c.spaces {
		for _, o := range m {
			f(o)
		}
	}
	for _, e := range c.over.byKey {
		if e.obj != nil {
			f(e.obj)
		}
	}
}

// indexNamed returns an index that is ready. The lock is held.
func (c *core[T]) indexNamed(name string) *index[T] {
	for _, ix := range c.indexes {
		if ix.name == name && ix.ready {
			return ix
		}
	}
	return nil
}
