package json

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Marshal returns the JSON of v, byte for byte what encoding/json writes.
func Marshal(v any) ([]byte, error) {
	e := getEncoder()
	b, err := e.root(e.buf[:0], v)
	if err != nil {
		return nil, err
	}
	defer putEncoder(e)
	if cap(b) <= arena.MaxKept {
		e.buf = b
	} else if cap(b)-len(b) <= len(b)/8 {
		return slices.Clip(b), nil // too large for the pool, and little of it is unused
	}
	return slices.Clone(b), nil
}

// Append appends the JSON of v to dst. On error dst is returned as it was.
func Append(dst []byte, v any) ([]byte, error) {
	e := getEncoder()
	defer putEncoder(e)
	return e.root(dst, v)
}

func (e *Encoder) root(dst []byte, v any) ([]byte, error) {
	b := dst
	if n, p := plan.PointerOf(v); n == nil {
		b = append(b, "null"...)
	} else if err := n.CheckJSON(); err != nil {
		return dst, err
	} else if p == nil {
		b = append(b, "null"...)
	} else {
		b = e.Value(b, n, p)
	}
	if e.Err != nil {
		return dst, e.Err
	}
	return b, nil
}

// An Encoder holds the state of encoding one value, except the output. The zero value is ready.
type Encoder struct {
	buf     []byte
	keys    []string
	pairs   plan.Sorter[string]
	amounts plan.Sorter[resource.Quantity]
	Depth   int   // of the value being written
	Err     error // the first; nothing more is written then
}

var encoders sync.Pool // *Encoder

func getEncoder() *Encoder {
	if e, ok := encoders.Get().(*Encoder); ok {
		return e
	}
	return &Encoder{}
}

func putEncoder(e *Encoder) {
	if e.Err != nil || cap(e.keys) > 1024 || e.pairs.Large() || e.amounts.Large() {
		return // after an error keys may remain
	}
	encoders.Put(e)
}

func (e *Encoder) fail(err error) {
	if e.Err == nil {
		e.Err = err
	}
}

// enter counts one level of nesting. If it returns true, the caller must call leave.
func (e *Encoder) enter() bool {
	if e.Depth >= failure.MaxDepth {
		e.fail(fmt.Errorf("codec: encoding JSON: %w", failure.ErrTooDeep))
	}
	if e.Err != nil {
		return false
	}
	e.Depth++
	return true
}

// Value appends the value of type n at p.
func (e *Encoder) Value(b []byte, n *plan.Node, p mem.Pointer) []byte {
	switch n.Enc {
	case plan.OpString:
		return jsontext.AppendString(b, *mem.At[string](p))
	case plan.OpBool:
		return strconv.AppendBool(b, *mem.At[bool](p))
	case plan.OpInt8:
		return strconv.AppendInt(b, int64(*mem.At[int8](p)), 10)
	case plan.OpInt16:
		return strconv.AppendInt(b, int64(*mem.At[int16](p)), 10)
	case plan.OpInt32:
		return strconv.AppendInt(b, int64(*mem.At[int32](p)), 10)
	case plan.OpInt64:
		return strconv.AppendInt(b, *mem.At[int64](p), 10)
	case plan.OpUint8:
		return strconv.AppendUint(b, uint64(*mem.At[uint8](p)), 10)
	case plan.OpUint16:
		return strconv.AppendUint(b, uint64(*mem.At[uint16](p)), 10)
	case plan.OpUint32:
		return strconv.AppendUint(b, uint64(*mem.At[uint32](p)), 10)
	case plan.OpUint64:
		return strconv.AppendUint(b, *mem.At[uint64](p), 10)
	case plan.OpFloat32:
		return e.float(b, float64(*mem.At[float32](p)), 32)
	case plan.OpFloat64:
		return e.float(b, *mem.At[float64](p), 64)
	case plan.OpStruct:
		return e.structure(b, n, p)
	case plan.OpPointer:
		q := *mem.PointerAt(p)
		if q == nil {
			return append(b, "null"...)
		}
		if !e.enter() {
			return b
		}
		b = e.Value(b, n.Elem, q)
		e.Depth--
		return b
	case plan.OpSlice:
		h := mem.SliceAt(p)
		if h.Data == nil {
			return append(b, "null"...)
		}
		return e.array(b, n.Elem, h.Data, h.Len)
	case plan.OpArray:
		return e.array(b, n.Elem, p, n.Len)
	case plan.OpBytes:
		return e.bytes(b, n, p)
	case plan.OpStringMap:
		return e.stringMap(b, *mem.At[map[string]string](p))
	case plan.OpMap:
		return e.mapping(b, n, p)
	case plan.OpAny:
		return e.any(b, *mem.At[any](p))
	case plan.OpInterface:
		return e.dynamic(b, n.At(p).Elem())
	case plan.OpOneOf:
		return e.oneOf(b, n, p)
	}
	return e.byMethod(b, n, p)
}

