package ordered

import "slices"

// edit marks the nodes that an Editor has made itself and may therefore change in
// place. It has a size, so that two of them never share an address.
type edit struct{ _ byte }

// Editor makes a changed Map. It is used by one goroutine; the Map it started from is not modified.
type Editor[V any] struct {
	root *node[V]
	edit *edit
}

// Edit returns an Editor that starts from m.
func (m Map[V]) Edit() *Editor[V] { return &Editor[V]{root: m.root, edit: new(edit)} }

// Map returns the changed map. Later edits do not affect it.
func (e *Editor[V]) Map() Map[V] {
	e.edit = new(edit)
	return Map[V]{root: e.root}
}

// Get returns the value of key with the edits so far.
func (e *Editor[V]) Get(key string) (V, bool) { return Map[V]{root: e.root}.Get(key) }

// Set stores a value and returns the one it replaced.
func (e *Editor[V]) Set(key string, val V) (prev V, had bool) {
	if e.root == nil {
		e.root = &node[V]{edit: e.edit, keys: []string{key}, vals: []V{val}, size: 1}
		return prev, false
	}
	root, right, prev, had := e.set(e.root, key, val)
	if right != nil {
		root = &node[V]{edit: e.edit, keys: []string{"", right.first()}, kids: []*node[V]{root, right}, size: root.size + right.size}
	}
	e.root = root
	return prev, had
}

// Delete removes key and returns the value it had.
func (e *Editor[V]) Delete(key string) (prev V, had bool) {
	if _, ok := e.Get(key); !ok {
		return prev, false
	}
	root, prev := e.remove(e.root, key)
	for !root.leaf() && len(root.kids) == 1 {
		root = root.kids[0]
	}
	if root.size == 0 {
		root = nil
	}
	e.root = root
	return prev, true
}

// first returns the smallest key of the subtree.
func (n *node[V]) first() string {
	for !n.leaf() {
		n = n.kids[0]
	}
	return n.keys[0]
}

// own returns n if this editor made it, else a copy that it may change.
func (e *Editor[V]) own(n *node[V]) *node[V] {
	if n.edit == e.edit {
		return n
	}
	return &node[V]{edit: e.edit, keys: slices.Clone(n.keys), vals: slices.Clone(n.vals), kids: slices.Clone(n.kids), size: n.size}
}

func (e *Editor[V]) set(n *node[V], key string, val V) (_, right *node[V], prev V, had bool) {
	if n.leaf() {
		return e.setLeaf(n, key, val)
	}
	i := n.child(key)
	kid, split, prev, had := e.set(n.kids[i], key, val)
	n = e.own(n)
	n.kids[i] = kid
	if !had {
		n.size++
	}
	if split != nil {
		n.keys = slices.Insert(n.keys, i+1, split.first())
		n.kids = slices.Insert(n.kids, i+1, split)
		right = e.split(n, i+1)
	}
	return n, right, prev, had
}

func (e *Editor[V]) setLeaf(n *node[V], key string, val V) (_, right *node[V], prev V, had bool) {
	i, found := n.find(key)
	if found {
		prev = n.vals[i]
		if n.edit != e.edit { // the keys stay as they are and are shared
			n = &node[V]{edit: nil, keys: n.keys, vals: slices.Clone(n.vals), size: n.size}
		}
		n.vals[i] = val
		return n, nil, prev, true
	}
	if n.edit == e.edit {
		n.keys = slices.Insert(n.keys, i, key)
		n.vals = slices.Insert(n.vals, i, val)
	} else {
		n = &node[V]{edit: e.edit, keys: insert(n.keys, i, key), vals: insert(n.vals, i, val)}
	}
	n.size = len(n.keys)
	return n, e.split(n, i), prev, false
}

// insert returns a copy of s with v at i, in one allocation.
func insert[T any](s []T, i int, v T) []T {
	out := make([]T, len(s)+1)
	copy(out, s[:i])
	out[i] = v
	copy(out[i+1:], s[i:])
	return out
}

// split cuts an overfull node that this editor owns and returns its right part. A node
// that grew at its end is cut there, so that ascending insertion fills nodes.
func (e *Editor[V]) split(n *node[V], grown int) *node[V] {
	if len(n.keys) <= width {
		return nil
	}
	at := len(n.keys) / 2
	if grown == len(n.keys)-1 {
		at = grown
	}
	right := &node[V]{edit: e.edit, keys: slices.Clone(n.keys[at:])}
	if n.leaf() {
		right.vals = slices.Clone(n.vals[at:])
		right.size = len(right.keys)
		clear(n.vals[at:])
		n.vals = n.vals[:at]
	} else {
		right.kids = slices.Clone(n.kids[at:])
		for _, kid := range right.kids {
			right.size += kid.size
		}
		clear(n.kids[at:])
		n.kids = n.kids[:at]
	}
	clear(n.keys[at:])
	n.keys = n.keys[:at]
	n.size -= right.size
	return right
}

// remove removes a key that exists.
func (e *Editor[V]) remove(n *node[V], key string) (*node[V], V) {
	n = e.own(n)
	n.size--
	if n.leaf() {
		i, _ := n.find(key)
		prev := n.vals[i]
		n.keys = slices.Delete(n.keys, i, i+1)
		n.vals = slices.Delete(n.vals, i, i+1)
		return n, prev
	}
	i := n.child(key)
	kid, prev := e.remove(n.kids[i], key)
	n.kids[i] = kid
	switch {
	case kid.size == 0:
		n.keys = slices.Delete(n.keys, i, i+1)
		n.kids = slices.Delete(n.kids, i, i+1)
	case len(kid.keys) < width/4 && len(n.kids) > 1:
		if i > 0 {
			i--
		}
		e.merge(n, i)
	}
	return n, prev
}

// merge joins kids i and i+1 of a node that this editor owns, if they fit into three quarters
// of one.
func (e *Editor[V]) merge(n *node[V], i int) {
	left, right := n.kids[i], n.kids[i+1]
	if len(left.keys)+len(right.keys) > width*3/4 {
		return
	}
	left = e.own(left)
	mid := len(left.keys)
	left.keys = append(left.keys, right.keys...)
	left.vals = append(left.vals, right.vals...)
	left.kids = append(left.kids, right.kids...)
	if !left.leaf() {
		left.keys[mid] = n.keys[i+1]
	}
	left.size += right.size
	n.kids[i] = left
	n.keys = slices.Delete(n.keys, i+1, i+2)
	n.kids = slices.Delete(n.kids, i+1, i+2)
}
