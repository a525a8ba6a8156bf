package codec

import (
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// A transcodePlan is how a message is converted to JSON without a Go value: the JSON member of each of its
// protobuf fields, and how members are written from the bytes.
type transcodePlan struct {
	level   transcodeLevel
	members []transcodeMember // in the order JSON writes them
	always  []bool            // whether they are written even if they do not occur
}

// A transcodeLevel places the protobuf fields of a message, or of one that JSON inlines into it.
type transcodeLevel struct {
	pb    *protoPlan
	slots []transcodeSlot // of the fields of pb, same order
}

type transcodeSlot struct {
	member int
	repeat repetition
	inline *transcodeLevel // its fields are members of the outer message
}

// repetition is what a further occurrence of a field means.
type repetition uint8

const (
	repeatReplaces repetition = iota // it replaces the one before
	repeatFollows                    // it is one more, and must follow directly
	repeatMerges                     // the two are one message
)

// transcodeAct is how a member is written.
type transcodeAct uint8

const (
	asValue   transcodeAct = iota // through a Go value
	asText                        // a string
	asNumber                      // a bool or an integer
	asMessage                     // a message
	asTexts                       // a list of strings
	asMessages
	asTextMap
	asAmounts // a map of quantities
)

type transcodeMember struct {
	act    transcodeAct
	ptr    bool // values are behind pointers
	direct bool // a pointer that need not be made to write what it points to
	f      *field
	pf     *protoField // nil for what is not in protobuf
	absent []byte      // written, from the comma on, if the field does not occur; nil for nothing
}

// transcodePlan returns nil for types that must be decoded to be brought from protobuf to JSON.
func (n *node) transcodePlan() *transcodePlan {
	n.transcodeOnce.Do(func() { n.transcode = newTranscodePlan(n) })
	return n.transcode
}

func newTranscodePlan(n *node) *transcodePlan {
	if n.enc != opStruct || n.pb.form != protoFields || n.unknown != nil {
		return nil
	}
	c := &transcodePlan{}
	paths := map[string]int{}
	for i := range n.fields {
		f := &n.fields[i]
		if f.indirect {
			return nil
		}
		m := transcodeMember{f: f}
		if zero := f.n.newValue(); !f.omitted(f.omit, zero) && !f.omitted(f.zero, zero) {
			e := jsonEncoder{}
			m.absent = e.member(append([]byte(nil), f.comma...), f, zero)
			if e.err != nil {
				return nil
			}
		}
		paths[f.goPath] = i
		c.members = append(c.members, m)
		c.always = append(c.always, m.absent != nil)
	}
	if !c.place(&c.level, &n.pb, "", paths) {
		return nil
	}
	return c
}

// place finds the members that the fields of a message are, whose Go path is prefix.
func (c *transcodePlan) place(l *transcodeLevel, pb *protoPlan, prefix string, paths map[string]int) bool {
	l.pb = pb
	for i := range pb.fields {
		pf := &pb.fields[i]
		path := prefix + pf.names.goName
		at, ok := paths[path]
		if ok {
			m := &c.members[at]
			m.pf, m.ptr = pf, pf.card == cardPtr || pf.card == cardPtrs
			var repeat repetition
			m.act, repeat = m.f.chooseTranscode(pf)
			m.direct = m.act == asValue && pf.card == cardPtr && m.f.zero == omitNever && !m.f.quoted
			l.slots = append(l.slots, transcodeSlot{member: at, repeat: repeat})
			continue
		}
		if pf.card != cardOne || pf.elem.pb.form != protoFields {
			return false // it is not in JSON, but if it is malformed that is an error
		}
		inside := false
		for p := range paths {
			inside = inside || strings.HasPrefix(p, path+".")
		}
		inner := &transcodeLevel{}
		if !inside || !c.place(inner, &pf.elem.pb, path+".", paths) {
			return false
		}
		l.slots = append(l.slots, transcodeSlot{inline: inner})
	}
	return true
}

func (f *field) chooseTranscode(pf *protoField) (transcodeAct, repetition) {
	elem := pf.elem
	if f.zero != omitNever || f.quoted || f.n != pf.n || elem.enc != elem.op && pf.card != cardMap {
		return asValue, repeatFollows
	}
	message := elem.op == opStruct && elem.pb.form == protoFields
	switch pf.card {
	case cardOne, cardPtr:
		switch {
		case message:
			return asMessage, repeatMerges
		case pf.scalar == opString:
			return asText, repeatReplaces
		case pf.scalar >= opBool && pf.scalar <= opUint64:
			return asNumber, repeatReplaces
		}
	case cardList, cardPtrs:
		switch {
		case f.n.enc != opSlice:
		case message:
			return asMessages, repeatFollows
		case pf.scalar == opString && pf.card == cardList:
			return asTexts, repeatFollows
		}
	case cardMap:
		switch {
		case f.n.enc == opStrMap:
			return asTextMap, repeatFollows
		case f.n.enc == opMap && f.n.quantities:
			return asAmounts, repeatFollows
		}
	}
	return asValue, repeatFollows
}

// member appends the value of a field at p.
func (e *jsonEncoder) member(b []byte, f *field, p mem.Pointer) []byte {
	if f.enc == opInvalid {
		return e.quoted(b, f, p)
	}
	return e.value(b, f.n, p)
}
