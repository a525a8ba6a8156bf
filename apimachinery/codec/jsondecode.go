package codec

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
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

// Unmarshal reads one JSON value into v, a non-nil pointer. Members no field
// claims are skipped; of duplicates the last one counts. Names are
// case-sensitive. Like encoding/json it keeps what v holds and the input does
// not mention. The error is a [*DecodeError], or a [*TypeError] if v's
// type has no JSON form; after an error v is zero.
func Unmarshal(data []byte, v any) error {
	_, err := UnmarshalOptions(data, v, DecodeOptions{})
	return err
}

// UnmarshalOptions is Unmarshal with options. With Strict it returns what it
// objects to, at most 100 issues in the order of the input; v is then decoded all the same.
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
	d := jsonDecoder{data: data, strict: o.Strict, max: o.MaxDepth}
	if d.max <= 0 {
		d.max = maxNesting
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
	return d.report(), nil
}

// A jsonDecoder is one decode under way. Its methods take an offset and return
// the offset after what they read, or -1 after an error.
type jsonDecoder struct {
	data   []byte
	strict bool
	turn   uint8
	depth  int
	max    int

	strings block
	scratch []byte
	value1  string // a value on its way into a map

	issues []issue

	errAt   int
	errMsg  string
	cause   error
	errPath []segment
}

type issue struct {
	kind IssueKind
	path []segment
}

func (d *jsonDecoder) fail(i int, msg string) int {
	if d.errMsg == "" {
		d.errAt, d.errMsg = i, msg
	}
	return -1
}

func (d *jsonDecoder) failure() error {
	return &DecodeError{Offset: d.errAt, Path: joinSegments(d.errPath), Msg: d.errMsg, Err: d.cause}
}

func (d *jsonDecoder) report() []FieldIssue {
	if len(d.issues) == 0 {
		return nil
	}
	out := make([]FieldIssue, len(d.issues))
	for i, s := range d.issues {
		out[i] = FieldIssue{Kind: s.kind, Path: joinSegments(s.path)}
	}
	return out
}

// object to a member of the object being read.
func (d *jsonDecoder) object(kind IssueKind, name string) {
	if len(d.issues) < maxIssues {
		d.issues = append(d.issues, issue{kind, []segment{{name: name, index: -1}}})
	}
}

// within notes, while returning, that the error (i < 0) or the issues since
// before happened below s.
func (d *jsonDecoder) within(i, before int, s segment) {
	if i < 0 {
		d.errPath = append(d.errPath, s)
		return
	}
	for k := before; k < len(d.issues); k++ {
		d.issues[k].path = append(d.issues[k].path, s)
	}
}

func (d *jsonDecoder) enter(i int) bool {
	if d.depth >= d.max {
		d.fail(i, msgDeep)
		d.cause = ErrTooDeep
		return false
	}
	d.depth++
	return true
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

// syntax reports the value at i as malformed; it is called when something is known to be wrong.
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
func (d *jsonDecoder) value(n *node, p unsafe.Pointer, i int, interning bool) int {
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
				*(*string)(p) = s
			}
			return i
		}
	case opBool:
		switch {
		case c == 't' && d.word(i, "true"):
			*(*bool)(p) = true
			return i + 4
		case c == 'f' && d.word(i, "false"):
			*(*bool)(p) = false
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
				*(*unsafe.Pointer)(p) = nil
			}
			return i
		}
		q := *(*unsafe.Pointer)(p)
		if q == nil {
			q = n.elem.newValue()
			*(*unsafe.Pointer)(p) = q
		}
		return d.value(n.elem, q, i, interning)
	case opSlice:
		if c == '[' {
			return d.slice(n, p, i)
		}
		if c == 'n' {
			if i = d.null(i); i >= 0 {
				*(*sliceHeader)(p) = sliceHeader{}
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
				*(*sliceHeader)(p) = sliceHeader{}
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
				*(*unsafe.Pointer)(p) = nil
			}
			return i
		}
	case opMap:
		if c == '{' {
			return d.mapping(n, p, i)
		}
		if c == 'n' {
			if i = d.null(i); i >= 0 {
				*(*unsafe.Pointer)(p) = nil
			}
			return i
		}
	case opAny:
		v, i := d.any(i)
		if i >= 0 {
			*(*any)(p) = v
		}
		return i
	case opIface:
		if c == 'n' {
			if i = d.null(i); i >= 0 {
				n.clear(p)
			}
			return i
		}
	default:
		return d.byMethod(n, p, i)
	}
	if c == 'n' {
		return d.null(i) // leaves the value as it is
	}
	return d.mismatch(n, i)
}

