package cache

import (
	"strings"
	"sync"
)

// routes finds the watches that a change may concern without visiting all of them: they are grouped by the
// part of the key space they cover (everything, one namespace, one key) and, if they select on a field, by
// its value. The cost of an event therefore depends on the watches that it concerns and not on all that are
// open.
type routes struct {
	prefix string

	mu     sync.Mutex
	groups map[route][]*watcher
	fields map[string]int // fields in use, with the number of watches

	// Used by the feeding goroutine only.
	woken []*watcher
	slow  []*watcher
}

// route is a group of watches: those of prefix with field = value (empty: any).
type route struct{ prefix, field, value string }

func newRoutes(prefix string) routes {
	return routes{prefix: prefix, groups: map[route][]*watcher{}, fields: map[string]int{}}
}

// of returns the group of a watch. A watch of any other prefix is in the group of everything and filters by
// itself.
func (r *routes) of(opts WatchOptions) route {
	key := route{field: opts.Field, value: opts.Value}
	rest, inside := strings.CutPrefix(opts.Prefix, r.prefix)
	switch {
	case !inside || rest == "":
	case !strings.HasSuffix(rest, "/"), strings.IndexByte(rest, '/') == len(rest)-1:
		key.prefix = opts.Prefix
	}
	return key
}

func (r *routes) add(w *watcher) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.index = len(r.groups[w.route])
	r.groups[w.route] = append(r.groups[w.route], w)
	if w.route.field != "" {
		r.fields[w.route.field]++
	}
}

func (r *routes) remove(w *watcher) {
	r.mu.Lock()
	defer r.mu.Unlock()
	group := r.groups[w.route]
	last := len(group) - 1
	group[w.index] = group[last]
	group[w.index].index = w.index
	group[last] = nil
	if last == 0 {
		delete(r.groups, w.route)
	} else {
		r.groups[w.route] = group[:last]
	}
	if f := w.route.field; f != "" {
		if r.fields[f]--; r.fields[f] == 0 {
			delete(r.fields, f)
		}
	}
}

// notify marks and wakes the watches concerned, and returns those that lag too far.
func (r *routes) notify(changes []*change) []*watcher {
	if len(changes) == 0 {
		return nil
	}
	r.woken, r.slow = r.woken[:0], r.slow[:0]
	r.mu.Lock()
	if len(r.groups) > 0 {
		for _, ch := range changes {
			r.match(ch, changes[0].seq)
		}
	}
	r.mu.Unlock()
	for i, w := range r.woken {
		w.wake.Set()
		r.woken[i] = nil
	}
	return r.slow
}

// match visits the groups that a change belongs to; before is the first change of the same batch. Called with
// mu held.
func (r *routes) match(ch *change, before int64) {
	key := ch.obj.Key
	r.matchPrefix("", ch, before)
	if rest := key[min(len(r.prefix), len(key)):]; len(rest) > 0 {
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			r.matchPrefix(key[:len(key)-len(rest)+i+1], ch, before)
		}
	}
	r.matchPrefix(key, ch, before)
}

func (r *routes) matchPrefix(prefix string, ch *change, before int64) {
	r.mark(r.groups[route{prefix: prefix}], ch.seq, before)
	for field := range r.fields {
		value := ch.obj.Attrs.Fields[field]
		r.mark(r.groups[route{prefix, field, value}], ch.seq, before)
		if ch.prev != nil {
			if old := ch.prev.Attrs.Fields[field]; old != value {
				r.mark(r.groups[route{prefix, field, old}], ch.seq, before)
			}
		}
	}
}

// mark records the change for the watches of a group. The lag of a watch is measured without this batch,
// which it could not read yet.
func (r *routes) mark(group []*watcher, seq, before int64) {
	for _, w := range group {
		pending := w.pending.Load()
		if pending == 0 && w.pending.CompareAndSwap(0, seq) {
			r.woken = append(r.woken, w)
		} else if pending != 0 && before-pending > w.buffer && w.slow.CompareAndSwap(false, true) {
			r.slow = append(r.slow, w)
		}
	}
}

// wakeAll wakes every watch.
func (r *routes) wakeAll() {
	r.mu.Lock()
	var all []*watcher
	for _, group := range r.groups {
		all = append(all, group...)
	}
	r.mu.Unlock()
	for _, w := range all {
		w.wake.Set()
	}
}
