package managedfields

import "iter"

// rawOverlaps reports whether a path of t is in the set with the given wire form, without reading more of it
// than the paths of t lead to. Malformed bytes hold nothing.
func rawOverlaps(raw []byte, t *Set) bool {
	r := rawReader{data: raw}
	return len(t.list()) > 0 && r.object(t, false)
}

// along reads the paths that lead to paths of t, and one of the other paths below them, which shows that
// there are some. ok is false if the wire form is malformed or not in order.
func along(raw []byte, t *Set) (s *Set, ok bool) {
	r := rawReader{data: raw}
	s, _ = r.along(t)
	return s, r.ended()
}

// along reads the object that begins here. self means that the path to it is in the set.
func (r *rawReader) along(t *Set) (s *Set, self bool) {
	var items []item
	empty, others := true, false
	for name, plain := range r.members() {
		empty = false
		if it := t.wired(name, plain); it != nil {
			sub, owned := r.along(it.sub)
			items = r.inOrder(items, item{el: it.el, owned: owned, sub: sub})
		} else {
			self = self || len(name) == 1
			others = others || len(name) > 1
			r.skip()
		}
	}
	if others && len(items) == 0 {
		items = append(items, item{el: Field(""), owned: true})
	}
	return setFrom(items), self || empty
}

// along returns the paths that lead to paths of t, and one of the other paths below them, which shows that
// there are some.
func (s *Set) along(t *Set) *Set {
	var items []item
	for _, it := range t.list() {
		if own := s.at(&it.el); own != nil {
			items = append(items, item{el: own.el, owned: own.owned, sub: own.sub.along(it.sub)})
		}
	}
	if len(items) == 0 && !s.Empty() {
		items = append(items, item{el: Field(""), owned: true})
	}
	return setFrom(items)
}

// beyond returns the paths that are not in t. ok is false if the wire form is malformed or not in order.
func beyond(raw []byte, t *Set) (s *Set, ok bool) {
	r := rawReader{data: raw}
	s, _ = r.beyond(t)
	return s, r.ended()
}

// beyond reads the paths below the object that begins here which are not in t. self means that the path to it
// is in the set.
func (r *rawReader) beyond(t *Set) (s *Set, self bool) {
	var items []item
	below := false
	for name, plain := range r.members() {
		if len(name) == 1 && name[0] == '.' {
			self = true
			r.skip()
			continue
		}
		below = true
		if left := r.member(t, name, plain); !left.empty() {
			items = r.inOrder(items, left)
		}
	}
	return setFrom(items), self || !below
}

// members yields the names of the members of the object that begins here; each value is to be read before the
// next.
func (r *rawReader) members() iter.Seq2[[]byte, bool] {
	return func(yield func(name []byte, plain bool) bool) {
		if !r.next('{') {
			r.bad = true
			return
		}
		if r.next('}') {
			return
		}
		for !r.bad {
			name, plain := r.name()
			if name == nil {
				r.bad = true
				return
			}
			if !yield(name, plain) {
				return
			}
			if !r.next(',') {
				r.bad = r.bad || !r.next('}')
				return
			}
		}
	}
}

// inOrder appends an item that must come after the others.
func (r *rawReader) inOrder(items []item, it item) []item {
	if n := len(items); n > 0 && compareElements(&items[n-1].el, &it.el) >= 0 {
		r.bad = true
	}
	return append(items, it)
}

// member reads what of a member, whose name was read, is not in t.
func (r *rawReader) member(t *Set, name []byte, plain bool) item {
	if it := t.wired(name, plain); it != nil {
		sub, self := r.beyond(it.sub)
		return item{el: it.el, owned: self && !it.owned, sub: sub}
	}
	el, ok := elementOf(name, plain)
	start := r.pos
	r.skip()
	p := setParser{data: r.data[start:r.pos], text: string(r.data[start:r.pos])}
	sub, self, err := p.object(0)
	if r.bad = r.bad || !ok || err != nil || p.pos != len(p.data); r.bad {
		return item{}
	}
	return item{el: el, owned: self || len(sub.items) == 0, sub: sub}
}