func (d *jsonDecoder) word(i int, w string) bool {
	return len(d.data)-i >= len(w) && string(d.data[i:i+len(w)]) == w
}

// text reads the string at i, whose quote has been seen.
func (d *jsonDecoder) text(i int, interning bool) (string, int) {
	start := i + 1
	end := stringEnd(d.data, start)
	var raw []byte
	if end < len(d.data) && d.data[end] == '"' {
		raw = d.data[start:end]
		i = end + 1
	} else if raw, i = d.unescape(start, end); i < 0 {
		return "", -1
	}
	if interning {
		if s, ok := intern(raw, &d.turn); ok {
			return s, i
		}
	}
	return d.strings.keep(raw, len(d.data)-i), i
}

// unescape reads the rest of a string that begins at start and is plain up to
// i. The result is valid until the next call.
func (d *jsonDecoder) unescape(start, i int) ([]byte, int) {
	b := d.data
	out := append(d.scratch[:0], b[start:i]...)
	for i < len(b) {
		c := b[i]
		switch {
		case c == '"':
			d.scratch = out
			return out, i + 1
		case c == '\\':
			n, ok := escapeLen(b[i:])
			if !ok {
				if n == 0 {
					return nil, d.fail(len(b), msgEOF)
				}
				return nil, d.fail(i, msgEscape)
			}
			if n == 2 {
				out = append(out, shortEscape(b[i+1]))
				i += 2
				continue
			}
			r, _ := hex4(b[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if n, ok := escapeLen(b[i:]); ok && n == 6 && b[i] == '\\' {
					low, _ := hex4(b[i+2:])
					if pair = utf16.DecodeRune(r, low); pair != utf8.RuneError {
						i += 6
					}
				}
				r = pair
			}
			out = utf8.AppendRune(out, r)
		case c < 0x20:
			return nil, d.fail(i, msgString)
		case c < utf8.RuneSelf:
			end := stringEnd(b, i)
			out = append(out, b[i:end]...)
			i = end
		default:
			r, n := utf8.DecodeRune(b[i:])
			out = utf8.AppendRune(out, r) // invalid bytes become U+FFFD
			i += n
		}
	}
	return nil, d.fail(i, msgEOF)
}

func shortEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func (d *jsonDecoder) integer(n *node, p unsafe.Pointer, i int) int {
	end, whole := skipNumber(d.data, i)
	if end < 0 {
		return d.fail(i, msgNumber)
	}
	if !whole {
		return d.mismatch(n, i)
	}
	bits := int(n.size) * 8
	var v int64
	if end-i <= 18 {
		neg := d.data[i] == '-'
		j := i
		if neg {
			j++
		}
		for ; j < end; j++ {
			v = v*10 + int64(d.data[j]-'0')
		}
		if neg {
			v = -v
		}
		if bits < 64 && (v < -1<<(bits-1) || v > 1<<(bits-1)-1) {
			return d.mismatch(n, i)
		}
	} else {
		var err error
		if v, err = strconv.ParseInt(string(d.data[i:end]), 10, bits); err != nil {
			return d.mismatch(n, i)
		}
	}
	switch n.size {
	case 1:
		*(*int8)(p) = int8(v)
	case 2:
		*(*int16)(p) = int16(v)
	case 4:
		*(*int32)(p) = int32(v)
	default:
		*(*int64)(p) = v
	}
	return end
}

func (d *jsonDecoder) unsigned(n *node, p unsafe.Pointer, i int) int {
	end, _ := skipNumber(d.data, i)
	if end < 0 {
		return d.fail(i, msgNumber)
	}
	v, err := strconv.ParseUint(string(d.data[i:end]), 10, int(n.size)*8)
	if err != nil {
		return d.mismatch(n, i)
	}
	switch n.size {
	case 1:
		*(*uint8)(p) = uint8(v)
	case 2:
		*(*uint16)(p) = uint16(v)
	case 4:
		*(*uint32)(p) = uint32(v)
	default:
		*(*uint64)(p) = v
	}
	return end
}

func (d *jsonDecoder) float(n *node, p unsafe.Pointer, i int) int {
	end, _ := skipNumber(d.data, i)
	if end < 0 {
		return d.fail(i, msgNumber)
	}
	v, err := strconv.ParseFloat(string(d.data[i:end]), int(n.size)*8)
	if err != nil {
		return d.mismatch(n, i)
	}
	if n.size == 4 {
		*(*float32)(p) = float32(v)
	} else {
		*(*float64)(p) = v
	}
	return end
}

// key reads an object key at i and the colon after it. The result is valid
// until the next call of unescape.
func (d *jsonDecoder) keyBytes(i int) ([]byte, int) {
	b := d.data
	i = d.next(i)
	if i >= len(b) {
		return nil, d.fail(i, msgEOF)
	}
	if b[i] != '"' {
		return nil, d.fail(i, msgKey)
	}
	start := i + 1
	end := stringEnd(b, start)
	var raw []byte
	if end < len(b) && b[end] == '"' {
		raw, i = b[start:end], end+1
	} else if raw, i = d.unescape(start, end); i < 0 {
		return nil, -1
	}
	i = d.next(i)
	if i >= len(b) {
		return nil, d.fail(i, msgEOF)
	}
	if b[i] != ':' {
		return nil, d.fail(i, msgColon)
	}
	return raw, i + 1
}

// more reads what follows a member or element: a comma (true) or the closing byte.
func (d *jsonDecoder) more(i int, closing byte, msg string) (int, bool) {
	i = d.next(i)
	if i >= len(d.data) {
		return d.fail(i, msgEOF), false
	}
	switch d.data[i] {
	case ',':
		return i + 1, true
	case closing:
		return i + 1, false
	}
	return d.fail(i, msg), false
}

// empty reports whether the object or array opened before i closes at once.
func (d *jsonDecoder) empty(i int, closing byte) (int, bool) {
	i = d.next(i)
	if i < len(d.data) && d.data[i] == closing {
		return i + 1, true
	}
	return i, false
}

func (d *jsonDecoder) structure(n *node, p unsafe.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	defer d.leave()
	i, done := d.empty(i+1, '}')
	if done {
		return i
	}
	var seen fieldSet
	expected := 0
	for more := true; more; {
		// Writers keep the order of the struct, so the field after the last one is tried first.
		var f *field
		k := -1
		if expected < len(n.fields) {
			name := n.fields[expected].comma[1:]
			if len(d.data)-i > len(name) && string(d.data[i:i+len(name)]) == string(name) {
				k, f = expected, &n.fields[expected]
				i += len(name)
			}
		}
		if f == nil {
			var name []byte
			if name, i = d.keyBytes(i); i < 0 {
				return -1
			}
			if k = n.find(name); k < 0 {
				if i = d.stray(n, p, name, i); i < 0 {
					return -1
				}
				i, more = d.more(i, '}', msgObject)
				if more {
					i = d.next(i)
				}
				if i < 0 {
					return -1
				}
				continue
			}
			f = &n.fields[k]
		}
		expected = k + 1
		if d.strict && !seen.add(k) {
			d.object(DuplicateField, f.name)
		}
		q := unsafe.Add(p, f.off)
		if f.indirect {
			q = f.reach(p)
		}
		before := len(d.issues)
		if f.quoted {
			i = d.quoted(f, q, i)
		} else {
			i = d.value(f.n, q, i, f.intern)
		}
		if i < 0 || len(d.issues) > before {
			d.within(i, before, segment{f.name, -1})
			if i < 0 {
				return -1
			}
		}
		if i, more = d.more(i, '}', msgObject); i < 0 {
			return -1
		}
		if more {
			i = d.next(i)
		}
	}
	return i
}

func (d *jsonDecoder) leave() { d.depth-- }

// fieldSet remembers which fields of a struct were read.
type fieldSet struct {
	low  uint64
	high map[int]bool
}

// add reports false if k was in the set already.
func (s *fieldSet) add(k int) bool {
	if k < 64 {
		was := s.low
		s.low |= 1 << k
		return s.low != was
	}
	if s.high[k] {
		return false
	}
	if s.high == nil {
		s.high = map[int]bool{}
	}
	s.high[k] = true
	return true
}

// stray reads a member no field claims: into the collecting field if there is one.
func (d *jsonDecoder) stray(n *node, p unsafe.Pointer, name []byte, i int) int {
	if n.unknown == nil {
		if d.strict {
			d.object(UnknownField, string(name))
		}
		return d.skip(i)
	}
	key := string(name)
	m := (*map[string]any)(unsafe.Add(p, n.unknown.off))
	if *m == nil {
		*m = map[string]any{}
	} else if d.strict {
		if _, dup := (*m)[key]; dup {
			d.object(DuplicateField, key)
		}
	}
	before := len(d.issues)
	v, i := d.any(d.next(i))
	if i < 0 || len(d.issues) > before {
		d.within(i, before, segment{key, -1})
	}
	if i >= 0 {
		(*m)[key] = v
	}
	return i
}

// skip reads over a value.
func (d *jsonDecoder) skip(i int) int {
	s := scanner{data: d.data, max: d.max, depth: d.depth}
	end, msg := s.value(d.next(i))
	if msg != "" {
		if msg == msgDeep {
			d.cause = ErrTooDeep
		}
		return d.fail(end, msg)
	}
	return end
}

// quoted reads a field with the tag option "string".
func (d *jsonDecoder) quoted(f *field, p unsafe.Pointer, i int) int {
	i = d.next(i)
	if i < len(d.data) && d.data[i] == 'n' {
		return d.value(f.n, p, i, false)
	}
	if i >= len(d.data) || d.data[i] != '"' {
		return d.mismatch(f.n, i)
	}
	s, end := d.text(i, false)
	if end < 0 {
		return -1
	}
	inner := jsonDecoder{data: []byte(s), max: 1}
	if j := inner.value(f.n, p, 0, false); j != len(s) {
		return d.fail(i, "cannot decode string "+strconv.Quote(clip([]byte(s)))+" into "+f.n.typ.String())
	}
	return end
}

func (d *jsonDecoder) slice(n *node, p unsafe.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	defer d.leave()
	h := (*sliceHeader)(p)
	i, done := d.empty(i+1, ']')
	if done {
		*h = emptySlice()
		return i
	}
	*h = sliceHeader{}
	size := n.elem.size
	for more := true; more; {
		if h.len == h.cap {
			n.grow(p, growth(h.len, size))
		}
		h.len++
		before := len(d.issues)
		i = d.value(n.elem, unsafe.Add(h.data, uintptr(h.len-1)*size), i, n.elem.intern)
		if i < 0 || len(d.issues) > before {
			d.within(i, before, segment{"", h.len - 1})
			if i < 0 {
				return -1
			}
		}
		if i, more = d.more(i, ']', msgArray); i < 0 {
			return -1
		}
	}
	return i
}

// growth is how many elements to make room for when have are there and all room is used.
func growth(have int, size uintptr) int {
	if have > 0 {
		return have
	}
	switch {
	case size <= 24:
		return 4
	case size <= 128:
		return 2
	}
	return 1
}

func (d *jsonDecoder) array(n *node, p unsafe.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	defer d.leave()
	i, done := d.empty(i+1, ']')
	k := 0
	for more := !done; more; k++ {
		if k < n.length {
			before := len(d.issues)
			i = d.value(n.elem, unsafe.Add(p, uintptr(k)*n.elem.size), i, n.elem.intern)
			if i < 0 || len(d.issues) > before {
				d.within(i, before, segment{"", k})
			}
		} else {
			i = d.skip(i)
		}
		if i < 0 {
			return -1
		}
		if i, more = d.more(i, ']', msgArray); i < 0 {
			return -1
		}
	}
	for ; k < n.length; k++ {
		n.elem.clear(unsafe.Add(p, uintptr(k)*n.elem.size))
	}
	return i
}

func (d *jsonDecoder) bytes(n *node, p unsafe.Pointer, i int) int {
	s, end := d.raw(i)
	if end < 0 {
		return -1
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(s)))
	k, err := base64.StdEncoding.Decode(out, s)
	if err != nil {
		d.cause = err
		return d.fail(i, "cannot decode string into "+n.typ.String()+": "+err.Error())
	}
	*(*[]byte)(p) = out[:k:k]
	return end
}

