package resource

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrProto is wrapped by the errors of ParseProto, except those for the text of the quantity.
var ErrProto = errors.New("malformed protobuf message")

// MarshalJSON implements json.Marshaler: the canonical text as a string.
func (q Quantity) MarshalJSON() ([]byte, error) { return q.AppendJSON(nil) }

// UnmarshalJSON implements json.Unmarshaler; see ParseJSON.
func (q *Quantity) UnmarshalJSON(data []byte) error { return q.ParseJSON(data) }

// AppendJSON appends the quantity as a JSON string. The error is always nil.
func (q Quantity) AppendJSON(dst []byte) ([]byte, error) {
	return append(q.appendTo(append(dst, '"')), '"'), nil
}

// ParseJSON sets q from a JSON string, with or without white space around the
// quantity, or from a JSON number; null gives the zero value. On an error q is
// unchanged. The bytes are not kept.
func (q *Quantity) ParseJSON(data []byte) error {
	if string(data) == "null" {
		*q = Quantity{}
		return nil
	}
	if n := len(data); n >= 2 && data[0] == '"' && data[n-1] == '"' {
		data = data[1 : n-1]
	}
	parsed, err := Parse(string(bytes.TrimSpace(data)))
	if err != nil {
		return err
	}
	*q = parsed
	return nil
}

// tagString is field 1, length-delimited: the only field of message Quantity.
const tagString = 1<<3 | 2

func uvarintSize(n uint64) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

func (q Quantity) textSize() int {
	if q.x != nil && q.x.text != "" {
		return len(q.x.text)
	}
	var buf [bufferSize]byte
	return len(q.appendCanonical(buf[:0]))
}

// SizeProto returns the length of what AppendProto appends, in bytes.
func (q Quantity) SizeProto() int {
	n := q.textSize()
	return 1 + uvarintSize(uint64(n)) + n
}

// AppendProto appends the protobuf message, without a length prefix. Its only field is always written, also
// for 0.
func (q Quantity) AppendProto(dst []byte) []byte {
	dst = append(dst, tagString, 0)
	start := len(dst)
	dst = q.appendTo(dst)
	n := len(dst) - start
	if n < 0x80 {
		dst[start-1] = byte(n)
		return dst
	}
	var buf [bufferSize]byte
	text := append(buf[:0], dst[start:]...)
	return append(binary.AppendUvarint(dst[:start-1], uint64(n)), text...)
}

// ParseProto sets q from a protobuf message. A message without fields gives the zero value; unknown fields
// are skipped. On an error q is unchanged. The bytes are not kept.
func (q *Quantity) ParseProto(data []byte) error {
	var out Quantity
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 || tag>>3 == 0 {
			return fmt.Errorf("%w: bad tag", ErrProto)
		}
		data = data[n:]
		payload, size, err := field(tag&7, data)
		if err != nil {
			return err
		}
		data = data[size:]
		if tag>>3 != 1 {
			continue
		}
		if tag != tagString {
			return fmt.Errorf("%w: field 1 has wire type %d", ErrProto, tag&7)
		}
		if out, err = Parse(string(payload)); err != nil {
			return err
		}
	}
	*q = out
	return nil
}

// field returns the size of one field's value and, if it is length-delimited, its payload.
func field(wire uint64, data []byte) (payload []byte, size int, err error) {
	switch wire {
	case 0:
		if _, size = binary.Uvarint(data); size <= 0 {
			return nil, 0, fmt.Errorf("%w: bad varint", ErrProto)
		}
		return nil, size, nil
	case 1:
		size = 8
	case 5:
		size = 4
	case 2:
		n, head := binary.Uvarint(data)
		if head <= 0 || n > uint64(len(data)-head) {
			return nil, 0, fmt.Errorf("%w: bad length", ErrProto)
		}
		size = head + int(n)
		return data[head:size], size, nil
	default:
		return nil, 0, fmt.Errorf("%w: wire type %d", ErrProto, wire)
	}
	if len(data) < size {
		return nil, 0, fmt.Errorf("%w: unexpected end", ErrProto)
	}
	return nil, size, nil
}

// OpenAPISchemaType returns the JSON type in OpenAPI v2.
func (Quantity) OpenAPISchemaType() []string { return []string{"string"} }

// OpenAPISchemaFormat returns the format in OpenAPI v2 and v3: none.
func (Quantity) OpenAPISchemaFormat() string { return "" }

// OpenAPIV3OneOfTypes returns the accepted JSON types, for OpenAPI v3.
func (Quantity) OpenAPIV3OneOfTypes() []string { return []string{"string", "number"} }
