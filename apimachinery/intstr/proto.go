package intstr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// Tags of message IntOrString: 1 type (int64), 2 intVal (int32), both varints, 3 strVal. All
// three are always written, in this order.
const (
	tagType   = 1 << 3
	tagIntVal = 2 << 3
	tagStrVal = 3<<3 | 2
)

// ErrProto is wrapped by the errors of ParseProto.
var ErrProto = errors.New("malformed protobuf message")

func varintSize(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// SizeProto is the length of what AppendProto appends.
func (v IntOrString) SizeProto() int {
	return 3 + varintSize(uint64(v.Type)) + varintSize(uint64(int64(v.IntVal))) +
		varintSize(uint64(len(v.StrVal))) + len(v.StrVal)
}

// AppendProto appends the protobuf message, without a length in front.
func (v IntOrString) AppendProto(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, tagType), uint64(v.Type))
	dst = binary.AppendUvarint(append(dst, tagIntVal), uint64(int64(v.IntVal)))
	dst = binary.AppendUvarint(append(dst, tagStrVal), uint64(len(v.StrVal)))
	return append(dst, v.StrVal...)
}

// ParseProto sets v from a protobuf message. Fields that are absent are zero,
// unknown fields are skipped. The bytes are not kept.
func (v *IntOrString) ParseProto(data []byte) error {
	var out IntOrString
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 || tag>>3 == 0 {
			return fmt.Errorf("%w: bad tag", ErrProto)
		}
		data = data[n:]
		num, payload, size, err := field(tag&7, data)
		if err != nil {
			return err
		}
		data = data[size:]
		switch tag {
		case tagType:
			out.Type = Type(num)
		case tagIntVal:
			out.IntVal = int32(num)
		case tagStrVal:
			if !utf8.Valid(payload) {
				return fmt.Errorf("%w: strVal is not UTF-8", ErrProto)
			}
			out.StrVal = string(payload)
		default:
			if f := tag >> 3; f <= 3 {
				return fmt.Errorf("%w: field %d has wire type %d", ErrProto, f, tag&7)
			}
		}
	}
	*v = out
	return nil
}

// field reads one field value of the wire type; size counts all its bytes.
func field(wire uint64, data []byte) (num uint64, payload []byte, size int, err error) {
	switch wire {
	case 0:
		n, size := binary.Uvarint(data)
		if size <= 0 {
			return 0, nil, 0, fmt.Errorf("%w: bad varint", ErrProto)
		}
		return n, nil, size, nil
	case 1, 5:
		size := 8
		if wire == 5 {
			size = 4
		}
		if len(data) < size {
			return 0, nil, 0, fmt.Errorf("%w: unexpected end", ErrProto)
		}
		return 0, nil, size, nil
	case 2:
		n, size := binary.Uvarint(data)
		if size <= 0 || n > uint64(len(data)-size) {
			return 0, nil, 0, fmt.Errorf("%w: bad length", ErrProto)
		}
		return 0, data[size : size+int(n)], size + int(n), nil
	}
	return 0, nil, 0, fmt.Errorf("%w: wire type %d", ErrProto, wire)
}
