package codec

import (
	"google.golang.org/protobuf/encoding/protowire"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// A protoReader holds the state of one decode. Offsets are into the whole input, so
// that errors can name them.
type protoReader struct {
	data  []byte
	depth int
	turn  uint8

	strings stringBlock
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
	errPath []segment
}

var readers sync.Pool // *protoReader

func getReader() *protoReader {
	if r, ok := readers.Get().(*protoReader); ok {
		return r
	}
	return &protoReader{}
}

// putReader returns a reader to the pool; only turn is kept of what it read.
func putReader(r *protoReader) {
	*r = protoReader{turn: r.turn}
	readers.Put(r)
}

// maxSource is the largest encoded object, in bytes, that is copied whole so that its strings are parts of
// the copy. They are more than half of most objects, and one copy is much cheaper than many; but any of them
// then keeps the copy alive.
const maxSource = 4 << 10

// open begins an object that is encoded in data[i:end].
func (r *protoReader) open(o *objectPlan, i, end int) {
	r.slab = arena.Open(&o.proto, r.slab)
	if size := end - i; size <= maxSource && (i < r.from || end > r.from+len(r.source)) {
		r.source, r.from = string(r.data[i:end]), i
	}
}

// openItem begins an object whose length is at i.
func (r *protoReader) openItem(o *objectPlan, i, end int) {
	if l, k := protowire.ConsumeVarint(r.data[i:end]); k > 0 && l <= uint64(end-i-k) {
		i, end = i+k, i+k+int(l)
	}
	r.open(o, i, end)
}

func (r *protoReader) close() { r.slab = r.slab.Close() }