// raw is text without making a string; valid until the next call of unescape.
func (d *jsonDecoder) raw(i int) ([]byte, int) {
	start := i + 1
	end := stringEnd(d.data, start)
	if end < len(d.data) && d.data[end] == '"' {
		return d.data[start:end], end + 1
	}
	return d.unescape(start, end)
}

func (d *jsonDecoder) mapKey(name []byte, i int) string {
	if s, ok := intern(name, &d.turn); ok {
		return s
	}
	return d.strings.keep(name, len(d.data)-i)
}

func (d *jsonDecoder) stringMap(n *node, p unsafe.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	defer d.leave()
	// Maps between types of kind string all have the layout of map[string]string.
	m := *(*map[string]string)(p)
	if m == nil {
		m = map[string]string{}
		*(*map[string]string)(p) = m
	}
	i, done := d.empty(i+1, '}')
	for more := !done; more; {
		var name []byte
		if name, i = d.keyBytes(i); i < 0 {
			return -1
		}
		key := d.mapKey(name, i)
		if d.strict {
			if _, dup := m[key]; dup {
				d.object(DuplicateField, key)
			}
		}
		d.value1 = ""
		if i = d.value(n.elem, unsafe.Pointer(&d.value1), i, n.elem.intern); i < 0 {
			d.within(i, 0, segment{key, -1})
			return -1
		}
		m[key] = d.value1
		if i, more = d.more(i, '}', msgObject); i < 0 {
			return -1
		}
	}
	return i
}

