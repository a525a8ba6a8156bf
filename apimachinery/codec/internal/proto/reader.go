package proto

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// A Reader holds the state of one decode. Offsets are into the whole input, so
// that errors can name them.
type Reader struct {
	data  []byte
	depth int
	turn  uint8

	strings arena.StringBlock
	slab    *arena.Slab // of the object being read, or nil
	source  string      // a copy of the encoded object, which its strings are parts of
	from    int         // where in data it begins

	key string // of the map entry being read
	// And its value.
	value1   string
	quantity resource.Quantity

	errAt   int
	errMsg  string
	cause   error
	errPath []failure.Segment
}

// Begin makes a zero or reset reader read data, whose strings become parts of text, at some depth of nesting.
func (r *Reader) Begin(data []byte, text string, depth int) {
	r.data, r.source, r.from, r.depth = data, text, 0, depth
}

// Reset drops what the reader refers to. Only turn is kept.
func (r *Reader) Reset() { *r = Reader{turn: r.turn} }

var readers sync.Pool // *Reader

func getReader() *Reader {
	if r, ok := readers.Get().(*Reader); ok {
		return r
	}
	return &Reader{}
}

// putReader returns a reader to the pool; only turn is kept of what it read.
func putReader(r *Reader) {
	r.Reset()
	readers.Put(r)
}

// maxSource is the largest encoded object, in bytes, that is copied whole so that its strings are parts of
// the copy. They are more than half of most objects, and one copy is much cheaper than many; but any of them
// then keeps the copy alive.
const maxSource = 4 << 10

// open begins an object that is encoded in data[i:end].
func (r *Reader) open(o *plan.Object, i, end int) {
	r.slab = arena.Open(&o.Proto, r.slab)
	if size := end - i; size <= maxSource && (i < r.from || end > r.from+len(r.source)) {
		r.source, r.from = string(r.data[i:end]), i
	}
}

// openItem begins an object whose length is at i.
func (r *Reader) openItem(o *plan.Object, i, end int) {
	if l, k := protowire.ConsumeVarint(r.data[i:end]); k > 0 && l <= uint64(end-i-k) {
		i, end = i+k, i+k+int(l)
	}
	r.open(o, i, end)
}

func (r *Reader) close() { r.slab = r.slab.Close() }
