package codec

import (
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/proto"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/transcode"
)

// MarshalProto returns the protobuf message of v: the body, without the
// envelope of [MarshalEnvelope]. A type without a protobuf form gives a
// [*TypeError] wrapping ErrNoProto; other errors come from methods of v or wrap ErrTooDeep.
func MarshalProto(v any) ([]byte, error) { return AppendProto(nil, v) }

// AppendProto appends the protobuf message of v to dst. On error dst is returned as it was.
func AppendProto(dst []byte, v any) ([]byte, error) {
	b, err := proto.Append(dst, v)
	if err != nil {
		return dst, public(err)
	}
	return b, nil
}

// SizeProto returns the length of the protobuf message of v, in bytes. It costs
// as much as encoding v.
func SizeProto(v any) (int, error) {
	size, err := proto.Size(v)
	return size, public(err)
}

// UnmarshalProto reads a protobuf message (a body, no envelope) into v, a
// non-nil pointer. Unknown fields are skipped, a message that occurs twice is
// merged, of a scalar the last occurrence counts, elements add up. The error is a
// [*DecodeError], or a [*TypeError] wrapping ErrNoProto; after an error v is zero.
func UnmarshalProto(data []byte, v any) error {
	if err := proto.Unmarshal(data, v); err != nil {
		return public(err)
	}
	return nil
}

// ProtoToJSON returns the JSON of the protobuf message of struct type t formed by concatenating the pieces:
// byte for byte what [Marshal] writes of what [UnmarshalProto] reads, and the errors of those. Messages as
// encoders write them are transcoded without a Go value, which takes a third of the time and allocates the
// result only.
func ProtoToJSON(t reflect.Type, pieces ...[]byte) ([]byte, error) {
	b, err := transcode.ToJSON(t, pieces...)
	if err != nil {
		return nil, public(err)
	}
	return b, nil
}

// A Part is a subset of the members of a Go type, for readers of protobuf that need no others. The others are
// only checked, which takes a fraction of the time and no memory and finds the same errors. It may be used by
// many goroutines at once.
type Part struct {
	part *proto.Part
}

// PartOf returns the part of a struct with these members, named by paths of JSON names such as
// metadata.labels. A path leads through structs and pointers to structs, not into lists and maps. The error
// is a [*TypeError], or names the path that leads nowhere.
func PartOf(t reflect.Type, paths ...string) (*Part, error) {
	p, err := proto.NewPart(t, paths...)
	if err != nil {
		return nil, public(err)
	}
	return &Part{part: p}, nil
}

// UnmarshalProto is [UnmarshalProto] for the members of the part: it sets them in v, a non-nil pointer to the
// type whose other members it leaves alone, and fails where that would, with v zero.
func (p *Part) UnmarshalProto(data []byte, v any) error {
	if err := p.part.Unmarshal(data, v); err != nil {
		return public(err)
	}
	return nil
}

// UnmarshalEnvelope is UnmarshalProto for the body of an envelope.
func (p *Part) UnmarshalEnvelope(data []byte, v any) error {
	_, _, raw, err := DecodeEnvelope(data)
	if err != nil {
		return err
	}
	return p.UnmarshalProto(raw, v)
}
