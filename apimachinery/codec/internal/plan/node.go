package plan

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

// An Op selects the operation of a walker at a node. Those up to OpInterface are also the shapes of Go types;
// the others are JSON forms that methods or tags decide.
type Op uint8

// The ops.
const (
	OpInvalid Op = iota
	OpBool
	OpInt8
	OpInt16
	OpInt32
	OpInt64 // int on 64-bit machines as well
	OpUint8
	OpUint16
	OpUint32
	OpUint64
	OpFloat32
	OpFloat64
	OpString
	OpBytes // []byte
	OpStruct
	OpPointer
	OpSlice
	OpArray
	OpStringMap // string kinds to string kinds
	OpMap
	OpAny       // interface without methods
	OpInterface // interface with methods

	OpRawJSON // json.RawMessage
	OpNumber  // json.Number
	OpOwn     // AppendJSON, ParseJSON
	OpStd     // MarshalJSON, UnmarshalJSON
	OpText    // MarshalText, UnmarshalText
	OpOneOf   // one field, chosen by the kind of the value
)

// JSONAppender and its companions are small interfaces that types implement without importing codec.
type JSONAppender interface {
	AppendJSON(b []byte) ([]byte, error)
}

// JSONParser reads JSON; see [JSONAppender].
type JSONParser interface {
	ParseJSON(b []byte) error
}

// ProtoAppender writes a protobuf message; see [JSONAppender].
type ProtoAppender interface {
	AppendProto(b []byte) []byte
	SizeProto() int
}

// ProtoParser reads a protobuf message; see [JSONAppender].
type ProtoParser interface {
	ParseProto(b []byte) error
}

// ProtoMarshaler has the methods of the generated protobuf types of other modules.
type ProtoMarshaler interface {
	Marshal() ([]byte, error)
	Unmarshal(b []byte) error
}

type zeroer interface{ IsZero() bool }

// A Node is the plan of one type. Nodes are built once, linked into a graph that follows the type's structure
// (recursive types give cycles), and do not change once published.
type Node struct {
	Type   reflect.Type
	Kind   arena.Kind // of values of the type, as parts of blocks
	Op     Op         // the shape
	Enc    Op         // how JSON is written
	Dec    Op         // how JSON is read
	Intern bool       // a string whose values repeat
	NoPtrs bool       // holds no references that a copy must follow
	// Quantities marks maps that are treated as QuantityMap.
	Quantities bool
	MapKind    arena.Kind // of maps that may lie in a block, else 0
	Size       uintptr    // in bytes
	Len        int        // of an array
	Elem       *Node      // of pointers, slices, arrays and maps
	Key        *Node      // of maps
	Object     *Object    // of an API object, else nil

	// Proto is next to the fields above because a reader needs both for every message: after the caches,
	// decoding takes 5% to 9% longer.
	Proto Message

	// Fields are the JSON members of a struct in the order JSON writes them.
	Fields  []Field
	Probes  []Probe // of the fields, same order
	index   nameIndex
	Unknown *UnknownMembers // for members without a field, or nil
	OneOf   *OneOf          // nil for a struct that is an object

	// The interfaces of the methods that Enc and Dec call.
	EncMethods mem.Binder
	DecMethods mem.Binder

	Copy  CopyPlan
	Equal EqualPlan

	model   reflect.Value // an addressable zero value of the type, for At
	scratch sync.Pool     // *MapScratch, of a map
	Layouts arena.Cache   // of copies

	jsonOnce, protoOnce, copyOnce sync.Once
	jsonErr, protoErr, copyErr    error

	// bad is the reason that the shape has no JSON form and cannot be copied.
	bad error
}

// Object is set for types that are API objects: structs with metadata. It holds the allocations that decoders
// expect for values of the type; their order differs between the encodings.
type Object struct{ JSON, Proto arena.Expectation }

// planCache holds the nodes of all types used so far. A program that does not make types at run time has
// finitely many, so it is not bounded.
type planCache struct {
	nodes sync.Map // reflect.Type -> *Node
	mu    sync.Mutex
}

var shared = &planCache{}

// Of returns the node of a type.
func Of(t reflect.Type) *Node {
	if n, ok := shared.nodes.Load(t); ok {
		return n.(*Node)
	}
	return shared.build(t)
}

