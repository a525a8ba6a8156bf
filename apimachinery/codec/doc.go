// Package codec turns Go values into JSON, YAML and Kubernetes protobuf and
// back, and copies and compares them, without generated code.
//
// On first use of a type its layout (field offsets, names, protobuf numbers,
// methods) is compiled once into a plan; every later call walks the plan and
// touches memory directly. Any struct with json tags works: the types of this
// module, those of k8s.io/api, and those scaffolded for custom resources.
//
// What is promised:
//
//   - JSON output equals that of encoding/json (its escaping of <, > and &
//     included), which is what an API server writes. Names are matched
//     case-sensitively when reading. Numbers read into an any become int64
//     where they are integers that fit and float64 otherwise.
//   - Protobuf output equals that of an API server: fields in rising number
//     order, scalars, strings and struct values always written, pointers, slices
//     and maps only when set, map entries in key order.
//   - No input makes a decoder panic or recurse without bound. A failed decode
//     returns a [*DecodeError] and leaves the target zero, never half filled.
//   - Decoded values share no memory with the input, but parts of one object may share memory with each
//     other, and then live as long as any of them is referred to: the pointers, slices and maps of up to 8
//     entries of an object that was decoded or copied may lie in one block of at most 8 KiB; short strings of
//     one decode call are carved from blocks of at most 1 KiB; the strings of an object that takes up to 4
//     KiB in protobuf may be parts of one copy of it. To keep single names of many objects for long, use
//     strings.Clone.
//   - All functions may be called from many goroutines at once. Values being
//     encoded, copied or compared must not be written meanwhile.
//
// # Unsafe
//
// A plan holds the offsets of fields, and walking it reads and writes fields by address. All of that, and
// what the codec relies on beyond the language, goes through apimachinery/internal/mem, which alone imports
// unsafe for it: reflect.Values, interface values and functions made from their words, maps seen as maps of
// another key type, and small maps that lie inside other allocations. Each layout is checked when the program
// starts; one that is not known, as on a new version of Go, is not used, and package reflect takes its place.
// The tests fail in CI when that happens. The parts of decoded and copied objects share a block by means of
// codec/internal/arena, which forges nothing but those small maps.
//
// The build tag keelson_safe turns all of that off, blocks included: results are the same, a Pod takes about
// twice the time and 30 allocations in place of 4. Use it to rule these techniques out when memory corruption
// is suspected.
//
// # Parts
//
// This package has the functions, the types of their arguments and results, and the errors. What they do is
// in packages below internal, each of which may import those before it, as far as it needs them:
//
//	failure    errors, paths and limits
//	arena      memory: blocks for the parts of an object, strings
//	jsontext   the text of JSON, without Go values
//	plan       the analysis of a Go type: shape, fields, tags, methods
//	json       reading and writing JSON by plans
//	proto      the same for protobuf
//	deep       copying and comparing by plans
//	transcode  protobuf to JSON without a Go value
//	wire       envelopes, watch events and lists around encoded objects
//	yaml       YAML to JSON and back
//
// # Methods of types
//
// A type may define its own encoding. Methods count when declared on
// the type itself; methods promoted from an embedded field count only for JSON
// and only where encoding/json would call them too.
//
//   - JSON: AppendJSON([]byte) ([]byte, error) and ParseJSON([]byte) error,
//     else MarshalJSON and UnmarshalJSON, else MarshalText and UnmarshalText. The
//     bytes given to ParseJSON are one JSON value and must not be kept. Methods
//     with a pointer receiver are called for values that encoding/json could not address, too.
//   - Protobuf: AppendProto([]byte) []byte, SizeProto() int and
//     ParseProto([]byte) error; else the tags of the struct; else, for types
//     without tags, Marshal() ([]byte, error) and Unmarshal([]byte) error.
//   - Copying: DeepCopyInto(*T), DeepCopy() *T or DeepCopy() T with exactly T. A method AssignmentCopies()
//     says that assignment is enough. Maps of quantities are copied as such, whatever methods they have.
//   - Comparing: Equal(T) bool or Equal(*T) bool.
//
// # Struct tags
//
// The json tag is read as encoding/json does, omitzero and string included,
// except that a number in a string must be valid JSON: encoding/json accepts "007". A
// field of type map[string]any tagged `json:",unknown"` collects the members no
// other field claims and writes them, sorted, after all others. The protobuf
// tag gives a field its number; the wire form follows from the Go type. A named
// slice of strings in protobuf is a message holding the strings, as upstream's
// nullable lists are. Fields without a protobuf tag are not in the protobuf form.
//
// A struct whose fields are tagged codec:"object" (a pointer), codec:"array" (a slice) and codec:"bool" (a
// bool) is encoded in JSON as the value of one of them, not as an object with these members, chosen by the
// kind of the value: a schema or a list of schemas. Such tags take precedence over methods of the type; as
// with the value of a method, a strict decode reports nothing inside it.
package codec
