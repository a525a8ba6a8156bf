package codec

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// maxNesting bounds the depth of values that are written or copied. It is the
// depth encoding/json reads.
const maxNesting = 10000

// Marshal returns the JSON of v, byte for byte what encoding/json writes. The
// error is a [*TypeError] for types without a JSON form, else it wraps what a
// method of a value returned, names a value JSON cannot hold (an infinity), or wraps ErrTooDeep.
func Marshal(v any) ([]byte, error) {
	e := getEncoder()
	b, err := appendJSON(e, e.buf[:0], v)
	if err != nil {
		return nil, err
	}
	defer putEncoder(e)
	if cap(b) <= maxKept {
		e.buf = b
	} else if cap(b)-len(b) <= len(b)/8 {
		return slices.Clip(b), nil // too large to be kept for the next, and not much too large for this
	}
	return slices.Clone(b), nil
}

// AppendJSON appends the JSON of v to dst. On error dst is returned as it was.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	e := getEncoder()
	defer putEncoder(e)
	return appendJSON(e, dst, v)
}

func appendJSON(e *jsonEncoder, dst []byte, v any) ([]byte, error) {
	b := dst
	if n, p := pointerOf(v); n == nil {
		b = append(b, "null"...)
	} else if err := n.checkJSON(); err != nil {
		return dst, err
	} else if p == nil {
		b = append(b, "null"...)
	} else {
		b = e.value(b, n, p)
	}
	if e.err != nil {
		return dst, e.err
	}
	return b, nil
}

// maxKept is the largest scratch buffer kept between calls, in bytes.
const maxKept = 64 << 10

// A jsonEncoder carries what one Marshal needs besides the output.
type jsonEncoder struct {
	buf     []byte
	keys    []string
	pairs   sorter[string]
	amounts sorter[resource.Quantity]
	depth   int
	err     error
}

var encoders sync.Pool // *jsonEncoder

func getEncoder() *jsonEncoder {
	if e, ok := encoders.Get().(*jsonEncoder); ok {
		return e
	}
	return &jsonEncoder{}
}

func putEncoder(e *jsonEncoder) {
	if e.err != nil || cap(e.keys) > 1024 || e.pairs.large() || e.amounts.large() {
		return // after an error there may be keys left
	}
	encoders.Put(e)
}

func (e *jsonEncoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// enter counts one level of nesting; the caller must leave it if it is true.
func (e *jsonEncoder) enter() bool {
	if e.depth >= maxNesting {
		e.fail(fmt.Errorf("codec: encoding JSON: %w", ErrTooDeep))
	}
	if e.err != nil {
		return false
	}
	e.depth++
	return true
}

// value appends the value of type n at p.
func (e *jsonEncoder) value(b []byte, n *node, p mem.Pointer) []byte {
	switch n.enc {
	case opString:
		return appendString(b, *mem.At[string](p))
	case opBool:
		return strconv.AppendBool(b, *mem.At[bool](p))
	case opInt8:
		return strconv.AppendInt(b, int64(*mem.At[int8](p)), 10)
	case opInt16:
		return strconv.AppendInt(b, int64(*mem.At[int16](p)), 10)
	case opInt32:
		return strconv.AppendInt(b, int64(*mem.At[int32](p)), 10)
	case opInt64:
		return strconv.AppendInt(b, *mem.At[int64](p), 10)
	case opUint8:
		return strconv.AppendUint(b, uint64(*mem.At[uint8](p)), 10)
	case opUint16:
		return strconv.AppendUint(b, uint64(*mem.At[uint16](p)), 10)
	case opUint32:
		return strconv.AppendUint(b, uint64(*mem.At[uint32](p)), 10)
	case opUint64:
		return strconv.AppendUint(b, *mem.At[uint64](p), 10)
	case opFloat32:
		return e.float(b, float64(*mem.At[float32](p)), 32)
	case opFloat64:
		return e.float(b, *mem.At[float64](p), 64)
	case opStruct:
		return e.structure(b, n, p)
	case opPtr:
		q := *mem.PointerAt(p)
		if q == nil {
			return append(b, "null"...)
		}
		if !e.enter() {
			return b
		}
		b = e.value(b, n.elem, q)
		e.depth--
		return b
	case opSlice:
		h := mem.SliceAt(p)
		if h.Data == nil {
			return append(b, "null"...)
		}
		return e.array(b, n.elem, h.Data, h.Len)
	case opArray:
		return e.array(b, n.elem, p, n.length)
	case opBytes:
		return e.bytes(b, n, p)
	case opStrMap:
		return e.stringMap(b, *mem.At[map[string]string](p))
	case opMap:
		return e.mapping(b, n, p)
	case opAny:
		return e.any(b, *mem.At[any](p))
	case opIface:
		return e.dynamic(b, n.at(p).Elem())
	case opOneOf:
		return e.oneOf(b, n, p)
	}
	return e.byMethod(b, n, p)
}

func (e *jsonEncoder) float(b []byte, f float64, size int) []byte {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		e.fail(fmt.Errorf("codec: encoding JSON: unsupported value %v", f))
		return b
	}
	return appendFloat(b, f, size)
}

