package transcode

import (
	"reflect"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/json"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/proto"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// ToJSON returns the JSON of the protobuf message of struct type t formed by concatenating the pieces: what
// [json.Marshal] writes of what [proto.Unmarshal] reads, and the errors of those.
func ToJSON(t reflect.Type, pieces ...[]byte) ([]byte, error) {
	n := plan.Of(t)
	c := getTranscoder()
	data := c.join(pieces)
	if n.CheckProto() == nil && n.CheckJSON() == nil && len(data) < maxTranscoded {
		if mp := planOf(n)(); mp != nil {
			if b, ok := c.message(c.buf[:0], mp, data); ok {
				out := slices.Clone(b)
				c.buf = b
				putTranscoder(c)
				return out, nil
			}
		}
	}
	v := reflect.New(t).Interface()
	if err := proto.Unmarshal(data, v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// A transcoder converts one message. On unusual input its methods return ok=false, and ToJSON decodes
// and encodes a Go value instead.
type transcoder struct {
	buf    []byte
	whole  []byte
	spans  []span
	merged [][]byte
	depth  int

	values   map[*plan.Node]mem.Pointer // zero between uses
	reader   proto.Reader
	encoder  json.Encoder
	quantity resource.Quantity
}

// A span is where a member lies in its message: of lists, maps and what becomes a Go value, the occurrences
// without the first tag; else the content of the last one. Nothing ends at 0, so the zero span is of what
// does not occur. A negative from is an index into merged, after minus one.
type span struct{ from, to int32 }

// maxTranscoded is the length, in bytes, of messages whose offsets fit into spans.
const maxTranscoded = 1 << 30

var transcoders sync.Pool // *transcoder

func getTranscoder() *transcoder {
	if x, ok := transcoders.Get().(*transcoder); ok {
		return x
	}
	return &transcoder{values: map[*plan.Node]mem.Pointer{}}
}

// putTranscoder returns a transcoder to the pool; not after ok=false.
func putTranscoder(x *transcoder) {
	if cap(x.buf) > arena.MaxKept || cap(x.whole) > arena.MaxKept || cap(x.spans) > 4096 || cap(x.merged) > 16 {
		return
	}
	x.merged = x.merged[:0]
	x.reader.Reset()
	transcoders.Put(x)
}

func (c *transcoder) join(pieces [][]byte) []byte {
	if len(pieces) == 1 {
		return pieces[0]
	}
	c.whole = c.whole[:0]
	for _, p := range pieces {
		c.whole = append(c.whole, p...)
	}
	return c.whole
}

// enter counts a level of nesting as json.Encoder does. It returns false close to the limit, where the
// encoder has the error.
func (c *transcoder) enter() bool {
	c.encoder.Depth++
	return c.encoder.Depth < failure.MaxDepth-1
}

// message appends the JSON of the message that data is.
func (c *transcoder) message(b []byte, mp *messagePlan, data []byte) ([]byte, bool) {
	if c.depth >= failure.MaxDepth {
		return b, false
	}
	c.depth++
	base := len(c.spans)
	c.spans = slices.Grow(c.spans, len(mp.members))[:base+len(mp.members)]
	clear(c.spans[base:])
	if !c.find(&mp.level, base, data, 0, len(data)) {
		return b, false
	}
	start := len(b)
	for i, always := range mp.always {
		s := c.spans[base+i]
		if s.to == 0 {
			if always {
				b = append(b, mp.members[i].absent...)
			}
			continue
		}
		var ok bool
		if b, ok = c.member(b, &mp.members[i], data, s); !ok {
			return b, false
		}
	}
	if len(b) == start {
		b = append(b, '{')
	} else {
		b[start] = '{' // where the first comma is
	}
	c.spans = c.spans[:base]
	c.depth--
	return append(b, '}'), true
}

// find records where in data[i:end] the members are whose spans begin at base.
func (c *transcoder) find(l *level, base int, data []byte, i, end int) bool {
	pb := l.pb
	for i < end {
		at, k := i, 0
		if t := data[i]; t < 0x80 {
			k = int(pb.ByTag[t])
			i++
		} else if i+1 < end && data[i+1] < 0x80 {
			tag := int(t&0x7f) | int(data[i+1])<<7
			if num := tag >> 3; num < len(pb.ByNumber) {
				if k = int(pb.ByNumber[num]); k > 0 && int(pb.Fields[k-1].Wire) != tag&7 {
					return false
				}
			}
			i += 2
		}
		if k == 0 {
			if i = skipUnknown(pb, data, at, end); i < 0 {
				return false
			}
			continue
		}
		k--
		from := i
		content := i
		switch protowire.Type(pb.Fields[k].Wire) {
		case protowire.BytesType:
			var l int
			if l, content = length(data, i, end); content < 0 {
				return false
			}
			i = content + l
		case protowire.VarintType:
			n := 1
			if i == end {
				return false
			}
			if data[i] >= 0x80 {
				if _, n = protowire.ConsumeVarint(data[i:end]); n < 0 {
					return false
				}
			}
			i += n
		case protowire.Fixed32Type:
			i += 4
		default:
			i += 8
		}
		if i > end {
			return false
		}
		slot := &l.slots[k]
		if slot.inline != nil {
			if !c.find(slot.inline, base, data, content, i) {
				return false
			}
			continue
		}
		s := &c.spans[base+slot.member]
		switch {
		case slot.repeat == repeatFollows:
			if s.to == 0 {
				*s = span{int32(from), int32(i)}
			} else if int(s.to) != at || from-at != int(pb.Fields[k].TagLen) {
				return false
			} else {
				s.to = int32(i)
			}
		case s.to == 0 || slot.repeat == repeatReplaces:
			*s = span{int32(content), int32(i)}
		default:
			first := c.content(data, *s)
			if !wholeFields(first) {
				return false
			}
			*s = c.merge(first, data[content:i])
		}
	}
	return true
}

// skipUnknown returns the end of the field at i, or -1 if it is a field of the plan or malformed.
func skipUnknown(pb *plan.Message, data []byte, i, end int) int {
	num, wire, n := protowire.ConsumeTag(data[i:end])
	if n < 0 || pb.Find(num) >= 0 {
		return -1
	}
	k := protowire.ConsumeFieldValue(num, wire, data[i+n:end])
	if k < 0 {
		return -1
	}
	return i + n + k
}

// wholeFields reports whether no field of a message is cut off by its end, so that another may follow.
func wholeFields(data []byte) bool {
	for len(data) > 0 {
		_, _, n := protowire.ConsumeField(data)
		if n < 0 {
			return false
		}
		data = data[n:]
	}
	return true
}

// length reads the length at i of what must end by end, and returns it and where the content begins; -1 if
// there is no such length.
func length(data []byte, i, end int) (int, int) {
	if i < end && data[i] < 0x80 {
		l := int(data[i])
		if i++; l > end-i {
			return 0, -1
		}
		return l, i
	}
	l, n := protowire.ConsumeVarint(data[i:end])
	if n < 0 || l > uint64(end-i-n) {
		return 0, -1
	}
	return int(l), i + n
}

func (c *transcoder) content(data []byte, s span) []byte {
	if s.from < 0 {
		return c.merged[-s.from-1]
	}
	return data[s.from:s.to]
}

// merge concatenates two occurrences of a message, which makes one message of them.
func (c *transcoder) merge(first, second []byte) span {
	k := len(c.merged)
	c.merged = slices.Grow(c.merged, 1)[:k+1]
	c.merged[k] = append(append(c.merged[k][:0], first...), second...)
	return span{int32(-k - 1), 1}
}

func text(data []byte) string { return mem.String(data) }

// member appends a comma and the member that lies at s in data, or nothing if it is left out.
func (c *transcoder) member(b []byte, m *member, data []byte, s span) ([]byte, bool) {
	switch m.act {
	case asText:
		if s.from == s.to && !m.ptr && m.f.OmitEmpty == plan.OmitLen {
			return b, true
		}
		return jsontext.AppendString(append(b, m.f.Key...), text(data[s.from:s.to])), true
	case asNumber:
		return m.number(b, data[s.from:s.to])
	case asMessage:
		mp := m.plan()
		if mp == nil {
			return b, false
		}
		return c.nested(append(b, m.f.Key...), m, mp, c.content(data, s))
	case asTexts, asMessages:
		return c.list(append(b, m.f.Key...), m, data, s)
	case asTextMap, asAmounts:
		return c.mapping(append(b, m.f.Key...), m, data, s)
	}
	return c.value(b, m, data, s)
}

func (c *transcoder) nested(b []byte, m *member, mp *messagePlan, data []byte) ([]byte, bool) {
	if m.ptr && !c.enter() {
		return b, false
	}
	b, ok := c.message(b, mp, data)
	if m.ptr {
		c.encoder.Depth--
	}
	return b, ok
}

// number appends a member that is a bool or an integer.
func (m *member) number(b, data []byte) ([]byte, bool) {
	v := uint64(data[0])
	if v >= 0x80 {
		v, _ = protowire.ConsumeVarint(data) // which find has done
	}
	signed := int64(v)
	switch m.pf.Scalar {
	case plan.OpBool:
		if v != 0 {
			v = 1
		}
	case plan.OpInt8:
		signed = int64(int8(v))
	case plan.OpInt16:
		signed = int64(int16(v))
	case plan.OpInt32:
		signed = int64(int32(v))
	case plan.OpUint8:
		v = uint64(uint8(v))
	case plan.OpUint16:
		v = uint64(uint16(v))
	case plan.OpUint32:
		v = uint64(uint32(v))
	}
	integer := m.pf.Scalar >= plan.OpInt8 && m.pf.Scalar <= plan.OpInt64
	if !m.ptr && m.f.OmitEmpty != plan.OmitNever && (integer && signed == 0 || !integer && v == 0) {
		return b, true
	}
	b = append(b, m.f.Key...)
	switch {
	case m.pf.Scalar == plan.OpBool:
		return strconv.AppendBool(b, v != 0), true
	case integer:
		return strconv.AppendInt(b, signed, 10), true
	}
	return strconv.AppendUint(b, v, 10), true
}

// list appends a list of strings or messages.
func (c *transcoder) list(b []byte, m *member, data []byte, s span) ([]byte, bool) {
	var mp *messagePlan
	if m.act == asMessages {
		if mp = m.plan(); mp == nil {
			return b, false
		}
	}
	if !c.enter() {
		return b, false
	}
	lead := byte('[')
	for i := int(s.from); ; i += int(m.pf.TagLen) {
		l, from := length(data, i, int(s.to))
		b = append(b, lead)
		lead = ','
		i = from + l
		if mp == nil {
			b = jsontext.AppendString(b, text(data[from:i]))
		} else {
			var ok bool
			if b, ok = c.nested(b, m, mp, data[from:i]); !ok {
				return b, false
			}
		}
		if i == int(s.to) {
			break
		}
	}
	c.encoder.Depth--
	return append(b, ']'), true
}

// mapping appends a map of strings or quantities, whose entries must come in the order of their keys.
func (c *transcoder) mapping(b []byte, m *member, data []byte, s span) ([]byte, bool) {
	lead, last := byte('{'), ""
	for i := int(s.from); ; i += int(m.pf.TagLen) {
		l, from := length(data, i, int(s.to))
		i = from + l
		key, value, ok := entryOf(data[from:i])
		if !ok || lead == ',' && key <= last {
			return b, false
		}
		last = key
		b = append(jsontext.AppendString(append(b, lead), key), ':')
		lead = ','
		if m.act == asTextMap {
			b = jsontext.AppendString(b, text(value))
		} else {
			c.quantity = resource.Quantity{}
			if c.quantity.ParseProto(value) != nil {
				return b, false
			}
			b, _ = c.quantity.AppendJSON(b) // never fails
		}
		if i == int(s.to) {
			break
		}
	}
	return append(b, '}'), true
}

// entryOf splits the entry of a map that has its key and its value, in this order.
func entryOf(data []byte) (key string, value []byte, ok bool) {
	if len(data) == 0 || data[0] != 1<<3|2 {
		return "", nil, false
	}
	l, i := length(data, 1, len(data))
	if i < 0 || i+l >= len(data) || data[i+l] != 2<<3|2 {
		return "", nil, false
	}
	key = text(data[i : i+l])
	l, i = length(data, i+l+1, len(data))
	if i < 0 || i+l != len(data) {
		return "", nil, false
	}
	return key, data[i:], true
}

// value appends a member by decoding it and encoding the Go value.
func (c *transcoder) value(b []byte, m *member, data []byte, s span) ([]byte, bool) {
	n := m.pf.Node
	if m.direct {
		n = m.pf.Elem
	}
	p := c.values[n]
	if p == nil {
		p = n.New()
		c.values[n] = p
	}
	if !c.read(m, n, p, data, s) {
		return b, false
	}
	switch {
	case m.direct:
		if !c.enter() {
			return b, false
		}
		b = c.encoder.Value(append(b, m.f.Key...), n, p)
		c.encoder.Depth--
	case !m.f.Omitted(m.f.OmitEmpty, p) && !m.f.Omitted(m.f.OmitZero, p):
		b = c.encoder.Member(append(b, m.f.Key...), m.f, p)
	}
	n.Clear(p)
	return b, c.encoder.Err == nil
}

// read decodes the occurrences in s into the value of type n at p.
func (c *transcoder) read(m *member, n *plan.Node, p mem.Pointer, data []byte, s span) bool {
	r := &c.reader
	r.Begin(data, text(data), c.depth)
	wire := protowire.Type(m.pf.Wire)
	for i := int(s.from); ; i += int(m.pf.TagLen) {
		if m.direct {
			i = r.Value(m.pf, n, p, wire, i, int(s.to))
		} else {
			i = r.Field(m.pf, p, wire, i, int(s.to))
		}
		if i < 0 || i == int(s.to) {
			return i > 0
		}
	}
}
