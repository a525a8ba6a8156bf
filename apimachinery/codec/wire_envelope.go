package codec

import (
	"bytes"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
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

// MarshalEnvelope encodes v and its envelope with one allocation. Errors are those of [MarshalProto].
func MarshalEnvelope(apiVersion, kind string, v any) ([]byte, error) {
	w := getWriter()
	defer putWriter(w)
	if err := w.root(v); err != nil {
		return nil, err
	}
	body := w.bytes()
	return AppendEnvelope(make([]byte, 0, SizeEnvelope(apiVersion, kind, len(body))), apiVersion, kind, body), nil
}

// AppendEnvelope appends the envelope of an encoded body, body included.
func AppendEnvelope(dst []byte, apiVersion, kind string, body []byte) []byte {
	dst = AppendEnvelopeHead(dst, apiVersion, kind, len(body))
	return AppendEnvelopeTail(append(dst, body...))
}

// DecodeEnvelope splits an envelope. raw is the body; it points into data. The error is a [*DecodeError].
func DecodeEnvelope(data []byte) (apiVersion, kind string, raw []byte, err error) {
	if !IsEnvelope(data) {
		return "", "", nil, &DecodeError{Msg: "not a protobuf object: it does not begin with k8s\\x00"}
	}
	var contentType, contentEncoding []byte
	err = eachField(data, len(envelopeMagic), len(data), func(num protowire.Number, from, to int) error {
		switch num {
		case 1:
			return eachField(data, from, to, func(num protowire.Number, from, to int) error {
				switch num {
				case 1:
					apiVersion = internOrCopy(data[from:to])
				case 2:
					kind = internOrCopy(data[from:to])
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
		return "", "", nil, &DecodeError{Msg: fmt.Sprintf("unknown content encoding %q in the envelope", clip(contentEncoding))}
	}
	if len(contentType) > 0 && string(contentType) != "application/vnd.kubernetes.protobuf" {
		return "", "", nil, &DecodeError{Msg: fmt.Sprintf("unknown content type %q in the envelope", clip(contentType))}
	}
	return apiVersion, kind, raw, nil
}

// UnmarshalEnvelope decodes the body of an envelope into v and returns the
// kind the envelope names. If v has string fields APIVersion and Kind they are set
// too, as they are not part of the body.
func UnmarshalEnvelope(data []byte, v any) (apiVersion, kind string, err error) {
	apiVersion, kind, raw, err := DecodeEnvelope(data)
	if err != nil {
		return "", "", err
	}
	if err := UnmarshalProto(raw, v); err != nil {
		return "", "", err
	}
	setTypeMeta(v, apiVersion, kind)
	return apiVersion, kind, nil
}

func setTypeMeta(v any, apiVersion, kind string) {
	n, p := pointerOf(v)
	if n == nil || p == nil {
		return
	}
	for name, s := range map[string]string{"apiVersion": apiVersion, "kind": kind} {
		if k := n.find([]byte(name)); k >= 0 && n.fields[k].n.typ.Kind() == reflect.String && !n.fields[k].indirect {
			*mem.At[string](n.fields[k].address(p)) = s
		}
	}
}

// eachField calls visit with the content of every length-delimited field of
// the message data[i:end] and skips the others.
func eachField(data []byte, i, end int, visit func(num protowire.Number, from, to int) error) error {
	r := protoReader{data: data}
	for i < end {
		tag, j := r.varint(i, end)
		if j < 0 {
			return &DecodeError{Offset: r.errAt, Msg: r.errMsg}
		}
		num, wire := protowire.DecodeTag(tag)
		if num < protowire.MinValidNumber {
			return &DecodeError{Offset: i, Msg: "protobuf: invalid field number"}
		}
		if wire != protowire.BytesType {
			k := protowire.ConsumeFieldValue(num, wire, data[j:end])
			if k < 0 {
				return &DecodeError{Offset: j, Msg: "protobuf: " + protowire.ParseError(k).Error()}
			}
			i = j + k
			continue
		}
		from, to, ok := r.span(j, end)
		if !ok {
			return &DecodeError{Offset: r.errAt, Msg: r.errMsg}
		}
		if err := visit(num, from, to); err != nil {
			return err
		}
		i = to
	}
	return nil
}
