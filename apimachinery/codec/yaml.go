package codec

import (
	"io"
	"iter"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/json"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/yaml"
)

// MaxYAMLBytes is the largest YAML document that is read, and the largest JSON
// it may expand to, in bytes.
const MaxYAMLBytes = 16 << 20

// YAMLToJSON converts one YAML 1.1 document to JSON with sorted keys; of duplicate keys the last one counts.
// JSON is YAML, and passes. The error is a [*DecodeError]: for keys that are not scalars, nesting deeper than
// 10,000, aliases that multiply the document, and sizes over MaxYAMLBytes.
func YAMLToJSON(data []byte) ([]byte, error) {
	b, err := yaml.ToJSON(data, MaxYAMLBytes)
	return b, public(err)
}

// JSONToYAML converts one JSON value to YAML.
func JSONToYAML(data []byte) ([]byte, error) {
	b, err := yaml.FromJSON(data)
	return b, public(err)
}

// MarshalYAML returns the YAML of the JSON of v.
func MarshalYAML(v any) ([]byte, error) {
	b, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	return JSONToYAML(b)
}

// UnmarshalYAML reads one YAML or JSON document into v. Paths in errors and
// issues are those of the JSON form, offsets are not meaningful. With Strict,
// duplicate keys are issues with the key as their path, and its line.
func UnmarshalYAML(data []byte, v any, o DecodeOptions) ([]FieldIssue, error) {
	if o.MaxBytes > 0 && len(data) > o.MaxBytes {
		return UnmarshalOptions(data, v, o)
	}
	b, err := YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	found, err := UnmarshalOptions(b, v, o)
	if err != nil || !o.Strict {
		return found, err
	}
	var issues []FieldIssue
	for _, key := range yaml.DuplicateKeys(data, MaxYAMLBytes) {
		issues = append(issues, FieldIssue{Kind: DuplicateField, Path: key.Name, Line: key.Line})
	}
	issues = append(issues, found...)
	return issues[:min(len(issues), json.MaxIssues)], nil
}

// YAMLDocument is one document of a stream.
type YAMLDocument struct {
	// Line of the stream, from 1, at which Text begins.
	Line int
	// Text is YAML, valid until the next step.
	Text []byte
}

// SplitYAML returns the documents of a stream separated by lines of "---", as
// command line tools read files. Documents that are empty or hold only comments
// are left out. A document may be JSON. An error, from r or for a document over MaxYAMLBytes, is the last
// step, and has the line at which the document begins.
func SplitYAML(r io.Reader) iter.Seq2[YAMLDocument, error] {
	return func(yield func(YAMLDocument, error) bool) {
		for doc, err := range yaml.Split(r, MaxYAMLBytes) {
			if !yield(YAMLDocument(doc), public(err)) {
				return
			}
		}
	}
}
