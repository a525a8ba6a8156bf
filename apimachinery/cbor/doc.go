// Package cbor turns API objects into CBOR (application/cbor) and back.
//
// It is separate from codec so that only programs that use CBOR link the library that does:
// github.com/fxamacker/cbor, which is fuzzed, has one small dependency, and is what API servers use
// themselves, so that both sides agree on the corner cases of the format.
//
// What is promised:
//
//   - Output is an item with the tag for self-described CBOR in front, maps in
//     bytewise key order, strings as byte strings, numbers in their shortest form, as an API server
//     writes it. Binary data is written as its base64 text, which API servers
//     accept for it.
//   - Input may use text or byte strings, indefinite lengths and tags. The binary
//     data of a string tagged for base64 becomes that text. What JSON cannot hold (NaN,
//     infinities, integers over 64 bits, simple values other than true, false and null,
//     keys that are not strings) and duplicate keys are errors.
//   - Objects pass through their JSON form, so that the limits, strict decoding and custom encodings of
//     package codec apply here as well. It costs several times as much as JSON does.
//   - A client uses it with rest.Options{CBOR: cbor.Transcoder{}}; a server does
//     with apiserver.Options.CBOR. Custom resources are then stored in it as well.
//   - All functions may be called from many goroutines at once.
package cbor
