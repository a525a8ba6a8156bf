package metav1

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
)

// RawExtension is an arbitrary JSON value kept in its original encoding. In protobuf it may also hold an
// object in the Kubernetes envelope.
type RawExtension struct {
	// Raw is the encoded value; empty means null.
	Raw []byte `json:"-" protobuf:"bytes,1,opt,name=raw"`
}

// AppendJSON appends the wire form.
func (r RawExtension) AppendJSON(b []byte) ([]byte, error) { return appendRaw(b, r.Raw), nil }

// ParseJSON keeps a copy of b.
func (r *RawExtension) ParseJSON(b []byte) error { return parseRaw(b, &r.Raw) }

// MarshalJSON implements json.Marshaler.
func (r RawExtension) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *RawExtension) UnmarshalJSON(b []byte) error { return r.ParseJSON(b) }

// SizeProto is the length of the protobuf form.
func (r RawExtension) SizeProto() int { return sizeRaw(r.Raw) }

// AppendProto appends the protobuf form.
func (r RawExtension) AppendProto(b []byte) []byte { return appendRawProto(b, r.Raw) }

// ParseProto reads the protobuf form.
func (r *RawExtension) ParseProto(b []byte) error { return parseRawProto(b, &r.Raw) }

// FieldsV1 is a set of fields in the JSON format of managedFields.
type FieldsV1 struct {
	// Raw is the JSON object; empty is null.
	Raw []byte `json:"-" protobuf:"bytes,1,opt,name=Raw"`
}

// AppendJSON appends the wire form.
func (f FieldsV1) AppendJSON(b []byte) ([]byte, error) { return appendRaw(b, f.Raw), nil }

// ParseJSON keeps a copy of b.
func (f *FieldsV1) ParseJSON(b []byte) error { return parseRaw(b, &f.Raw) }

// MarshalJSON implements json.Marshaler.
func (f FieldsV1) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil) }

// UnmarshalJSON implements json.Unmarshaler.
func (f *FieldsV1) UnmarshalJSON(b []byte) error { return f.ParseJSON(b) }

// SizeProto is the length of the protobuf form.
func (f FieldsV1) SizeProto() int { return sizeRaw(f.Raw) }

// AppendProto appends the protobuf form.
func (f FieldsV1) AppendProto(b []byte) []byte { return appendRawProto(b, f.Raw) }

// ParseProto reads the protobuf form.
func (f *FieldsV1) ParseProto(b []byte) error { return parseRawProto(b, &f.Raw) }

func appendRaw(b, raw []byte) []byte {
	if len(raw) == 0 {
		return append(b, "null"...)
	}
	return append(b, raw...)
}

func parseRaw(b []byte, raw *[]byte) error {
	if bytes.Equal(b, []byte("null")) {
		*raw = nil
		return nil
	}
	*raw = bytes.Clone(b)
	return nil
}

func sizeRaw(raw []byte) int {
	if raw == nil {
		return 0
	}
	return 1 + protowire.SizeBytes(len(raw))
}

func appendRawProto(b, raw []byte) []byte {
	if raw == nil {
		return b
	}
	return protowire.AppendBytes(append(b, 1<<3|2), raw)
}

func parseRawProto(b []byte, raw *[]byte) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if num == 1 && typ == protowire.BytesType {
			v, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			*raw = append([]byte{}, v...)
			b = b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
	}
	return nil
}
