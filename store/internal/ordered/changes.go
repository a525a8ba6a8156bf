package ordered

import "iter"

// Change is the old and the new value of a key. A value is zero if the key is not in that map.
type Change[V any] struct {
	Key      string
	Old, New V
	Had, Has bool // whether the key is in the old and in the new map
}

// Changes iterates, in ascending order of keys, over what differs between old and m: keys that only one of
// them has, and those for whose values same returns false. Shared subtrees are skipped, so that the cost is
// proportional to the number of changes and not to the size of the maps, if m was made by editing old.
func (m Map[V]) Changes(old Map[V], same func(a, b V) bool) iter.Seq[Change[V]] {
	return func(yield func(Change[V]) bool) {
		before, after := newCursor(old), newCursor(m)
		for before.more() || after.more() {
			switch x, y := before.top(), after.top(); {
			case x.n != nil && x.n == y.n && x.whole() && y.whole():
				before.pop()
				after.pop()
			case y.n == nil || x.n != nil && x.first() < y.first():
				if before.expand() {
					continue
				}
				if !yield(Change[V]{Key: x.first(), Old: x.value(), Had: true}) {
					return
				}
				before.next()
			case x.n == nil || y.first() < x.first():
				if after.expand() {
					continue
				}
				if !yield(Change[V]{Key: y.first(), New: y.value(), Has: true}) {
					return
				}
				after.next()
			case !x.entry() && (y.entry() || x.n.size >= y.n.size):
				before.expand()
			case !y.entry():
				after.expand()
			default:
				if !same(x.value(), y.value()) && !yield(Change[V]{Key: x.first(), Old: x.value(), New: y.value(), Had: true, Has: true}) {
					return
				}
				before.next()
				after.next()
			}
		}
	}
}

// cursor walks a map from its first key on. Its stack holds the parts not visited yet, the next one on top.
type cursor[V any] struct{ stack []part[V] }

// part is an unvisited subtree (at is -1), or the rest of a leaf from an entry on.
type part[V any] struct {
	n  *node[V]
	at int
}

func newCursor[V any](m Map[V]) *cursor[V] {
	c := &cursor[V]{}
	if m.root != nil {
		c.stack = append(c.stack, part[V]{m.root, -1})
	}
	return c
}

func (c *cursor[V]) more() bool { return len(c.stack) > 0 }

// top is the next part; its node is nil at the end.
func (c *cursor[V]) top() part[V] {
	if len(c.stack) == 0 {
		return part[V]{}
	}
	return c.stack[len(c.stack)-1]
}

func (c *cursor[V]) pop() { c.stack = c.stack[:len(c.stack)-1] }

// expand replaces a subtree by its kids, or a whole leaf by its entries, and reports whether there was one.
func (c *cursor[V]) expand() bool {
	p := c.top()
	if p.entry() {
		return false
	}
	c.pop()
	if p.n.leaf() {
		c.stack = append(c.stack, part[V]{p.n, 0})
		return true
	}
	for i := len(p.n.kids) - 1; i >= 0; i-- {
		c.stack = append(c.stack, part[V]{p.n.kids[i], -1})
	}
	return true
}

// next advances past an entry.
func (c *cursor[V]) next() {
	p := &c.stack[len(c.stack)-1]
	if p.at++; p.at == len(p.n.keys) {
		c.pop()
	}
}

func (p part[V]) whole() bool { return p.at < 0 }
func (p part[V]) entry() bool { return p.at >= 0 }
func (p part[V]) value() V    { return p.n.vals[p.at] }

// first is the part's first key.
func (p part[V]) first() string {
	if p.entry() {
		return p.n.keys[p.at]
	}
	return p.n.first()
}
