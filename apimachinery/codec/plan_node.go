package codec

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// An op is what a walker does at a node. The first block is also the shape of
// the Go type; the second block are forms decided by methods.
type op uint8

const (
	opInvalid op = iota
	opBool
	opInt8
	opInt16
	opInt32
	opInt64 // int on 64-bit machines as well
	opUint8
	opUint16
	opUint32
	opUint64
	opFloat32
	opFloat64
	opString
	opBytes // []byte
	opStruct
	opPtr
	opSlice
	opArray
	opStrMap // string kinds to string kinds
	opMap
	opAny   // interface without methods
	opIface // interface with methods

	opRawJSON // json.RawMessage
	opNumber  // json.Number
	opOwn     // AppendJSON, ParseJSON
	opStd     // MarshalJSON, UnmarshalJSON
	opText    // MarshalText, UnmarshalText
	opOneOf   // one field, chosen by the kind of the value
)

// jsonAppender and its companions are the small interfaces leaf types
// implement without importing this package.
type jsonAppender interface {
	AppendJSON(b []byte) ([]byte, error)
}

type jsonParser interface {
	ParseJSON(b []byte) error
}

type protoAppender interface {
	AppendProto(b []byte) []byte
	SizeProto() int
}

type protoParser interface {
	ParseProto(b []byte) error
}

// protoStd are the methods generated protobuf types of other modules carry.
type protoStd interface {
	Marshal() ([]byte, error)
	Unmarshal(b []byte) error
}

type zeroer interface{ IsZero() bool }

// A node is the plan of one type. Nodes are built once, linked into a graph
// that follows the type's structure (recursive types give cycles), and never
// change after they were published.
type node struct {
	typ    reflect.Type
	kind   arena.Kind
	op     op // shape
	enc    op // JSON, writing
	dec    op // JSON, reading
	intern bool
	noPtrs bool // holds nothing that copying must follow
	// quantities marks maps that are treated as quantityMap.
	quantities bool
	mapKind    arena.Kind // of maps that may lie in a block, else 0
	size       uintptr
	length     int // of an array
	elem       *node
	key        *node

	// fields in the order JSON writes them.
	fields  []field
	probes  []probe // of the fields, same order
	index   nameIndex
	unknown *unknownField
	oneOf   *oneOf // nil for a struct that is an object

	// The interfaces that give the type its JSON form.
	encIface mem.Binder
	decIface mem.Binder

	model   reflect.Value // an addressable value of the type, for at
	object  *objectPlan   // of an API object, else nil
	scratch sync.Pool     // *mapScratch, of a map
	layouts arena.Cache   // of copies

	pb   protoPlan
	copy copyPlan
	eq   equalPlan

	jsonOnce, protoOnce, copyOnce sync.Once
	jsonErr, protoErr, copyErr    error

	introOnce sync.Once
	intro     *Plan

	transcodeOnce sync.Once
	transcode     *transcodePlan

	// bad is why the shape has no JSON form and cannot be copied.
	bad error
}

// objectPlan belongs to types that are API objects: structs with metadata. The order of allocations differs
// between the encodings.
type objectPlan struct{ json, proto arena.Expectation }

// planCache holds the nodes of all types seen so far. A program that does not make types at run time has
// finitely many, so it is not bounded.
type planCache struct {
	nodes sync.Map // reflect.Type -> *node
	mu    sync.Mutex
}

var shared = &planCache{}

func nodeOf(t reflect.Type) *node {
	if n, ok := shared.nodes.Load(t); ok {
		return n.(*node)
	}
	return shared.build(t)
}

func (c *planCache) build(t reflect.Type) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := builder{cache: c, made: map[reflect.Type]*node{}}
	n := b.node(t)
	// Published only when the whole graph is linked, so readers never see a half-built node.
	for len(b.todo) > 0 {
		next := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		b.fill(next)
	}
	b.finish()
	for _, fn := range b.order {
		c.nodes.Store(fn.typ, fn)
	}
	return n
}

type builder struct {
	cache *planCache
	made  map[reflect.Type]*node
	order []*node
	todo  []*node
}

