package managedfields

import "encoding/json"

// rawOverlaps reports whether a path of t is in the set with the given wire form, without reading more of it than the
// paths of t lead to. Malformed bytes hold nothing.
func rawOverlaps(raw []byte, t *Set) bool {
	r := rawReader{data: raw}
	return len(t.list()) > 0 && r.object(t, false)
}

type rawReader struct {
	data []byte
	pos  int
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

// object looks for paths of t in the object that begins here, and leaves it. owned says that the path to the object is in t,
// which counts if it is empty or holds ".".
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
		var it *item
		switch {
		case len(name) == 1 && name[0] == '.':
			if owned {
				return true
			}
		case plain:
			it = t.named(name)
		default:
			it = t.escaped(name)
		}
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

// name reads a member name and its colon. The bytes are as written; plain says that they hold no escape. nil is the end.
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

// skip leaves the value that begins here.
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

// named returns the item whose element is written as name, for names without escapes.
func (s *Set) named(name []byte) *item {
	if len(name) < 2 {
		return nil
	}
	for i := range s.list() {
		e := &s.items[i].el
		if "fkvi"[e.kind] == name[0] && string(name[2:]) == e.text {
			return &s.items[i]
		}
	}
	return nil
}

// escaped is named for names with escapes.
func (s *Set) escaped(name []byte) *item {
	quoted := make([]byte, 0, len(name)+2)
	quoted = append(append(append(quoted, '"'), name...), '"')
	var full string
	if json.Unmarshal(quoted, &full) != nil {
		return nil
	}
	el, err := parseElement(full)
	if err != nil {
		return nil
	}
	return s.at(&el)
}
