package proto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
)

// EachField calls visit with the content of every length-delimited field of
// the message data[i:end] and skips the others.
func EachField(data []byte, i, end int, visit func(num protowire.Number, from, to int) error) error {
	r := Reader{data: data}
	for i < end {
		tag, j := r.varint(i, end)
		if j < 0 {
			return &failure.DecodeError{Offset: r.errAt, Msg: r.errMsg}
		}
		num, wire := protowire.DecodeTag(tag)
		if num < protowire.MinValidNumber {
			return &failure.DecodeError{Offset: i, Msg: "protobuf: invalid field number"}
		}
		if wire != protowire.BytesType {
			k := protowire.ConsumeFieldValue(num, wire, data[j:end])
			if k < 0 {
				return &failure.DecodeError{Offset: j, Msg: "protobuf: " + protowire.ParseError(k).Error()}
			}
			i = j + k
			continue
		}
		from, to, ok := r.span(j, end)
		if !ok {
			return &failure.DecodeError{Offset: r.errAt, Msg: r.errMsg}
		}
		if err := visit(num, from, to); err != nil {
			return err
		}
		i = to
	}
	return nil
}