func (b *builder) node(t reflect.Type) *node {
	if n, ok := b.cache.nodes.Load(t); ok {
		return n.(*node)
	}
	if n, ok := b.made[t]; ok {
		return n
	}
	n := &node{typ: t, kind: arena.KindOf(t), size: t.Size(), model: reflect.New(t).Elem()}
	b.made[t] = n
	b.order = append(b.order, n)
	b.todo = append(b.todo, n)
	return n
}

var (
	rawMessageType = reflect.TypeFor[json.RawMessage]()
	numberType     = reflect.TypeFor[json.Number]()
	stringType     = reflect.TypeFor[string]()
	anyMapType     = reflect.TypeFor[map[string]any]()
)

// fill sets everything of n that needs only the type itself and links its parts.
func (b *builder) fill(n *node) {
	t := n.typ
	n.op = shapeOf(t)
	n.intern = t.Kind() == reflect.String && t != stringType
	switch n.op {
	case opPtr:
		n.elem = b.node(t.Elem())
		if pointsToItself(t) {
			n.bad = errors.New("a pointer to itself is not data")
		}
	case opSlice, opBytes:
		n.elem = b.node(t.Elem())
	case opArray:
		n.elem = b.node(t.Elem())
		n.length = t.Len()
	case opStrMap, opMap:
		n.key = b.node(t.Key())
		n.elem = b.node(t.Elem())
		n.quantities = holdsQuantities(t)
		switch {
		case n.op == opStrMap:
			n.mapKind = arena.MapKind[string]()
		case n.quantities:
			n.mapKind = arena.MapKind[resource.Quantity]()
		}
	case opInvalid:
		n.bad = fmt.Errorf("a %v is not data", t.Kind())
	}
	if isLock(t) {
		n.bad = errors.New("a lock is not data")
	}
	b.jsonMethods(n)
	b.copyMethods(n)
	b.equalMethods(n)
	if n.op == opStruct {
		b.oneOfShape(n)
		b.jsonFields(n)
		if k := n.find([]byte("metadata")); k >= 0 && n.fields[k].n.typ.Kind() == reflect.Struct {
			n.object = &objectPlan{}
		}
	}
	b.protoShape(n)
	if n.op == opStruct && n.copy.how != copyPlain {
		b.copyFields(n)
	}
}

// finish computes what depends on other nodes being filled.
func (b *builder) finish() {
	for _, n := range b.order {
		for i := range n.fields {
			n.fields[i].finish()
			n.probes = append(n.probes, n.fields[i].probe())
		}
		n.finishProto()
	}
	b.finishCopy()
}

// jsonMethods decides which methods, if any, give a type its JSON form.
func (b *builder) jsonMethods(n *node) {
	t := n.typ
	n.enc, n.dec = n.op, n.op
	switch t {
	case rawMessageType:
		n.enc, n.dec = opRawJSON, opRawJSON
		return
	case numberType:
		n.enc, n.dec = opNumber, opNumber
		return
	}
	if n.op == opIface || n.op == opAny || n.op == opInvalid || t.Kind() == reflect.Pointer {
		return
	}
	zero := reflect.Zero(reflect.PointerTo(t)).Interface()
	if m, ok := zero.(jsonAppender); ok && declares(t, appendJSONMethod) {
		n.enc, n.encIface = opOwn, mem.BinderOf(m)
	} else if m, ok := zero.(json.Marshaler); ok {
		n.enc, n.encIface = opStd, mem.BinderOf(m)
	} else if m, ok := zero.(encoding.TextMarshaler); ok {
		n.enc, n.encIface = opText, mem.BinderOf(m)
	}
	if m, ok := zero.(jsonParser); ok && declares(t, parseJSONMethod) {
		n.dec, n.decIface = opOwn, mem.BinderOf(m)
	} else if m, ok := zero.(json.Unmarshaler); ok {
		n.dec, n.decIface = opStd, mem.BinderOf(m)
	} else if m, ok := zero.(encoding.TextUnmarshaler); ok {
		n.dec, n.decIface = opText, mem.BinderOf(m)
	}
}
