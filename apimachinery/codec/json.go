package codec

import (
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/json"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
)

// Marshal returns the JSON of v, byte for byte what encoding/json writes. The
// error is a [*TypeError] for types without a JSON form, else it wraps what a
// method of a value returned, names a value JSON cannot hold (an infinity), or wraps ErrTooDeep.
func Marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, public(err)
	}
	return b, nil
}

// AppendJSON appends the JSON of v to dst. On error dst is returned as it was.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	b, err := json.Append(dst, v)
	if err != nil {
		return dst, public(err)
	}
	return b, nil
}

// DecodeOptions change how [UnmarshalOptions] reads. The zero value reads as [Unmarshal].
type DecodeOptions struct {
	// Strict reports unknown fields, and fields and map keys that occur twice.
	Strict bool
	// MaxDepth bounds the nesting of objects and arrays; 0 means 10,000.
	MaxDepth int
	// MaxBytes bounds the length of the input; 0 means no bound.
	MaxBytes int
}

// Unmarshal reads one JSON value into v, a non-nil pointer. Members without a field are skipped; of
// duplicates the last one counts. Names are case-sensitive. Like encoding/json it keeps what v holds and the
// input does not mention. The error is a [*DecodeError], or a [*TypeError] if v's type has no JSON form;
// after an error v is zero.
func Unmarshal(data []byte, v any) error {
	if _, err := json.Unmarshal(data, v, json.Options{}); err != nil {
		return public(err)
	}
	return nil
}

// UnmarshalOptions is Unmarshal with options. With Strict it returns at most 100 issues in the order of the
// input; they do not prevent v from being decoded.
func UnmarshalOptions(data []byte, v any, o DecodeOptions) ([]FieldIssue, error) {
	found, err := json.Unmarshal(data, v, json.Options(o))
	if err != nil {
		return nil, public(err)
	}
	var issues []FieldIssue
	for _, i := range found {
		kind := UnknownField
		if i.Duplicate {
			kind = DuplicateField
		}
		issues = append(issues, FieldIssue{Kind: kind, Path: i.Path})
	}
	return issues, nil
}

// Valid reports whether data is one JSON value, as encoding/json's Valid does, several times as fast:
// strings need not be valid UTF-8, names may be repeated, and values nested deeper than 10,000 are not valid.
func Valid(data []byte) bool { return jsontext.Valid(data) }
