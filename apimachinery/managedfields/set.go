package managedfields

import (
	"slices"
	"strings"
)

// Set is a set of paths. The zero value is empty. Methods that combine sets do not change their operands, but
// the result may share parts with them, so a set must not be changed after it was combined.
type Set struct {
	items []item // sorted by element
}

type item struct {
	el Element
	// owned is true when the path to this element is in the set.
	owned bool
	// sub holds the longer paths; nil for none.
	sub *Set
}

// NewSet returns the set of the given paths.
func NewSet(paths ...Path) *Set {
	s := &Set{}
	for _, p := range paths {
		s.Insert(p)
	}
	return s
}

// find returns where el is or would be.
func (s *Set) find(el *Element) (int, bool) {
	// Sets are mostly built in order, so the last place is tried first.
	if n := len(s.items); n > 0 && compareElements(&s.items[n-1].el, el) < 0 {
		return n, false
	}
	lo, hi := 0, len(s.items)
	for lo < hi {
		mid := (lo + hi) / 2
		switch c := compareElements(&s.items[mid].el, el); {
		case c == 0:
			return mid, true
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return lo, false
}

// Insert adds a path. The empty path is ignored.
func (s *Set) Insert(p Path) {
	for i := range p {
		at, ok := s.find(&p[i])
		if !ok {
			s.items = slices.Insert(s.items, at, item{el: p[i]})
		}
		it := &s.items[at]
		if i == len(p)-1 {
			it.owned = true
			return
		}
		if it.sub == nil {
			it.sub = &Set{}
		}
		s = it.sub
	}
}

// Has reports whether the path itself is in the set.
func (s *Set) Has(p Path) bool {
	for i := range p {
		if s == nil {
			return false
		}
		at, ok := s.find(&p[i])
		if !ok {
			return false
		}
		if i == len(p)-1 {
			return s.items[at].owned
		}
		s = s.items[at].sub
	}
	return false
}

// at returns the item of one element, or nil.
func (s *Set) at(el *Element) *item {
	if s == nil {
		return nil
	}
	if i, ok := s.find(el); ok {
		return &s.items[i]
	}
	return nil
}

// Empty reports whether there is no path in the set.
func (s *Set) Empty() bool {
	if s == nil {
		return true
	}
	for i := range s.items {
		if !s.items[i].empty() {
			return false
		}
	}
	return true
}

// Len counts the paths.
func (s *Set) Len() int {
	n := 0
	s.Each(func(Path) { n++ })
	return n
}

// Each visits the paths in the order upstream does: at each level first the paths that end there, by their
// last element, then the longer ones. The path is valid during the call only.
func (s *Set) Each(visit func(Path)) { s.each(nil, visit) }

func (s *Set) each(prefix Path, visit func(Path)) {
	if s == nil {
		return
	}
	for i := range s.items {
		if s.items[i].owned {
			visit(append(prefix, s.items[i].el))
		}
	}
	for i := range s.items {
		s.items[i].sub.each(append(prefix, s.items[i].el), visit)
	}
}

// Paths returns the paths in order.
func (s *Set) Paths() []Path {
	var out []Path
	s.Each(func(p Path) { out = append(out, slices.Clone(p)) })
	return out
}

// String lists the paths, for logs and tests.
func (s *Set) String() string {
	var lines []string
	s.Each(func(p Path) { lines = append(lines, p.String()) })
	return strings.Join(lines, "\n")
}

// Equal reports whether both sets have the same paths.
func (s *Set) Equal(t *Set) bool {
	if s == t {
		return true
	}
	a, b := s.list(), t.list()
	i, j := 0, 0
	for {
		for i < len(a) && a[i].empty() {
			i++
		}
		for j < len(b) && b[j].empty() {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		x, y := &a[i], &b[j]
		if x.owned != y.owned || compareElements(&x.el, &y.el) != 0 || !x.sub.Equal(y.sub) {
			return false
		}
		i++
		j++
	}
}

// setFrom is the set of items in order; nil for none.
func setFrom(items []item) *Set {
	if len(items) == 0 {
		return nil
	}
	return &Set{items: items}
}

func (s *Set) list() []item {
	if s == nil {
		return nil
	}
	return s.items
}

// Union returns the paths that are in either set.
func (s *Set) Union(t *Set) *Set {
	switch {
	case len(s.list()) == 0:
		return t
	case len(t.list()) == 0:
		return s
	}
	out := &Set{items: make([]item, 0, max(len(s.items), len(t.items)))}
	s.zip(t, func(x, y *item) {
		switch {
		case y == nil:
			out.items = append(out.items, *x)
		case x == nil:
			out.items = append(out.items, *y)
		default:
			out.items = append(out.items, item{el: x.el, owned: x.owned || y.owned, sub: x.sub.Union(y.sub)})
		}
	})
	return out
}

// Difference returns the paths of s that are not in t.
func (s *Set) Difference(t *Set) *Set {
	if len(t.list()) == 0 {
		return s
	}
	return s.combine(t, func(x, y *item) item {
		if y == nil {
			return *x
		}
		return item{el: x.el, owned: x.owned && !y.owned, sub: x.sub.Difference(y.sub)}
	})
}

// Without returns the paths of s that neither are in t nor begin with a path of t.
func (s *Set) Without(t *Set) *Set {
	if len(t.list()) == 0 {
		return s
	}
	return s.combine(t, func(x, y *item) item {
		switch {
		case y == nil:
			return *x
		case y.owned:
			return item{}
		}
		return item{el: x.el, owned: x.owned, sub: x.sub.Without(y.sub)}
	})
}

// Intersection returns the paths that are in both sets.
func (s *Set) Intersection(t *Set) *Set {
	return s.combine(t, func(x, y *item) item {
		if y == nil {
			return item{}
		}
		return item{el: x.el, owned: x.owned && y.owned, sub: x.sub.Intersection(y.sub)}
	})
}

// combine maps every item of s, with its counterpart in t or nil, and keeps what is not empty.
func (s *Set) combine(t *Set, one func(x, y *item) item) *Set {
	if len(s.list()) == 0 {
		return s
	}
	out := &Set{}
	s.zip(t, func(x, y *item) {
		if x == nil {
			return
		}
		if r := one(x, y); r.owned || len(r.sub.list()) > 0 {
			out.items = append(out.items, r)
		}
	})
	return out
}

// zip visits the items of both sets in order, those of the same element together.
func (s *Set) zip(t *Set, visit func(x, y *item)) {
	a, b := s.list(), t.list()
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		c := 0
		switch {
		case i == len(a):
			c = 1
		case j == len(b):
			c = -1
		default:
			c = compareElements(&a[i].el, &b[j].el)
		}
		switch {
		case c < 0:
			visit(&a[i], nil)
			i++
		case c > 0:
			visit(nil, &b[j])
			j++
		default:
			visit(&a[i], &b[j])
			i++
			j++
		}
	}
}

// AppendJSON appends the fieldsV1 form.
func (s *Set) AppendJSON(b []byte) []byte { return s.appendJSON(b, false) }

func (s *Set) appendJSON(b []byte, self bool) []byte {
	b = append(b, '{')
	first := true
	if self {
		b = append(b, `".":{}`...)
		first = false
	}
	for i := range s.list() {
		it := &s.items[i]
		if it.empty() {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = it.appendJSON(b)
	}
	return append(b, '}')
}

// appendJSON appends the item as a member of fieldsV1. It must not be empty.
func (it *item) appendJSON(b []byte) []byte {
	b = append(it.el.appendWire(b), ':')
	if it.sub.Empty() {
		return append(b, "{}"...)
	}
	return it.sub.appendJSON(b, it.owned)
}

func (it *item) empty() bool { return !it.owned && it.sub.Empty() }
