package json

import (
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// Options are codec.DecodeOptions.
type Options struct {
	Strict             bool
	MaxDepth, MaxBytes int
}

// An Issue is a field that a strict decode reports: one that occurs twice, or one the type does not have.
type Issue struct {
	Duplicate bool
	Path      string
}

// MaxIssues is how many issues a strict decode reports at most.
const MaxIssues = 100

// Unmarshal reads one JSON value into v, a non-nil pointer, which is zero after an error. It returns the
// issues in the order of the input if o.Strict is set.
func Unmarshal(data []byte, v any, o Options) ([]Issue, error) {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return nil, fmt.Errorf("codec: decoding into %T, want a non-nil pointer", v)
	}
	n := plan.Of(rv.Type().Elem())
	if err := n.CheckJSON(); err != nil {
		return nil, err
	}
	if o.MaxBytes > 0 && len(data) > o.MaxBytes {
		n.Clear(rv.UnsafePointer())
		return nil, &failure.DecodeError{Offset: o.MaxBytes, Msg: fmt.Sprintf("input of %d bytes is over the limit of %d", len(data), o.MaxBytes), Err: failure.ErrTooLarge}
	}
	d := getDecoder()
	defer putDecoder(d)
	d.data, d.strict, d.max = data, o.Strict, o.MaxDepth
	if d.max <= 0 {
		d.max = failure.MaxDepth
	}
	if n.Object != nil {
		d.slab = arena.Open(&n.Object.JSON, nil)
	}
	p := rv.UnsafePointer()
	i := d.value(n, p, 0, n.Intern)
	if i >= 0 {
		if i = jsontext.SkipSpace(data, i); i != len(data) {
			d.fail(i, jsontext.MsgTail)
			i = -1
		}
	}
	if i < 0 {
		n.Clear(p)
		return nil, d.failure()
	}
	if n.Object != nil {
		d.slab.Close()
	}
	return d.report(), nil
}

// next returns the offset of the next byte that is not white space.
func (d *decoder) next(i int) int {
	if i < len(d.data) && d.data[i] > ' ' {
		return i
	}
	return jsontext.SkipSpace(d.data, i)
}

// null reads the word null at i.
func (d *decoder) null(i int) int {
	if b := d.data[i:]; len(b) >= 4 && b[1] == 'u' && b[2] == 'l' && b[3] == 'l' {
		return i + 4
	}
	return d.syntax(i)
}

// syntax reports the value at i as malformed; it is called only for malformed input.
func (d *decoder) syntax(i int) int {
	s := jsontext.Scanner{Data: d.data, Max: d.max, Depth: d.depth}
	if end, msg := s.Value(i); msg != "" {
		return d.fail(end, msg)
	}
	return d.fail(i, jsontext.MsgValue)
}

// mismatch reports a value that is not of the expected type, or is malformed.
func (d *decoder) mismatch(n *plan.Node, i int) int {
	s := jsontext.Scanner{Data: d.data, Max: d.max, Depth: d.depth}
	end, msg := s.Value(i)
	if msg != "" {
		if msg == jsontext.MsgDeep {
			d.cause = failure.ErrTooDeep
		}
		return d.fail(end, msg)
	}
	got := "object"
	switch c := d.data[i]; c {
	case '"':
		got = "string"
	case '[':
		got = "array"
	case 't', 'f':
		got = "bool"
	case '{':
	default:
		got = "number " + failure.Clip(d.data[i:end])
	}
	return d.fail(i, "cannot decode "+got+" into "+n.Type.String())
}

// value reads the value at or after i into the value of type n at p.
func (d *decoder) value(n *plan.Node, p mem.Pointer, i int, interning bool) int {
	i = d.next(i)
	if i >= len(d.data) {
		return d.fail(i, jsontext.MsgEOF)
	}
	c := d.data[i]
	switch n.Dec {
	case plan.OpString:
		if c == '"' {
			s, i := d.text(i, interning)
			if i >= 0 {
				*mem.At[string](p) = s
			}
			return i
		}
	case plan.OpBool:
		if c == 't' || c == 'f' {
			return d.boolean(n, p, i)
		}
	case plan.OpInt8, plan.OpInt16, plan.OpInt32, plan.OpInt64:
		if c == '-' || jsontext.IsDigit(c) {
			return d.integer(n, p, i)
		}
	case plan.OpUint8, plan.OpUint16, plan.OpUint32, plan.OpUint64:
		if c == '-' || jsontext.IsDigit(c) {
			return d.unsigned(n, p, i)
		}
	case plan.OpFloat32, plan.OpFloat64:
		if c == '-' || jsontext.IsDigit(c) {
			return d.float(n, p, i)
		}
	case plan.OpStruct:
		if c == '{' {
			return d.structure(n, p, i)
		}
	case plan.OpPointer:
		if c != 'n' {
			q := *mem.PointerAt(p)
			if q == nil {
				q = d.slab.New(n.Elem.Type, n.Elem.Kind)
				*mem.PointerAt(p) = q
			}
			return d.value(n.Elem, q, i, interning)
		}
	case plan.OpSlice:
		if c == '[' {
			return d.slice(n, p, i)
		}
	case plan.OpStringMap:
		if c == '{' {
			return d.stringMap(n, p, i)
		}
	case plan.OpMap:
		if c == '{' {
			return d.mapping(n, p, i)
		}
	case plan.OpRawJSON, plan.OpNumber, plan.OpOwn, plan.OpStd, plan.OpText:
		return d.byMethod(n, p, i)
	default:
		return d.otherValue(n, p, i)
	}
	return d.nullOr(n, p, i)
}

// otherValue reads a value of one of the less frequent kinds, which begins at i.
func (d *decoder) otherValue(n *plan.Node, p mem.Pointer, i int) int {
	c := d.data[i]
	switch n.Dec {
	case plan.OpArray:
		if c == '[' {
			return d.array(n, p, i)
		}
	case plan.OpBytes:
		switch c {
		case '"':
			return d.bytes(n, p, i)
		case '[':
			return d.slice(n, p, i)
		}
	case plan.OpAny:
		v, i := d.any(i)
		if i >= 0 {
			*mem.At[any](p) = v
		}
		return i
	case plan.OpOneOf:
		return d.oneOf(n, p, i)
	}
	return d.nullOr(n, p, i)
}

// nullOr reads the null at i into the value of type n at p: types that can be nil become nil, and other
// values do not change. Anything but null is a mismatch.
func (d *decoder) nullOr(n *plan.Node, p mem.Pointer, i int) int {
	if d.data[i] != 'n' {
		return d.mismatch(n, i)
	}
	if i = d.null(i); i < 0 {
		return -1
	}
	switch n.Dec {
	case plan.OpPointer, plan.OpStringMap, plan.OpMap:
		*mem.PointerAt(p) = nil
	case plan.OpSlice, plan.OpBytes:
		*mem.SliceAt(p) = mem.Slice{}
	case plan.OpInterface:
		n.Clear(p)
	}
	return i
}