func (e *jsonEncoder) structure(b []byte, n *node, p mem.Pointer) []byte {
	lead := byte('{') // what comes before the next member
	for i, pr := range n.probes {
		q := mem.Add(p, pr.off)
		switch pr.rule {
		case omitNever:
		case omitLen:
			if mem.LenAt(q) == 0 {
				continue
			}
		case omitWord:
			if *mem.PointerAt(q) == nil {
				continue
			}
		case omitMap:
			if mem.MapLen(q) == 0 {
				continue
			}
		case omitZero1:
			if *mem.At[uint8](q) == 0 {
				continue
			}
		case omitZero4:
			if *mem.At[uint32](q) == 0 {
				continue
			}
		default:
			if q = n.fields[i].present(p); q == nil {
				continue
			}
		}
		f := &n.fields[i]
		at := len(b)
		b = f.appendName(b)
		b[at] = lead
		lead = ','
		switch f.enc {
		case opString:
			b = appendString(b, *mem.At[string](q))
		case opStruct:
			b = e.structure(b, f.n, q)
		case opInvalid:
			b = e.quoted(b, f, q)
		default:
			b = e.value(b, f.n, q)
		}
	}
	if lead == '{' {
		b = append(b, '{')
	}
	if n.unknown != nil {
		b = e.members(b, n, *mem.At[map[string]any](mem.Add(p, n.unknown.off)), lead == '{')
	}
	return append(b, '}')
}

// appendName appends a comma, the name and a colon.
func (f *field) appendName(b []byte) []byte { return append(b, f.comma...) }

// quoted writes a field with the tag option "string".
func (e *jsonEncoder) quoted(b []byte, f *field, p mem.Pointer) []byte {
	n := f.n
	if n.op == opPtr {
		if p = *mem.PointerAt(p); p == nil {
			return append(b, "null"...)
		}
		n = n.elem
	}
	if n.op == opString {
		return appendString(b, string(appendString(nil, *mem.At[string](p))))
	}
	b = append(b, '"')
	b = e.value(b, n, p)
	return append(b, '"')
}

// members writes the collected unknown members but those a field claims.
func (e *jsonEncoder) members(b []byte, n *node, m map[string]any, first bool) []byte {
	if len(m) == 0 || !e.enter() {
		return b
	}
	base := len(e.keys)
	for k := range m {
		if n.find(mem.Bytes(k)) < 0 {
			e.keys = append(e.keys, k)
		}
	}
	keys := e.keys[base:]
	slices.Sort(keys)
	for _, k := range keys {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendString(b, k), ':')
		b = e.any(b, m[k])
	}
	clear(keys)
	e.keys = e.keys[:base]
	e.depth--
	return b
}

func (e *jsonEncoder) array(b []byte, elem *node, p mem.Pointer, length int) []byte {
	if !e.enter() {
		return b
	}
	b = append(b, '[')
	start := len(b)
	for i := range length {
		if i > 0 {
			b = roomForRest(append(b, ','), start, i, length)
		}
		b = e.value(b, elem, mem.Index(p, i, elem.size))
		if e.err != nil {
			break
		}
	}
	e.depth--
	return append(b, ']')
}

// roomForRest makes room for an array of length elements of which done are in
// b[start:]. Long output would otherwise be moved again and again, as append grows
// large buffers by a quarter; at most it becomes four times as large.
func roomForRest(b []byte, start, done, length int) []byte {
	each := (len(b)-start)/done + 1
	if len(b) < maxKept || cap(b)-len(b) >= 2*each {
		return b
	}
	return slices.Grow(b, min((length-done)*(each+each/8), 3*len(b)))
}

func (e *jsonEncoder) bytes(b []byte, n *node, p mem.Pointer) []byte {
	h := mem.SliceAt(p)
	if h.Data == nil {
		return append(b, "null"...)
	}
	if n.elem.enc != opUint8 {
		return e.array(b, n.elem, h.Data, h.Len) // bytes with methods of their own
	}
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, *mem.At[[]byte](p))
	return append(b, '"')
}
