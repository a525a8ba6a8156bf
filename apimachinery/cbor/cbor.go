package cbor

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// MediaType is the content type of one object.
const MediaType = "application/cbor"

// prefix is tag 55799, which marks what follows as CBOR.
var prefix = []byte{0xd9, 0xd9, 0xf7}

// IsCBOR reports whether data begins with the tag for self-described CBOR.
func IsCBOR(data []byte) bool { return bytes.HasPrefix(data, prefix) }

// Marshal returns v as CBOR. Errors are those of [codec.Marshal].
func Marshal(v any) ([]byte, error) {
	data, err := codec.Marshal(v)
	if err != nil {
		return nil, err
	}
	return FromJSON(data)
}

// FromJSON converts one JSON value to CBOR. The error is a [*codec.DecodeError].
func FromJSON(data []byte) ([]byte, error) {
	var tree any
	if err := codec.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	out, err := settings().enc.Marshal(tree)
	if err != nil {
		return nil, &codec.DecodeError{Msg: "no CBOR form: " + err.Error(), Err: err}
	}
	return append(bytes.Clone(prefix), out...), nil
}

// Unmarshal reads one CBOR item into v, a non-nil pointer. Limits, the result and
// errors are those of [codec.UnmarshalOptions] but that offsets in errors are not
// meaningful and that duplicate keys are an error, strict or not; after an error v is zero.
func Unmarshal(data []byte, v any, o codec.DecodeOptions) ([]codec.FieldIssue, error) {
	if o.MaxBytes > 0 && len(data) > o.MaxBytes {
		return codec.UnmarshalOptions(data, v, o) // for the error
	}
	text, err := ToJSON(data)
	if err != nil {
		_, _ = codec.UnmarshalOptions(nil, v, o) // makes v zero
		return nil, err
	}
	o.MaxBytes = 0 // it bounds the input, not its JSON, which may be longer
	return codec.UnmarshalOptions(text, v, o)
}

// ToJSON converts one CBOR item to JSON with sorted keys. The error is a [*codec.DecodeError].
func ToJSON(data []byte) ([]byte, error) {
	var tree any
	if err := settings().dec.Unmarshal(data, &tree); err != nil {
		return nil, &codec.DecodeError{Msg: err.Error(), Err: err}
	}
	if inner, bad := invalidText(tree); bad {
		slices.Reverse(inner)
		return nil, &codec.DecodeError{Path: strings.TrimPrefix(strings.Join(inner, ""), "."), Msg: "a string is not UTF-8"}
	}
	return codec.Marshal(tree)
}

// invalidText reports whether v holds a string that JSON cannot hold as it is, which byte strings
// may be. The steps of the path to it are gathered from the inside out, so that good input pays nothing.
func invalidText(v any) (path []string, bad bool) {
	switch v := v.(type) {
	case string:
		return nil, !utf8.ValidString(v)
	case []any:
		for i, x := range v {
			if path, bad := invalidText(x); bad {
				return append(path, "["+strconv.Itoa(i)+"]"), true
			}
		}
	case map[string]any:
		for k, x := range v {
			if !utf8.ValidString(k) {
				return nil, true
			}
			if path, bad := invalidText(x); bad {
				return append(path, "."+k), true
			}
		}
	}
	return nil, false
}
