package managedfields

import "encoding/json"

// The wire form of a set is edited directly rather than parsed, changed and encoded: few paths of a big set
// change, and parsing it costs more than the rest of a write.

// cut returns a wire form without the paths of t. ok is false if it is malformed.
func cut(raw []byte, t *Set) (out []byte, ok bool) {
	r := rawReader{data: raw}
	out, _ = r.cut(make([]byte, 0, len(raw)), t, false)
	return out, r.ended()
}

// ended reports whether the whole value, and nothing else, was read.
func (r *rawReader) ended() bool {
	r.space()
	return !r.bad && r.pos == len(r.data)
}

// cut appends the object that begins here without the paths of t. gone means that the path to the object is
// among them. kept is false if nothing is left of it, not even the path to it.
func (r *rawReader) cut(dst []byte, t *Set, gone bool) (out []byte, kept bool) {
	if !r.next('{') {
		r.bad = true
		return dst, false
	}
	if r.next('}') {
		return append(dst, "{}"...), !gone
	}
	open := len(dst)
	dst = append(dst, '{')
	self, members := false, 0
	for !r.bad {
		start := r.pos
		name, plain := r.name()
		if name == nil {
			r.bad = true
			break
		}
		if len(name) == 1 && name[0] == '.' {
			r.skip()
			if self = !gone; self {
				dst = append(dst, `".":{},`...)
			}
		} else {
			mark, it := len(dst), t.wired(name, plain)
			if it == nil {
				r.skip()
				dst = append(append(dst, r.data[start:r.pos]...), ',')
				members++
			} else {
				var left bool
				dst = append(dst, r.data[start:r.pos]...)
				if dst, left = r.cut(dst, it.sub, it.owned); left {
					dst = append(dst, ',')
					members++
				} else {
					dst = dst[:mark]
				}
			}
		}
		if !r.next(',') {
			r.bad = r.bad || !r.next('}')
			break
		}
	}
	if members == 0 {
		return append(dst[:open], "{}"...), self
	}
	dst[len(dst)-1] = '}'
	return dst, true
}

// join returns a wire form with the paths of t, and whether it had not all of them. ok is false if the form
// cannot be joined as it is: it is malformed or not in order.
func join(raw []byte, t *Set) (out []byte, grown, ok bool) {
	if len(raw) <= len("{}") {
		return t.AppendJSON(make([]byte, 0, 256)), !t.Empty(), true
	}
	r := rawReader{data: raw}
	out = r.join(make([]byte, 0, len(raw)+256), t, false)
	return out, r.grown, r.ended()
}

// join appends the union of the object that begins here and t. own means that t has the path to the object
// too.
func (r *rawReader) join(dst []byte, t *Set, own bool) []byte {
	if !r.next('{') {
		r.bad = true
		return dst
	}
	if r.next('}') { // a path without longer ones
		r.grown = r.grown || !t.Empty()
		return t.appendJSON(dst, !t.Empty())
	}
	dst = append(dst, '{')
	items := t.list()
	var last Element
	for n := 0; !r.bad; n++ {
		r.space()
		start := r.pos
		name, plain := r.name()
		if name == nil {
			r.bad = true
			break
		}
		if n == 0 && own {
			dst = append(dst, `".":{},`...)
			if self := len(name) == 1 && name[0] == '.'; !self {
				r.grown = true
			}
		}
		if len(name) == 1 && name[0] == '.' {
			r.skip()
			r.bad = r.bad || n > 0
			if !own {
				dst = append(dst, `".":{},`...)
			}
		} else {
			el, ok := elementOf(name, plain)
			if !ok || last.text != "" && compareElements(&last, &el) >= 0 {
				r.bad = true
				break
			}
			last = el
			for len(items) > 0 && compareElements(&items[0].el, &el) < 0 {
				dst = r.add(dst, &items[0])
				items = items[1:]
			}
			dst = append(dst, r.data[start:r.pos]...)
			if len(items) > 0 && compareElements(&items[0].el, &el) == 0 {
				dst = append(r.join(dst, items[0].sub, items[0].owned), ',')
				items = items[1:]
			} else {
				value := r.pos
				r.skip()
				dst = append(append(dst, r.data[value:r.pos]...), ',')
			}
		}
		if !r.next(',') {
			r.bad = r.bad || !r.next('}')
			break
		}
	}
	for i := range items {
		dst = r.add(dst, &items[i])
	}
	dst[len(dst)-1] = '}'
	return dst
}

// add appends an item that the wire form does not have, and a comma.
func (r *rawReader) add(dst []byte, it *item) []byte {
	if it.empty() {
		return dst
	}
	r.grown = true
	return append(it.appendJSON(dst), ',')
}

// elementOf reads a member name as it is written.
func elementOf(name []byte, plain bool) (Element, bool) {
	text := string(name)
	if !plain {
		quoted := make([]byte, 0, len(name)+2)
		quoted = append(append(append(quoted, '"'), name...), '"')
		if json.Unmarshal(quoted, &text) != nil {
			return Element{}, false
		}
	}
	el, err := parseElement(text)
	return el, err == nil
}