func (c *planCache) build(t reflect.Type) *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := builder{cache: c, made: map[reflect.Type]*Node{}}
	n := b.node(t)
	// Published only when the whole graph is linked, so readers never see a half-built node.
	for len(b.todo) > 0 {
		next := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		b.fill(next)
	}
	b.finish()
	for _, fn := range b.order {
		c.nodes.Store(fn.Type, fn)
	}
	return n
}

type builder struct {
	cache *planCache
	made  map[reflect.Type]*Node
	order []*Node
	todo  []*Node
}

func (b *builder) node(t reflect.Type) *Node {
	if n, ok := b.cache.nodes.Load(t); ok {
		return n.(*Node)
	}
	if n, ok := b.made[t]; ok {
		return n
	}
	n := &Node{Type: t, Kind: arena.KindOf(t), Size: t.Size(), model: reflect.New(t).Elem()}
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
func (b *builder) fill(n *Node) {
	t := n.Type
	n.Op = shapeOf(t)
	n.Intern = t.Kind() == reflect.String && t != stringType
	switch n.Op {
	case OpPointer:
		n.Elem = b.node(t.Elem())
		if PointsToItself(t) {
			n.bad = errors.New("a pointer to itself is not data")
		}
	case OpSlice, OpBytes:
		n.Elem = b.node(t.Elem())
	case OpArray:
		n.Elem = b.node(t.Elem())
		n.Len = t.Len()
	case OpStringMap, OpMap:
		n.Key = b.node(t.Key())
		n.Elem = b.node(t.Elem())
		n.Quantities = holdsQuantities(t)
		switch {
		case n.Op == OpStringMap:
			n.MapKind = arena.MapKind[string]()
		case n.Quantities:
			n.MapKind = arena.MapKind[resource.Quantity]()
		}
	case OpInvalid:
		n.bad = fmt.Errorf("a %v is not data", t.Kind())
	}
	if isLock(t) {
		n.bad = errors.New("a lock is not data")
	}
	b.jsonMethods(n)
	b.copyMethods(n)
	b.equalMethods(n)
	if n.Op == OpStruct {
		b.oneOfShape(n)
		b.jsonFields(n)
		if k := n.Find([]byte("metadata")); k >= 0 && n.Fields[k].Node.Type.Kind() == reflect.Struct {
			n.Object = &Object{}
		}
	}
	b.protoShape(n)
	if n.Op == OpStruct && n.Copy.How != CopyPlain {
		b.copyFields(n)
	}
}

// finish computes the fields that depend on other nodes being filled.
func (b *builder) finish() {
	for _, n := range b.order {
		for i := range n.Fields {
			n.Fields[i].finish()
			n.Probes = append(n.Probes, n.Fields[i].probe())
		}
		n.finishProto()
	}
	b.finishCopy()
}

// jsonMethods decides which methods, if any, define the JSON form of a type.
func (b *builder) jsonMethods(n *Node) {
	t := n.Type
	n.Enc, n.Dec = n.Op, n.Op
	switch t {
	case rawMessageType:
		n.Enc, n.Dec = OpRawJSON, OpRawJSON
		return
	case numberType:
		n.Enc, n.Dec = OpNumber, OpNumber
		return
	}
	if n.Op == OpInterface || n.Op == OpAny || n.Op == OpInvalid || t.Kind() == reflect.Pointer {
		return
	}
	zero := reflect.Zero(reflect.PointerTo(t)).Interface()
	if m, ok := zero.(JSONAppender); ok && declares(t, appendJSONMethod) {
		n.Enc, n.EncMethods = OpOwn, mem.BinderOf(m)
	} else if m, ok := zero.(json.Marshaler); ok {
		n.Enc, n.EncMethods = OpStd, mem.BinderOf(m)
	} else if m, ok := zero.(encoding.TextMarshaler); ok {
		n.Enc, n.EncMethods = OpText, mem.BinderOf(m)
	}
	if m, ok := zero.(JSONParser); ok && declares(t, parseJSONMethod) {
		n.Dec, n.DecMethods = OpOwn, mem.BinderOf(m)
	} else if m, ok := zero.(json.Unmarshaler); ok {
		n.Dec, n.DecMethods = OpStd, mem.BinderOf(m)
	} else if m, ok := zero.(encoding.TextUnmarshaler); ok {
		n.Dec, n.DecMethods = OpText, mem.BinderOf(m)
	}
}

// AsObject returns n.Object, or that of the pointee, if values of the type are API objects or point to one.
func (n *Node) AsObject() *Object {
	if n.Op == OpPointer {
		n = n.Elem
	}
	return n.Object
}
