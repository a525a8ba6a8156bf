package codec

import (
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"sync"
)

// A jsonDecoder holds the state of one decode. Its methods take an offset and return
// the offset after what they read, or -1 after an error.
type jsonDecoder struct {
	data   []byte
	strict bool
	turn   uint8
	depth  int
	max    int

	strings stringBlock
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
	errPath []segment
}

var decoders sync.Pool // *jsonDecoder

func getDecoder() *jsonDecoder {
	if d, ok := decoders.Get().(*jsonDecoder); ok {
		return d
	}
	return &jsonDecoder{}
}

// putDecoder returns a decoder to the pool; only turn is kept of what it read.
func putDecoder(d *jsonDecoder) {
	scratch := d.scratch[:0]
	if cap(scratch) > maxKept {
		scratch = nil
	}
	items := d.items
	if len(items) > 0 || cap(items) > maxKept/16 { // after an error there are values left
		items = nil
	}
	*d = jsonDecoder{scratch: scratch, items: items, turn: d.turn}
	decoders.Put(d)
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

// object records an issue with a member of the object being read.
func (d *jsonDecoder) object(kind IssueKind, name string) {
	if len(d.issues) < maxIssues {
		d.issues = append(d.issues, issue{kind, []segment{{name: name, index: -1}}})
	}
}

// within records, while returning, that the error (i < 0) or the issues since
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
