package json

import (
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// A decoder holds the state of one decode. Its methods take an offset and return
// the offset after what they read, or -1 after an error.
type decoder struct {
	data   []byte
	strict bool
	turn   uint8
	depth  int
	max    int

	strings arena.StringBlock
	boxes   []string    // of values in interfaces
	items   []any       // of the lists being read, until they are whole
	slab    *arena.Slab // of the object being read, or nil
	scratch []byte
	// Values before they are stored in a map.
	value1   string
	quantity resource.Quantity

	issues []issue

	errAt   int
	errMsg  string
	cause   error
	errPath []failure.Segment
}

var decoders sync.Pool // *decoder

func getDecoder() *decoder {
	if d, ok := decoders.Get().(*decoder); ok {
		return d
	}
	return &decoder{}
}

// putDecoder returns a decoder to the pool. It keeps turn and buffers of moderate size, and clears the rest.
func putDecoder(d *decoder) {
	scratch := d.scratch[:0]
	if cap(scratch) > arena.MaxKept {
		scratch = nil
	}
	items := d.items
	if len(items) > 0 || cap(items) > arena.MaxKept/16 { // after an error values may remain
		items = nil
	}
	*d = decoder{scratch: scratch, items: items, turn: d.turn}
	decoders.Put(d)
}

// An issue is an [Issue] whose path is not complete yet.
type issue struct {
	duplicate bool
	path      []failure.Segment
}

func (d *decoder) fail(i int, msg string) int {
	if d.errMsg == "" {
		d.errAt, d.errMsg = i, msg
	}
	return -1
}

func (d *decoder) failure() error {
	return &failure.DecodeError{Offset: d.errAt, Path: failure.Path(d.errPath), Msg: d.errMsg, Err: d.cause}
}

func (d *decoder) report() []Issue {
	if len(d.issues) == 0 {
		return nil
	}
	out := make([]Issue, len(d.issues))
	for i, s := range d.issues {
		out[i] = Issue{Duplicate: s.duplicate, Path: failure.Path(s.path)}
	}
	return out
}

// unknown records a member that the type of the object being read does not have.
func (d *decoder) unknown(name string) { d.addIssue(false, name) }

// duplicate records a member that the object being read has twice.
func (d *decoder) duplicate(name string) { d.addIssue(true, name) }

func (d *decoder) addIssue(duplicate bool, name string) {
	if len(d.issues) < MaxIssues {
		d.issues = append(d.issues, issue{duplicate, []failure.Segment{failure.Member(name)}})
	}
}

// within records, while returning, that the error (i < 0) or the issues since
// before happened below s.
func (d *decoder) within(i, before int, s failure.Segment) {
	if i < 0 {
		d.errPath = append(d.errPath, s)
		return
	}
	for k := before; k < len(d.issues); k++ {
		d.issues[k].path = append(d.issues[k].path, s)
	}
}

func (d *decoder) enter(i int) bool {
	if d.depth >= d.max {
		d.fail(i, jsontext.MsgDeep)
		d.cause = failure.ErrTooDeep
		return false
	}
	d.depth++
	return true
}
