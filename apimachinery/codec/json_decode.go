package codec

import (
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// DecodeOptions change how [UnmarshalOptions] reads. The zero value reads as [Unmarshal].
type DecodeOptions struct {
	// Strict reports unknown fields, and fields and map keys that occur twice.
	Strict bool
	// MaxDepth bounds the nesting of objects and arrays; 0 means 10,000.
	MaxDepth int
	// MaxBytes bounds the length of the input; 0 means no bound.
	MaxBytes int
}

// maxIssues is how many issues a strict decode reports at most.
const maxIssues = 100

// Unmarshal reads one JSON value into v, a non-nil pointer. Members without a field are skipped; of
// duplicates the last one counts. Names are case-sensitive. Like encoding/json it keeps what v holds and the
// input does not mention. The error is a [*DecodeError], or a [*TypeError] if v's type has no JSON form;
// after an error v is zero.
func Unmarshal(data []byte, v any) error {
	_, err := UnmarshalOptions(data, v, DecodeOptions{})
	return err
}

// UnmarshalOptions is Unmarshal with options. With Strict it returns at most 100 issues in the order of the
// input; they do not prevent v from being decoded.
func UnmarshalOptions(data []byte, v any, o DecodeOptions) ([]FieldIssue, error) {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return nil, fmt.Errorf("codec: decoding into %T, want a non-nil pointer", v)
	}
	n := nodeOf(rv.Type().Elem())
	if err := n.checkJSON(); err != nil {
		return nil, err
	}
	if o.MaxBytes > 0 && len(data) > o.MaxBytes {
		n.clear(rv.UnsafePointer())
		return nil, &DecodeError{Offset: o.MaxBytes, Msg: fmt.Sprintf("input of %d bytes is over the limit of %d", len(data), o.MaxBytes), Err: ErrTooLarge}
	}
	d := getDecoder()
	defer putDecoder(d)
	d.data, d.strict, d.max = data, o.Strict, o.MaxDepth
	if d.max <= 0 {
		d.max = maxNesting
	}
	if n.object != nil {
		d.slab = arena.Open(&n.object.json, nil)
	}
	p := rv.UnsafePointer()
	i := d.value(n, p, 0, n.intern)
	if i >= 0 {
		if i = skipSpace(data, i); i != len(data) {
			d.fail(i, msgTail)
			i = -1
		}
	}
	if i < 0 {
		n.clear(p)
		return nil, d.failure()
	}
	if n.object != nil {
		d.slab.Close()
	}
	return d.report(), nil
}

// next returns the offset of the next byte that is not white space.
func (d *jsonDecoder) next(i int) int {
	if i < len(d.data) && d.data[i] > ' ' {
		return i
	}
	return skipSpace(d.data, i)
}

// null reads the word null at i.
func (d *jsonDecoder) null(i int) int {
	if b := d.data[i:]; len(b) >= 4 && b[1] == 'u' && b[2] == 'l' && b[3] == 'l' {
		return i + 4
	}
	return d.syntax(i)
}

// syntax reports the value at i as malformed; it is called only for malformed input.
func (d *jsonDecoder) syntax(i int) int {
	s := scanner{data: d.data, max: d.max, depth: d.depth}
	if end, msg := s.value(i); msg != "" {
		return d.fail(end, msg)
	}
	return d.fail(i, msgValue)
}

// mismatch reports a value that is not of the wanted type, or not well-formed.
func (d *jsonDecoder) mismatch(n *node, i int) int {
	s := scanner{data: d.data, max: d.max, depth: d.depth}
	end, msg := s.value(i)
	if msg != "" {
		if msg == msgDeep {
			d.cause = ErrTooDeep
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
		got = "number " + clip(d.data[i:end])
	}
	return d.fail(i, "cannot decode "+got+" into "+n.typ.String())
}

func clip(b []byte) string {
	if len(b) > 40 {
		return string(b[:40]) + "..."
	}
	return string(b)
}

// value reads the value at or after i into the value of type n at p.
func (d *jsonDecoder) value(n *node, p mem.Pointer, i int, interning bool) int {
	i = d.next(i)
	if i >= len(d.data) {
		return d.fail(i, msgEOF)
	}
	c := d.data[i]
	switch n.dec {
	case opString:
		if c == '"' {
			s, i := d.text(i, interning)
			if i >= 0 {
				*mem.At[string](p) = s
			}
			return i
		}
	case opBool:
		switch {
		case c == 't' && d.word(i, "true"):
			*mem.At[bool](p) = true
			return i + 4
		case c == 'f' && d.word(i, "false"):
			*mem.At[bool](p) = false
			return i + 5
		}
	case opInt8, opInt16, opInt32, opInt64:
		if c == '-' || isDigit(c) {
			return d.integer(n, p, i)
		}
	case opUint8, opUint16, opUint32, opUint64:
		if c == '-' || isDigit(c) {
			return d.unsigned(n, p, i)
		}
	case opFloat32, opFloat64:
		if c == '-' || isDigit(c) {
			return d.float(n, p, i)
		}
	case opStruct:
		if c == '{' {
			return d.structure(n, p, i)
		}
	case opPtr:
		if c == 'n' {
			if i = d.null(i); i >= 0 {
				*mem.PointerAt(p) = nil
			}
			return i
		}
		q := *mem.PointerAt(p)
		if q == nil {
			q = d.slab.New(n.elem.typ, n.elem.kind)
			*mem.PointerAt(p) = q
		}
		return d.value(n.elem, q, i, interning)
	case opSlice:
		if c == '[' {
			return d.slice(n, p, i)
		}
		if c == 'n' {
			if i = d.null(i); i >= 0 {
				*mem.SliceAt(p) = mem.Slice{}
			}
			return i
		}
	case opArray:
		if c == '[' {
			return d.array(n, p, i)
		}
	case opBytes:
		if c == 'n' {
			if i = d.null(i); i >= 0 {
				*mem.SliceAt(p) = mem.Slice{}
			}
			return i
		}
		if c == '"' {
			return d.bytes(n, p, i)
		}
		if c == '[' {
			return d.slice(n, p, i)
		}
	case opStrMap:
		if c == '{' {
			return d.stringMap(n, p, i)
		}
		if c == 'n' {
			if i = d.null(i); i >= 0 {
				*mem.PointerAt(p) = nil
			}
			return i
		}
	case opMap:
		if c == '{' {
			return d.mapping(n, p, i)
		}
		if c == 'n' {
			if i = d.null(i); i >= 0 {
				*mem.PointerAt(p) = nil
			}
			return i
		}
	case opAny:
		v, i := d.any(i)
		if i >= 0 {
			*mem.At[any](p) = v
		}
		return i
	case opIface:
		if c == 'n' {
			if i = d.null(i); i >= 0 {
				n.clear(p)
			}
			return i
		}
	case opOneOf:
		return d.oneOf(n, p, i)
	default:
		return d.byMethod(n, p, i)
	}
	if c == 'n' {
		return d.null(i) // leaves the value as it is
	}
	return d.mismatch(n, i)
}