// mapping reads an object into a map of any type, by reflection.
func (d *jsonDecoder) mapping(n *node, p unsafe.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	defer d.leave()
	v := n.at(p)
	if v.IsNil() {
		v.Set(reflect.MakeMap(n.typ))
	}
	i, done := d.empty(i+1, '}')
	if done {
		return i
	}
	key, elem := reflect.New(n.key.typ), reflect.New(n.elem.typ)
	kp, ep := key.UnsafePointer(), elem.UnsafePointer()
	for more := true; more; {
		at := d.next(i)
		var name []byte
		if name, i = d.keyBytes(i); i < 0 {
			return -1
		}
		text := d.mapKey(name, i)
		if err := n.setKey(kp, text); err != nil {
			d.cause = err
			return d.fail(at, "cannot decode key "+strconv.Quote(clip([]byte(text)))+" into "+n.key.typ.String())
		}
		before := len(d.issues)
		if d.strict && v.MapIndex(key.Elem()).IsValid() {
			d.object(DuplicateField, text)
			before = len(d.issues)
		}
		i = d.value(n.elem, ep, i, n.elem.intern)
		if i < 0 || len(d.issues) > before {
			d.within(i, before, segment{text, -1})
			if i < 0 {
				return -1
			}
		}
		v.SetMapIndex(key.Elem(), elem.Elem())
		elem.Elem().SetZero()
		if i, more = d.more(i, '}', msgObject); i < 0 {
			return -1
		}
	}
	return i
}