type rawReader struct {
	data []byte
	pos  int
	bad  bool // set by what writes: the data is malformed
	// grown is set by join when it adds a path.
	grown bool
}

func (r *rawReader) space() {
	for r.pos < len(r.data) && (r.data[r.pos] == ' ' || r.data[r.pos] == '\n' || r.data[r.pos] == '\t' || r.data[r.pos] == '\r') {
		r.pos++
	}
}

func (r *rawReader) next(c byte) bool {
	r.space()
	if r.pos < len(r.data) && r.data[r.pos] == c {
		r.pos++
		return true
	}
	return false
}

// object searches the object that begins here for paths of t, and skips the rest of it. owned means that the
// path to the object is in t, which counts if it is empty or holds ".".
func (r *rawReader) object(t *Set, owned bool) bool {
	if !r.next('{') {
		r.pos = len(r.data)
		return false
	}
	if r.next('}') {
		return owned
	}
	for {
		name, plain := r.name()
		if name == nil {
			return false
		}
		if owned && len(name) == 1 && name[0] == '.' {
			return true
		}
		it := t.wired(name, plain)
		if it == nil {
			r.skip()
		} else if r.object(it.sub, it.owned) {
			return true
		}
		if !r.next(',') {
			r.next('}')
			return false
		}
	}
}

// name reads a member name and its colon. The bytes are as written; plain means that they hold no escape. nil
// is the end.
func (r *rawReader) name() (name []byte, plain bool) {
	if !r.next('"') {
		r.pos = len(r.data)
		return nil, false
	}
	start := r.pos
	plain = true
	for r.pos < len(r.data) && r.data[r.pos] != '"' {
		if r.data[r.pos] == '\\' {
			plain = false
			r.pos++
		}
		r.pos++
	}
	if r.pos >= len(r.data) {
		return nil, false
	}
	name = r.data[start:r.pos]
	r.pos++
	if !r.next(':') {
		r.pos = len(r.data)
		return nil, false
	}
	return name, plain
}

// skip skips the value that begins here.
func (r *rawReader) skip() {
	depth := 0
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case '"':
			for r.pos++; r.pos < len(r.data) && r.data[r.pos] != '"'; r.pos++ {
				if r.data[r.pos] == '\\' {
					r.pos++
				}
			}
		case '{':
			depth++
		case '}':
			depth--
			if depth == 0 {
				r.pos++
				return
			}
		}
		r.pos++
	}
}

// wired returns the item of the element that is written as name, or nil. plain means that name holds no
// escape.
func (s *Set) wired(name []byte, plain bool) *item {
	items := s.list()
	if len(name) < 2 || len(items) == 0 {
		return nil
	}
	if len(items) > fewItems {
		if el, ok := elementOf(name, plain); ok {
			return s.at(&el)
		}
		return nil
	}
	for i := range items {
		e := &items[i].el
		if "fkvi"[e.kind] != name[0] {
			continue
		}
		same, known := string(name[2:]) == e.text, plain
		if !plain {
			same, known = sameEscaped(name[2:], e.text)
		}
		if !known {
			if el, ok := elementOf(name, plain); ok {
				return s.at(&el)
			}
			return nil
		}
		if same {
			return &items[i]
		}
	}
	return nil
}

// sameEscaped compares a string as written with another one. known is false if it holds more than escaped
// quotes and backslashes.
func sameEscaped(written []byte, s string) (same, known bool) {
	for len(written) > 0 {
		c := written[0]
		if c == '\\' {
			if len(written) < 2 || written[1] != '"' && written[1] != '\\' {
				return false, false
			}
			c, written = written[1], written[1:]
		}
		if s == "" || s[0] != c {
			return false, true
		}
		written, s = written[1:], s[1:]
	}
	return s == "", true
}
