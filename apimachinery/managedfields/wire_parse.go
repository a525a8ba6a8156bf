package managedfields

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// maxDepth bounds how deep a set may nest: as deep as objects can.
const maxDepth = 10_000

// ParseSet reads the fieldsV1 form. Errors are *SyntaxError.
func ParseSet(data []byte) (*Set, error) {
	p := setParser{data: data, text: string(data)}
	p.spaces()
	s, _, err := p.object(0)
	if err != nil {
		return nil, err
	}
	if p.spaces(); p.pos != len(data) {
		return nil, p.fail("data after the set")
	}
	return s, nil
}

// SyntaxError describes a malformed fieldsV1 value and the byte offset.
type SyntaxError struct {
	Offset int
	Reason string
	// Err is the cause, if any.
	Err error
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("fieldsV1, at %d: %s", e.Offset, e.Reason) }

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

type setParser struct {
	data []byte
	text string // data as a string: names are parts of it
	pos  int
}

func (p *setParser) fail(reason string) error { return &SyntaxError{Offset: p.pos, Reason: reason} }

func (p *setParser) spaces() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\n', '\t', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *setParser) take(c byte) bool {
	p.spaces()
	if p.pos < len(p.data) && p.data[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// object reads one level. self is true when it has the member ".".
func (p *setParser) object(depth int) (s *Set, self bool, err error) {
	if depth > maxDepth {
		return nil, false, p.fail("nested too deep")
	}
	if !p.take('{') {
		return nil, false, p.fail("{ expected")
	}
	s = &Set{}
	sorted := true
	for more := !p.take('}'); more; {
		name, err := p.name()
		if err != nil {
			return nil, false, err
		}
		sub, owned, err := p.object(depth + 1)
		if err != nil {
			return nil, false, err
		}
		if name == "." {
			self = true
		} else {
			el, err := parseElement(name)
			if err != nil {
				return nil, false, &SyntaxError{Offset: p.pos, Reason: err.Error(), Err: err}
			}
			it := item{el: el, owned: owned || len(sub.items) == 0}
			if len(sub.items) > 0 {
				it.sub = sub
			}
			if n := len(s.items); n > 0 && compareElements(&s.items[n-1].el, &el) >= 0 {
				sorted = false
			}
			if s.items == nil {
				s.items = make([]item, 0, 6)
			}
			s.items = append(s.items, it)
		}
		switch {
		case p.take(','):
		case p.take('}'):
			more = false
		default:
			return nil, false, p.fail(", or } expected")
		}
	}
	if !sorted {
		s = s.sorted()
	}
	return s, self, nil
}

// sorted puts items in order and joins equal ones.
func (s *Set) sorted() *Set {
	slices.SortStableFunc(s.items, func(a, b item) int { return compareElements(&a.el, &b.el) })
	out := &Set{}
	for _, it := range s.items {
		if n := len(out.items); n > 0 && compareElements(&out.items[n-1].el, &it.el) == 0 {
			last := &out.items[n-1]
			last.owned = last.owned || it.owned
			last.sub = last.sub.Union(it.sub)
			continue
		}
		out.items = append(out.items, it)
	}
	return out
}

// name reads a member name and the colon after it.
func (p *setParser) name() (string, error) {
	if !p.take('"') {
		return "", p.fail("a member name expected")
	}
	start := p.pos
	end := bytes.IndexByte(p.data[start:], '"')
	if end < 0 {
		return "", p.fail("an unfinished string")
	}
	raw := p.data[start : start+end]
	var name string
	if bytes.IndexByte(raw, '\\') < 0 {
		p.pos = start + end + 1
		name = p.text[start : start+end]
	} else {
		i := start
		for i < len(p.data) && p.data[i] != '"' {
			if p.data[i] == '\\' {
				i++
			}
			i++
		}
		if i >= len(p.data) {
			return "", p.fail("an unfinished string")
		}
		if err := json.Unmarshal(p.data[start-1:i+1], &name); err != nil {
			return "", &SyntaxError{Offset: start, Reason: "a malformed string", Err: err}
		}
		p.pos = i + 1
	}
	if !p.take(':') {
		return "", p.fail(": expected")
	}
	return name, nil
}
