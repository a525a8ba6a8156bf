package transcode

import (
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/json"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
)

// A messagePlan is how a message is converted to JSON without a Go value: the JSON member of each of its
// protobuf fields, and how members are written from the bytes.
type messagePlan struct {
	level   level
	members []member // in the order JSON writes them
	always  []bool   // whether they are written even if they do not occur
}

// A level places the protobuf fields of a message, or of one that JSON inlines into it.
type level struct {
	pb    *plan.Message
	slots []slot // of the fields of pb, same order
}

type slot struct {
	member int
	repeat repetition
	inline *level // its fields are members of the outer message
}

// repetition is what a further occurrence of a field means.
type repetition uint8

const (
	repeatReplaces repetition = iota // it replaces the one before
	repeatFollows                    // it is one more, and must follow directly
	repeatMerges                     // the two are one message
)

// act is how a member is written.
type act uint8

const (
	asValue   act = iota // through a Go value
	asText               // a string
	asNumber             // a bool or an integer
	asMessage            // a message
	asTexts              // a list of strings
	asMessages
	asTextMap
	asAmounts // a map of quantities
)

type member struct {
	act    act
	ptr    bool // values are behind pointers
	direct bool // a pointer that need not be made to write what it points to
	f      *plan.Field
	pf     *plan.ProtoField    // nil for what is not in protobuf
	plan   func() *messagePlan // of the message, or of the messages of a list
	absent []byte              // written, from the comma on, if the field does not occur; nil for nothing
}

// plans holds a func() *messagePlan per node that was needed.
var plans sync.Map

// planOf returns the plan of a type, made at the first call of what is returned; nil for types that must be
// decoded to be brought from protobuf to JSON.
func planOf(n *plan.Node) func() *messagePlan {
	if p, ok := plans.Load(n); ok {
		return p.(func() *messagePlan)
	}
	p, _ := plans.LoadOrStore(n, sync.OnceValue(func() *messagePlan { return newMessagePlan(n) }))
	return p.(func() *messagePlan)
}

func newMessagePlan(n *plan.Node) *messagePlan {
	if n.Enc != plan.OpStruct || n.Proto.Form != plan.ProtoFields || n.Unknown != nil {
		return nil
	}
	c := &messagePlan{}
	paths := map[string]int{}
	for i := range n.Fields {
		f := &n.Fields[i]
		if f.Indirect {
			return nil
		}
		m := member{f: f}
		if zero := f.Node.New(); !f.Omitted(f.OmitEmpty, zero) && !f.Omitted(f.OmitZero, zero) {
			e := json.Encoder{}
			m.absent = e.Member(append([]byte(nil), f.Key...), f, zero)
			if e.Err != nil {
				return nil
			}
		}
		paths[f.GoPath] = i
		c.members = append(c.members, m)
		c.always = append(c.always, m.absent != nil)
	}
	if !c.place(&c.level, &n.Proto, "", paths) {
		return nil
	}
	return c
}

// place finds the members that the fields of a message are, whose Go path is prefix.
func (c *messagePlan) place(l *level, pb *plan.Message, prefix string, paths map[string]int) bool {
	l.pb = pb
	for i := range pb.Fields {
		pf := &pb.Fields[i]
		path := prefix + pf.Names.GoName
		at, ok := paths[path]
		if ok {
			m := &c.members[at]
			m.pf, m.ptr = pf, pf.Card == plan.Optional || pf.Card == plan.RepeatedPointers
			var repeat repetition
			m.act, repeat = chooseAct(m.f, pf)
			if m.act == asMessage || m.act == asMessages {
				m.plan = planOf(pf.Elem)
			}
			m.direct = m.act == asValue && pf.Card == plan.Optional && m.f.OmitZero == plan.OmitNever && !m.f.Quoted
			l.slots = append(l.slots, slot{member: at, repeat: repeat})
			continue
		}
		if pf.Card != plan.One || pf.Elem.Proto.Form != plan.ProtoFields {
			return false // it is not in JSON, but if it is malformed that is an error
		}
		inside := false
		for p := range paths {
			inside = inside || strings.HasPrefix(p, path+".")
		}
		inner := &level{}
		if !inside || !c.place(inner, &pf.Elem.Proto, path+".", paths) {
			return false
		}
		l.slots = append(l.slots, slot{inline: inner})
	}
	return true
}

func chooseAct(f *plan.Field, pf *plan.ProtoField) (act, repetition) {
	elem := pf.Elem
	if f.OmitZero != plan.OmitNever || f.Quoted || f.Node != pf.Node || elem.Enc != elem.Op && pf.Card != plan.Mapped {
		return asValue, repeatFollows
	}
	message := elem.Op == plan.OpStruct && elem.Proto.Form == plan.ProtoFields
	switch pf.Card {
	case plan.One, plan.Optional:
		switch {
		case message:
			return asMessage, repeatMerges
		case pf.Scalar == plan.OpString:
			return asText, repeatReplaces
		case pf.Scalar >= plan.OpBool && pf.Scalar <= plan.OpUint64:
			return asNumber, repeatReplaces
		}
	case plan.Repeated, plan.RepeatedPointers:
		switch {
		case f.Node.Enc != plan.OpSlice:
		case message:
			return asMessages, repeatFollows
		case pf.Scalar == plan.OpString && pf.Card == plan.Repeated:
			return asTexts, repeatFollows
		}
	case plan.Mapped:
		switch {
		case f.Node.Enc == plan.OpStringMap:
			return asTextMap, repeatFollows
		case f.Node.Enc == plan.OpMap && f.Node.Quantities:
			return asAmounts, repeatFollows
		}
	}
	return asValue, repeatFollows
}
