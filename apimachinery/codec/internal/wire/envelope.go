package wire

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/proto"
)

// The protobuf envelope is a magic prefix and the message
// Unknown{1: TypeMeta{1: apiVersion, 2: kind}, 2: raw, 3: contentEncoding, 4: contentType}.
var envelopeMagic = [4]byte{'k', '8', 's', 0}

// The tail of every envelope: contentEncoding and contentType, empty but written.
var envelopeTail = [4]byte{3<<3 | 2, 0, 4<<3 | 2, 0}

// IsEnvelope reports whether data begins like a protobuf envelope.
func IsEnvelope(data []byte) bool { return bytes.HasPrefix(data, envelopeMagic[:]) }

// SizeEnvelope is the length of the envelope of a body of the given length, body included.
func SizeEnvelope(apiVersion, kind string, body int) int {
	meta := sizeTypeMeta(apiVersion, kind)
	return len(envelopeMagic) + 1 + protowire.SizeBytes(meta) + 1 + protowire.SizeBytes(body) + len(envelopeTail)
}

func sizeTypeMeta(apiVersion, kind string) int {
	return 2 + protowire.SizeBytes(len(apiVersion)) + protowire.SizeBytes(len(kind))
}

// AppendEnvelopeHead appends what comes before a body of the given length. The
// body and then [AppendEnvelopeTail] must follow.
func AppendEnvelopeHead(dst []byte, apiVersion, kind string, body int) []byte {
	dst = append(dst, envelopeMagic[:]...)
	dst = append(dst, 1<<3|2)
	dst = protowire.AppendVarint(dst, uint64(sizeTypeMeta(apiVersion, kind)))
	dst = protowire.AppendString(append(dst, 1<<3|2), apiVersion)
	dst = protowire.AppendString(append(dst, 2<<3|2), kind)
	dst = append(dst, 2<<3|2)
	return protowire.AppendVarint(dst, uint64(body))
}

// AppendEnvelopeTail appends what comes after the body.
func AppendEnvelopeTail(dst []byte) []byte { return append(dst, envelopeTail[:]...) }

// AppendEnvelope appends the envelope of an encoded body, body included.
func AppendEnvelope(dst []byte, apiVersion, kind string, body []byte) []byte {
	dst = AppendEnvelopeHead(dst, apiVersion, kind, len(body))
	return AppendEnvelopeTail(append(dst, body...))
}

// DecodeEnvelope splits an envelope. raw is the body; it points into data. The error is a DecodeError.
func DecodeEnvelope(data []byte) (apiVersion, kind string, raw []byte, err error) {
	if !IsEnvelope(data) {
		return "", "", nil, &failure.DecodeError{Msg: "not a protobuf object: it does not begin with k8s\\x00"}
	}
	var contentType, contentEncoding []byte
	err = proto.EachField(data, len(envelopeMagic), len(data), func(num protowire.Number, from, to int) error {
		switch num {
		case 1:
			return proto.EachField(data, from, to, func(num protowire.Number, from, to int) error {
				switch num {
				case 1:
					apiVersion = arena.InternOrCopy(data[from:to])
				case 2:
					kind = arena.InternOrCopy(data[from:to])
				}
				return nil
			})
		case 2:
			raw = data[from:to:to]
		case 3:
			contentEncoding = data[from:to]
		case 4:
			contentType = data[from:to]
		}
		return nil
	})
	if err != nil {
		return "", "", nil, err
	}
	if len(contentEncoding) > 0 {
		return "", "", nil, &failure.DecodeError{Msg: fmt.Sprintf("unknown content encoding %q in the envelope", failure.Clip(contentEncoding))}
	}
	if len(contentType) > 0 && string(contentType) != "application/vnd.kubernetes.protobuf" {
		return "", "", nil, &failure.DecodeError{Msg: fmt.Sprintf("unknown content type %q in the envelope", failure.Clip(contentType))}
	}
	return apiVersion, kind, raw, nil
}
