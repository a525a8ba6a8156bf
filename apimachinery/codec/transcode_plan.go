package codec

import (
	"strings"

	"github.com/keelson-dev/keelson/internal/mem"
)

// A crossing is how a message becomes JSON without becoming a Go value on the way: where in the JSON each of
// its protobuf fields belongs, and how its members are written from the bytes.
type crossing struct {
	level   crossLevel
	members []crossMember // in the order JSON writes them
	always  []bool        // whether they are written even if they do not occur
}

// A crossLevel places the protobuf fields of a message, or of one that JSON inlines into it.
type crossLevel struct {
	pb     *protoPlan
	places []crossPlace // of the fields of pb, same order
}

type crossPlace struct {
	member int
	again  crossAgain
	inline *crossLevel // its fields are members of the outer message
}

// crossAgain says what a further occurrence of a field means.
type crossAgain uint8

const (
	againLast  crossAgain = iota // it takes the place of the one before
	againRun                     // it is one more, and has to follow directly
	againMerge                   // the two are one message
)

// crossAct is how a member is written.
type crossAct uint8

const (
	crossValue   crossAct = iota // through a Go value
	crossText                    // a string
	crossNumber                  // a bool or an integer
	crossMessage                 // a message
	crossTexts                   // a list of strings
	crossMessages
	crossTextMap
	crossAmounts // a map of quantities
)

type crossMember struct {
	act    crossAct
	ptr    bool // values are behind pointers
	spared bool // a pointer that need not be made to write what it points to
	f      *field
	pf     *protoField // nil for what is not in protobuf
	absent []byte      // written, from the comma on, if the field does not occur; nil for nothing
}

// crossing is nil for types that only a Go value can bring from protobuf to JSON.
func (n *node) crossing() *crossing {
	n.crossOnce.Do(func() { n.cross = newCrossing(n) })
	return n.cross
}

func newCrossing(n *node) *crossing {
	if n.enc != opStruct || n.pb.form != protoFields || n.unknown != nil {
		return nil
	}
	c := &crossing{}
	paths := map[string]int{}
	for i := range n.fields {
		f := &n.fields[i]
		if f.indirect {
			return nil
		}
		m := crossMember{f: f}
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
func (c *crossing) place(l *crossLevel, pb *protoPlan, prefix string, paths map[string]int) bool {
	l.pb = pb
	for i := range pb.fields {
		pf := &pb.fields[i]
		path := prefix + pf.names.goName
		at, ok := paths[path]
		if ok {
			m := &c.members[at]
			m.pf, m.ptr = pf, pf.card == cardPtr || pf.card == cardPtrs
			var again crossAgain
			m.act, again = m.f.chooseCrossing(pf)
			m.spared = m.act == crossValue && pf.card == cardPtr && m.f.zero == omitNever && !m.f.quoted
			l.places = append(l.places, crossPlace{member: at, again: again})
			continue
		}
		if pf.card != cardOne || pf.elem.pb.form != protoFields {
			return false // it is not in JSON, but what is wrong with it is an error all the same
		}
		inside := false
		for p := range paths {
			inside = inside || strings.HasPrefix(p, path+".")
		}
		inner := &crossLevel{}
		if !inside || !c.place(inner, &pf.elem.pb, path+".", paths) {
			return false
		}
		l.places = append(l.places, crossPlace{inline: inner})
	}
	return true
}

func (f *field) chooseCrossing(pf *protoField) (crossAct, crossAgain) {
	elem := pf.elem
	if f.zero != omitNever || f.quoted || f.n != pf.n || elem.enc != elem.op && pf.card != cardMap {
		return crossValue, againRun
	}
	message := elem.op == opStruct && elem.pb.form == protoFields
	switch pf.card {
	case cardOne, cardPtr:
		switch {
		case message:
			return crossMessage, againMerge
		case pf.scalar == opString:
			return crossText, againLast
		case pf.scalar >= opBool && pf.scalar <= opUint64:
			return crossNumber, againLast
		}
	case cardList, cardPtrs:
		switch {
		case f.n.enc != opSlice:
		case message:
			return crossMessages, againRun
		case pf.scalar == opString && pf.card == cardList:
			return crossTexts, againRun
		}
	case cardMap:
		switch {
		case f.n.enc == opStrMap:
			return crossTextMap, againRun
		case f.n.enc == opMap && f.n.quantities:
			return crossAmounts, againRun
		}
	}
	return crossValue, againRun
}

// member appends the value of a field at p.
func (e *jsonEncoder) member(b []byte, f *field, p mem.Pointer) []byte {
	if f.enc == opInvalid {
		return e.quoted(b, f, p)
	}
	return e.value(b, f.n, p)
}
