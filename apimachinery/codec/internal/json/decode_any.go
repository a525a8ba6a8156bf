package json

import (
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// maxBoxes is how many strings share an allocation, which is kept as long as one of them is used.
const maxBoxes = 32

// box returns s as an interface value, whose memory is part of an allocation shared with other strings of the
// document.
func (d *decoder) box(s string, left int) any {
	if len(d.boxes) == cap(d.boxes) {
		d.boxes = make([]string, 0, min(left/24+1, maxBoxes))
	}
	d.boxes = append(d.boxes, s)
	return mem.Box(&d.boxes[len(d.boxes)-1])
}

// any reads the value at i as encoding/json would into an empty interface,
// but with integers as int64.
func (d *decoder) any(i int) (any, int) {
	if i >= len(d.data) {
		return nil, d.fail(i, jsontext.MsgEOF)
	}
	switch c := d.data[i]; c {
	case '{':
		return d.anyObject(i)
	case '[':
		return d.anyArray(i)
	case '"':
		s, i := d.text(i, false)
		if i < 0 {
			return nil, i
		}
		return d.box(s, len(d.data)-i), i
	case 't':
		if d.word(i, "true") {
			return true, i + 4
		}
	case 'f':
		if d.word(i, "false") {
			return false, i + 5
		}
	case 'n':
		return nil, d.null(i)
	default:
		if c == '-' || jsontext.IsDigit(c) {
			return d.anyNumber(i)
		}
	}
	return nil, d.syntax(i)
}

func (d *decoder) anyNumber(i int) (any, int) {
	end, whole := jsontext.SkipNumber(d.data, i)
	if end < 0 {
		return nil, d.fail(i, jsontext.MsgNumber)
	}
	if whole {
		if v, err := strconv.ParseInt(string(d.data[i:end]), 10, 64); err == nil {
			return v, end
		}
	}
	v, err := strconv.ParseFloat(string(d.data[i:end]), 64)
	if err != nil {
		return nil, d.fail(i, "number "+failure.Clip(d.data[i:end])+" is out of range")
	}
	return v, end
}

func (d *decoder) anyObject(i int) (any, int) {
	if !d.enter(i) {
		return nil, -1
	}
	defer d.leave()
	m := map[string]any{}
	i, done := d.empty(i+1, '}')
	for more := !done; more; {
		var name []byte
		if name, i = d.keyBytes(i); i < 0 {
			return nil, -1
		}
		key := d.mapKey(name, i)
		if d.strict {
			if _, dup := m[key]; dup {
				d.duplicate(key)
			}
		}
		before := len(d.issues)
		var v any
		v, i = d.any(d.next(i))
		if i < 0 || len(d.issues) > before {
			d.within(i, before, failure.Member(key))
			if i < 0 {
				return nil, -1
			}
		}
		m[key] = v
		if i, more = d.more(i, '}', jsontext.MsgObject); i < 0 {
			return nil, -1
		}
	}
	return m, i
}

func (d *decoder) anyArray(i int) (any, int) {
	if !d.enter(i) {
		return nil, -1
	}
	defer d.leave()
	first := len(d.items)
	i, done := d.empty(i+1, ']')
	for more := !done; more; {
		before := len(d.issues)
		var v any
		v, i = d.any(d.next(i))
		if i < 0 || len(d.issues) > before {
			d.within(i, before, failure.Element(len(d.items)-first))
			if i < 0 {
				return nil, -1
			}
		}
		d.items = append(d.items, v)
		if i, more = d.more(i, ']', jsontext.MsgArray); i < 0 {
			return nil, -1
		}
	}
	list := make([]any, len(d.items)-first)
	copy(list, d.items[first:])
	clear(d.items[first:])
	d.items = d.items[:first]
	return list, i
}