// setKey sets the map key at p from its text.
func (n *node) setKey(p unsafe.Pointer, text string) error {
	if n.key.typ != stringType {
		if u, ok := n.key.at(p).Addr().Interface().(encoding.TextUnmarshaler); ok {
			return u.UnmarshalText([]byte(text))
		}
	}
	if n.key.op == opString {
		*(*string)(p) = text
		return nil
	}
	v := n.key.at(p)
	if v.CanInt() {
		k, err := strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(k)
		return err
	}
	if v.CanUint() {
		k, err := strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(k)
		return err
	}
	return errors.New("not a key type")
}

// any reads the value at i as encoding/json would into an empty interface,
// but with integers as int64.
func (d *jsonDecoder) any(i int) (any, int) {
	if i >= len(d.data) {
		return nil, d.fail(i, msgEOF)
	}
	switch c := d.data[i]; c {
	case '{':
		return d.anyObject(i)
	case '[':
		return d.anyArray(i)
	case '"':
		s, i := d.text(i, false)
		return s, i
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
		if c == '-' || isDigit(c) {
			return d.anyNumber(i)
		}
	}
	return nil, d.syntax(i)
}

func (d *jsonDecoder) anyNumber(i int) (any, int) {
	end, whole := skipNumber(d.data, i)
	if end < 0 {
		return nil, d.fail(i, msgNumber)
	}
	if whole {
		if v, err := strconv.ParseInt(string(d.data[i:end]), 10, 64); err == nil {
			return v, end
		}
	}
	v, err := strconv.ParseFloat(string(d.data[i:end]), 64)
	if err != nil {
		return nil, d.fail(i, "number "+clip(d.data[i:end])+" is out of range")
	}
	return v, end
}