func (e *Encoder) float(b []byte, f float64, size int) []byte {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		e.fail(fmt.Errorf("codec: encoding JSON: unsupported value %v", f))
		return b
	}
	return jsontext.AppendFloat(b, f, size)
}

func (e *Encoder) structure(b []byte, n *plan.Node, p mem.Pointer) []byte {
	lead := byte('{') // precedes the next member
	for i, pr := range n.Probes {
		q := mem.Add(p, pr.Off)
		switch pr.Rule {
		case plan.OmitNever:
		case plan.OmitLen:
			if mem.LenAt(q) == 0 {
				continue
			}
		case plan.OmitWord:
			if *mem.PointerAt(q) == nil {
				continue
			}
		case plan.OmitMap:
			if mem.MapLen(q) == 0 {
				continue
			}
		case plan.OmitZero1:
			if *mem.At[uint8](q) == 0 {
				continue
			}
		case plan.OmitZero4:
			if *mem.At[uint32](q) == 0 {
				continue
			}
		default:
			if q = n.Fields[i].Present(p); q == nil {
				continue
			}
		}
		f := &n.Fields[i]
		at := len(b)
		b = append(b, f.Key...)
		b[at] = lead
		lead = ','
		switch f.Enc {
		case plan.OpString:
			b = jsontext.AppendString(b, *mem.At[string](q))
		case plan.OpStruct:
			b = e.structure(b, f.Node, q)
		case plan.OpInvalid:
			b = e.quoted(b, f, q)
		default:
			b = e.Value(b, f.Node, q)
		}
	}
	if lead == '{' {
		b = append(b, '{')
	}
	if n.Unknown != nil {
		b = e.members(b, n, *mem.At[map[string]any](mem.Add(p, n.Unknown.Off)), lead == '{')
	}
	return append(b, '}')
}

// quoted writes a field with the tag option "string".
func (e *Encoder) quoted(b []byte, f *plan.Field, p mem.Pointer) []byte {
	n := f.Node
	if n.Op == plan.OpPointer {
		if p = *mem.PointerAt(p); p == nil {
			return append(b, "null"...)
		}
		n = n.Elem
	}
	if n.Op == plan.OpString {
		return jsontext.AppendString(b, string(jsontext.AppendString(nil, *mem.At[string](p))))
	}
	b = append(b, '"')
	b = e.Value(b, n, p)
	return append(b, '"')
}

// members writes the collected unknown members, except those with the name of a field.
func (e *Encoder) members(b []byte, n *plan.Node, m map[string]any, first bool) []byte {
	if len(m) == 0 || !e.enter() {
		return b
	}
	base := len(e.keys)
	for k := range m {
		if n.Find(mem.Bytes(k)) < 0 {
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
		b = append(jsontext.AppendString(b, k), ':')
		b = e.any(b, m[k])
	}
	clear(keys)
	e.keys = e.keys[:base]
	e.Depth--
	return b
}

func (e *Encoder) array(b []byte, elem *plan.Node, p mem.Pointer, length int) []byte {
	if !e.enter() {
		return b
	}
	b = append(b, '[')
	start := len(b)
	for i := range length {
		if i > 0 {
			b = roomForRest(append(b, ','), start, i, length)
		}
		b = e.Value(b, elem, mem.Index(p, i, elem.Size))
		if e.Err != nil {
			break
		}
	}
	e.Depth--
	return append(b, ']')
}

// roomForRest grows b for an array of length elements of which done are in b[start:]. Append alone grows
// large buffers by a quarter and would copy long output many times. b becomes at most four times as large.
func roomForRest(b []byte, start, done, length int) []byte {
	each := (len(b)-start)/done + 1
	if len(b) < arena.MaxKept || cap(b)-len(b) >= 2*each {
		return b
	}
	return slices.Grow(b, min((length-done)*(each+each/8), 3*len(b)))
}

func (e *Encoder) bytes(b []byte, n *plan.Node, p mem.Pointer) []byte {
	h := mem.SliceAt(p)
	if h.Data == nil {
		return append(b, "null"...)
	}
	if n.Elem.Enc != plan.OpUint8 {
		return e.array(b, n.Elem, h.Data, h.Len) // bytes of a type with methods
	}
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, *mem.At[[]byte](p))
	return append(b, '"')
}

// Member appends the value of a field at p.
func (e *Encoder) Member(b []byte, f *plan.Field, p mem.Pointer) []byte {
	if f.Enc == plan.OpInvalid {
		return e.quoted(b, f, p)
	}
	return e.Value(b, f.Node, p)
}
