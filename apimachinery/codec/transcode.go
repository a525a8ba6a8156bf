package codec

import (
	"reflect"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// ProtoToJSON returns the JSON of the protobuf message of struct type t formed by concatenating the pieces:
// byte for byte what [Marshal] writes of what [UnmarshalProto] reads, and the errors of those. Messages as
// encoders write them are transcoded without a Go value, which takes a third of the time and allocates the
// result only.
func ProtoToJSON(t reflect.Type, pieces ...[]byte) ([]byte, error) {
	n := nodeOf(t)
	c := getTranscoder()
	data := c.join(pieces)
	if n.checkProto() == nil && n.checkJSON() == nil && len(data) < maxTranscoded {
		if plan := n.transcodePlan(); plan != nil {
			if b, ok := c.message(c.buf[:0], plan, data); ok {
				out := slices.Clone(b)
				c.buf = b
				putTranscoder(c)
				return out, nil
			}
		}
	}
	v := reflect.New(t).Interface()
	if err := UnmarshalProto(data, v); err != nil {
		return nil, err
	}
	return Marshal(v)
}

// A transcoder converts one message. On unusual input its methods return ok=false, and ProtoToJSON decodes
// and encodes a Go value instead.
type transcoder struct {
	buf    []byte
	whole  []byte
	spans  []span
	merged [][]byte
	depth  int

	values   map[*node]mem.Pointer // zero between uses
	reader   protoReader
	encoder  jsonEncoder
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
	return &transcoder{values: map[*node]mem.Pointer{}}
}

// putTranscoder returns a transcoder to the pool; not after ok=false.
func putTranscoder(x *transcoder) {
	if cap(x.buf) > maxKept || cap(x.whole) > maxKept || cap(x.spans) > 4096 || cap(x.merged) > 16 {
		return
	}
	x.merged = x.merged[:0]
	x.reader = protoReader{turn: x.reader.turn}
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

// enter counts a level of nesting as jsonEncoder.enter does. It returns false close to the limit, where the
// encoder has the error.
func (c *transcoder) enter() bool {
	c.encoder.depth++
	return c.encoder.depth < maxNesting-1
}

// message appends the JSON of the message that data is.
func (c *transcoder) message(b []byte, plan *transcodePlan, data []byte) ([]byte, bool) {
	if c.depth >= maxNesting {
		return b, false
	}
	c.depth++
	base := len(c.spans)
	c.spans = slices.Grow(c.spans, len(plan.members))[:base+len(plan.members)]
	clear(c.spans[base:])
	if !c.find(&plan.level, base, data, 0, len(data)) {
		return b, false
	}
	start := len(b)
	for i, always := range plan.always {
		s := c.spans[base+i]
		if s.to == 0 {
			if always {
				b = append(b, plan.members[i].absent...)
			}
			continue
		}
		var ok bool
		if b, ok = c.member(b, &plan.members[i], data, s); !ok {
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
func (c *transcoder) find(l *transcodeLevel, base int, data []byte, i, end int) bool {
	pb := l.pb
	for i < end {
		at, k := i, 0
		if t := data[i]; t < 0x80 {
			k = int(pb.byTag[t])
			i++
		} else if i+1 < end && data[i+1] < 0x80 {
			tag := int(t&0x7f) | int(data[i+1])<<7
			if num := tag >> 3; num < len(pb.byNum) {
				if k = int(pb.byNum[num]); k > 0 && int(pb.fields[k-1].wire) != tag&7 {
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
		switch protowire.Type(pb.fields[k].wire) {
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
			} else if int(s.to) != at || from-at != int(pb.fields[k].tagLen) {
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
func skipUnknown(pb *protoPlan, data []byte, i, end int) int {
	num, wire, n := protowire.ConsumeTag(data[i:end])
	if n < 0 || pb.find(num) >= 0 {
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

// length reads a length at i, for which there is room up to end, and returns it and where the content begins,
// -1 if there is no such length.
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
func (c *transcoder) member(b []byte, m *transcodeMember, data []byte, s span) ([]byte, bool) {
	switch m.act {
	case asText:
		if s.from == s.to && !m.ptr && m.f.omit == omitLen {
			return b, true
		}
		return appendString(m.f.appendName(b), text(data[s.from:s.to])), true
	case asNumber:
		return m.number(b, data[s.from:s.to])
	case asMessage:
		plan := m.pf.elem.transcodePlan()
		if plan == nil {
			return b, false
		}
		return c.nested(m.f.appendName(b), m, plan, c.content(data, s))
	case asTexts, asMessages:
		return c.list(m.f.appendName(b), m, data, s)
	case asTextMap, asAmounts:
		return c.mapping(m.f.appendName(b), m, data, s)
	}
	return c.value(b, m, data, s)
}

func (c *transcoder) nested(b []byte, m *transcodeMember, plan *transcodePlan, data []byte) ([]byte, bool) {
	if m.ptr && !c.enter() {
		return b, false
	}
	b, ok := c.message(b, plan, data)
	if m.ptr {
		c.encoder.depth--
	}
	return b, ok
}

// number appends a member that is a bool or an integer.
func (m *transcodeMember) number(b, data []byte) ([]byte, bool) {
	v := uint64(data[0])
	if v >= 0x80 {
		v, _ = protowire.ConsumeVarint(data) // which find has done
	}
	signed := int64(v)
	switch m.pf.scalar {
	case opBool:
		if v != 0 {
			v = 1
		}
	case opInt8:
		signed = int64(int8(v))
	case opInt16:
		signed = int64(int16(v))
	case opInt32:
		signed = int64(int32(v))
	case opUint8:
		v = uint64(uint8(v))
	case opUint16:
		v = uint64(uint16(v))
	case opUint32:
		v = uint64(uint32(v))
	}
	integer := m.pf.scalar >= opInt8 && m.pf.scalar <= opInt64
	if !m.ptr && m.f.omit != omitNever && (integer && signed == 0 || !integer && v == 0) {
		return b, true
	}
	b = m.f.appendName(b)
	switch {
	case m.pf.scalar == opBool:
		return strconv.AppendBool(b, v != 0), true
	case integer:
		return strconv.AppendInt(b, signed, 10), true
	}
	return strconv.AppendUint(b, v, 10), true
}

// list appends a list of strings or messages.
func (c *transcoder) list(b []byte, m *transcodeMember, data []byte, s span) ([]byte, bool) {
	var plan *transcodePlan
	if m.act == asMessages {
		if plan = m.pf.elem.transcodePlan(); plan == nil {
			return b, false
		}
	}
	if !c.enter() {
		return b, false
	}
	lead := byte('[')
	for i := int(s.from); ; i += int(m.pf.tagLen) {
		l, from := length(data, i, int(s.to))
		b = append(b, lead)
		lead = ','
		i = from + l
		if plan == nil {
			b = appendString(b, text(data[from:i]))
		} else {
			var ok bool
			if b, ok = c.nested(b, m, plan, data[from:i]); !ok {
				return b, false
			}
		}
		if i == int(s.to) {
			break
		}
	}
	c.encoder.depth--
	return append(b, ']'), true
}

// mapping appends a map of strings or quantities, whose entries must come in the order of their keys.
func (c *transcoder) mapping(b []byte, m *transcodeMember, data []byte, s span) ([]byte, bool) {
	lead, last := byte('{'), ""
	for i := int(s.from); ; i += int(m.pf.tagLen) {
		l, from := length(data, i, int(s.to))
		i = from + l
		key, value, ok := entryOf(data[from:i])
		if !ok || lead == ',' && key <= last {
			return b, false
		}
		last = key
		b = append(appendString(append(b, lead), key), ':')
		lead = ','
		if m.act == asTextMap {
			b = appendString(b, text(value))
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
func (c *transcoder) value(b []byte, m *transcodeMember, data []byte, s span) ([]byte, bool) {
	n := m.pf.n
	if m.direct {
		n = m.pf.elem
	}
	p := c.values[n]
	if p == nil {
		p = n.newValue()
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
		b = c.encoder.value(m.f.appendName(b), n, p)
		c.encoder.depth--
	case !m.f.omitted(m.f.omit, p) && !m.f.omitted(m.f.zero, p):
		b = c.encoder.member(m.f.appendName(b), m.f, p)
	}
	n.clear(p)
	return b, c.encoder.err == nil
}

// read decodes the occurrences in s into the value of type n at p.
func (c *transcoder) read(m *transcodeMember, n *node, p mem.Pointer, data []byte, s span) bool {
	r := &c.reader
	r.data, r.source, r.from, r.depth = data, text(data), 0, c.depth
	wire := protowire.Type(m.pf.wire)
	for i := int(s.from); ; i += int(m.pf.tagLen) {
		if m.direct {
			i = r.value(m.pf, n, p, wire, i, int(s.to))
		} else {
			i = r.field(m.pf, p, wire, i, int(s.to))
		}
		if i < 0 || i == int(s.to) {
			return i > 0
		}
	}
}