func (d *jsonDecoder) anyObject(i int) (any, int) {
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
				d.object(DuplicateField, key)
			}
		}
		before := len(d.issues)
		var v any
		v, i = d.any(d.next(i))
		if i < 0 || len(d.issues) > before {
			d.within(i, before, segment{key, -1})
			if i < 0 {
				return nil, -1
			}
		}
		m[key] = v
		if i, more = d.more(i, '}', msgObject); i < 0 {
			return nil, -1
		}
	}
	return m, i
}

func (d *jsonDecoder) anyArray(i int) (any, int) {
	if !d.enter(i) {
		return nil, -1
	}
	defer d.leave()
	list := []any{}
	i, done := d.empty(i+1, ']')
	for more := !done; more; {
		before := len(d.issues)
		var v any
		v, i = d.any(d.next(i))
		if i < 0 || len(d.issues) > before {
			d.within(i, before, segment{"", len(list)})
			if i < 0 {
				return nil, -1
			}
		}
		list = append(list, v)
		if i, more = d.more(i, ']', msgArray); i < 0 {
			return nil, -1
		}
	}
	return list, i
}

// byMethod reads a value through a method of its type.
func (d *jsonDecoder) byMethod(n *node, p unsafe.Pointer, i int) int {
	end := d.skip(i)
	if end < 0 {
		return -1
	}
	raw := d.data[i:end:end]
	var err error
	switch n.dec {
	case opOwn:
		err = bind[jsonParser](n.decWord, p).ParseJSON(raw)
	case opStd:
		err = bind[json.Unmarshaler](n.decWord, p).UnmarshalJSON(raw)
	case opRawJSON:
		*(*[]byte)(p) = append([]byte(nil), raw...)
	case opNumber:
		switch {
		case raw[0] == 'n':
		case raw[0] == '-' || isDigit(raw[0]):
			*(*string)(p) = string(raw)
		case raw[0] == '"':
			// encoding/json takes a number in quotes, too.
			text, _ := d.raw(i)
			if stop, _ := skipNumber(text, 0); len(text) == 0 || stop != len(text) {
				return d.mismatch(n, i)
			}
			*(*string)(p) = string(text)
		default:
			return d.mismatch(n, i)
		}
	case opText:
		switch raw[0] {
		case 'n':
		case '"':
			text, _ := d.raw(i)
			err = bind[encoding.TextUnmarshaler](n.decWord, p).UnmarshalText(text)
		default:
			return d.mismatch(n, i)
		}
	default:
		return d.mismatch(n, i)
	}
	if err != nil {
		d.cause = err
		return d.fail(i, err.Error())
	}
	return end
}
