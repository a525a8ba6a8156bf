package json

import (
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
)

// Members calls visit with the name and the value of every member of the JSON object data. They are slices of
// data, except names with escapes, which are valid until visit returns.
func Members(data []byte, visit func(name, value []byte)) error {
	d := decoder{data: data, max: failure.MaxDepth}
	i := d.next(0)
	if i >= len(data) || data[i] != '{' {
		return &failure.DecodeError{Offset: i, Msg: "expected a JSON object"}
	}
	i, done := d.empty(i+1, '}')
	for more := !done; more && i >= 0; {
		var name []byte
		if name, i = d.keyBytes(i); i < 0 {
			break
		}
		start := d.next(i)
		if i = d.skip(i); i < 0 {
			break
		}
		visit(name, data[start:i:i])
		i, more = d.more(i, '}', jsontext.MsgObject)
	}
	if i >= 0 {
		if i = jsontext.SkipSpace(data, i); i != len(data) {
			d.fail(i, jsontext.MsgTail)
			i = -1
		}
	}
	if i < 0 {
		return d.failure()
	}
	return nil
}

// Text returns the string of a JSON string; ok is false if value is of another type.
func Text(value []byte) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	d := decoder{data: value}
	raw, end := d.raw(0)
	return string(raw), end == len(value)
}
