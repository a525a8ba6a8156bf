package codec

import (
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/proto"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/wire"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// IsEnvelope reports whether data begins like a protobuf envelope.
func IsEnvelope(data []byte) bool { return wire.IsEnvelope(data) }

// SizeEnvelope is the length of the envelope of a body of the given length, body included.
func SizeEnvelope(apiVersion, kind string, body int) int {
	return wire.SizeEnvelope(apiVersion, kind, body)
}

// AppendEnvelopeHead appends what comes before a body of the given length. The
// body and then [AppendEnvelopeTail] must follow.
func AppendEnvelopeHead(dst []byte, apiVersion, kind string, body int) []byte {
	return wire.AppendEnvelopeHead(dst, apiVersion, kind, body)
}

// AppendEnvelopeTail appends what comes after the body.
func AppendEnvelopeTail(dst []byte) []byte { return wire.AppendEnvelopeTail(dst) }

// AppendEnvelope appends the envelope of an encoded body, body included.
func AppendEnvelope(dst []byte, apiVersion, kind string, body []byte) []byte {
	return wire.AppendEnvelope(dst, apiVersion, kind, body)
}

// MarshalEnvelope encodes v and its envelope with one allocation. Errors are those of [MarshalProto].
func MarshalEnvelope(apiVersion, kind string, v any) ([]byte, error) {
	w := proto.GetWriter()
	defer proto.PutWriter(w)
	body, err := w.Write(v)
	if err != nil {
		return nil, public(err)
	}
	return wire.AppendEnvelope(make([]byte, 0, wire.SizeEnvelope(apiVersion, kind, len(body))), apiVersion, kind, body), nil
}

// DecodeEnvelope splits an envelope. raw is the body; it points into data. The error is a [*DecodeError].
func DecodeEnvelope(data []byte) (apiVersion, kind string, raw []byte, err error) {
	apiVersion, kind, raw, err = wire.DecodeEnvelope(data)
	return apiVersion, kind, raw, public(err)
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
	n, p := plan.PointerOf(v)
	if n == nil || p == nil {
		return
	}
	for name, s := range map[string]string{"apiVersion": apiVersion, "kind": kind} {
		if k := n.Find([]byte(name)); k >= 0 && n.Fields[k].Node.Type.Kind() == reflect.String && !n.Fields[k].Indirect {
			*mem.At[string](n.Fields[k].Address(p)) = s
		}
	}
}
