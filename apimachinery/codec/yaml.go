package codec

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// MaxYAMLBytes is the largest YAML document that is read, and the largest JSON
// it may expand to, in bytes.
const MaxYAMLBytes = 16 << 20

// YAMLToJSON converts one YAML 1.1 document to JSON with sorted keys; of duplicate keys the last one counts.
// JSON is YAML, and passes. The error is a [*DecodeError]: for keys that are not scalars, nesting deeper than
// 10,000, aliases that multiply the document, and sizes over MaxYAMLBytes.
func YAMLToJSON(data []byte) ([]byte, error) {
	return convertYAML(data, yaml.YAMLToJSON)
}

// convertYAML bounds sizes and guards against panics of the parser on
// malformed input. The parser itself bounds nesting and the share of aliases, but not the
// size of what they stand for.
func convertYAML(data []byte, convert func([]byte) ([]byte, error)) (out []byte, err error) {
	if len(data) > MaxYAMLBytes {
		return nil, &DecodeError{Offset: MaxYAMLBytes, Msg: fmt.Sprintf("YAML of %d bytes is over the limit of %d", len(data), MaxYAMLBytes), Err: ErrTooLarge}
	}
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, &DecodeError{Msg: fmt.Sprintf("malformed YAML: %v", r)}
		}
	}()
	if err = checkAliases(data); err != nil {
		if errors.Is(err, errExpands) {
			return nil, &DecodeError{Msg: err.Error(), Err: ErrTooLarge}
		}
		return nil, &DecodeError{Msg: err.Error(), Err: err}
	}
	if out, err = convert(data); err != nil {
		return nil, &DecodeError{Msg: err.Error(), Err: err}
	}
	if len(out) > MaxYAMLBytes {
		return nil, &DecodeError{Msg: errExpands.Error(), Err: ErrTooLarge}
	}
	return out, nil
}

// JSONToYAML converts one JSON value to YAML.
func JSONToYAML(data []byte) ([]byte, error) {
	s := scanner{data: data}
	if _, err := s.skip(skipSpace(data, 0)); err != nil {
		return nil, err
	}
	out, err := yaml.JSONToYAML(data)
	if err != nil {
		return nil, &DecodeError{Msg: err.Error(), Err: err}
	}
	return out, nil
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
// duplicate keys are issues whose path is the bare key.
func UnmarshalYAML(data []byte, v any, o DecodeOptions) ([]FieldIssue, error) {
	if o.MaxBytes > 0 && len(data) > o.MaxBytes {
		return UnmarshalOptions(data, v, o)
	}
	b, err := YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	issues, err := UnmarshalOptions(b, v, o)
	if err != nil || !o.Strict {
		return issues, err
	}
	if _, err := convertYAML(data, yaml.YAMLToJSONStrict); err != nil {
		issues = append(duplicateKeys(err.Error()), issues...)
	}
	return issues[:min(len(issues), maxIssues)], nil
}

// duplicateKeys reads the parser's report, lines such as: line 3: key "a" already set in map.
func duplicateKeys(report string) (issues []FieldIssue) {
	for line := range strings.Lines(report) {
		_, rest, _ := strings.Cut(line, ": key ")
		key, _, ok := strings.Cut(rest, " already set in map")
		if !ok {
			continue
		}
		if plain, err := strconv.Unquote(key); err == nil {
			key = plain
		}
		issues = append(issues, FieldIssue{Kind: DuplicateField, Path: key})
	}
	return issues
}

// SplitYAML returns the documents of a stream separated by lines of "---", as
// command line tools read files. Documents that are empty or hold only comments
// are left out. A document may be JSON. Documents are YAML text valid until the next
// step; an error, from r or for a document over MaxYAMLBytes, is the last step.
func SplitYAML(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var doc []byte
		flush := func() bool {
			keep := !blankYAML(doc)
			return !keep || yield(doc, nil)
		}
		for {
			line, err := readLine(in, MaxYAMLBytes-len(doc))
			if err != nil && !errors.Is(err, io.EOF) {
				yield(nil, err)
				return
			}
			if rest, ok := separator(line); ok {
				if !flush() {
					return
				}
				doc = append(doc[:0], rest...)
			} else if !bytes.HasPrefix(line, []byte("...")) {
				doc = append(doc, line...)
			}
			if err != nil {
				flush()
				return
			}
		}
	}
}

// readLine reads up to and including a line feed, at most limit bytes.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, &DecodeError{Msg: "YAML document is over the limit", Err: ErrTooLarge}
		}
		if line == nil && !errors.Is(err, bufio.ErrBufferFull) {
			return part, err
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// separator reports whether a line starts a new document, and what of it belongs to that document.
func separator(line []byte) (rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(line, []byte("---"))
	if !ok {
		return nil, false
	}
	if len(rest) > 0 && rest[0] != ' ' && rest[0] != '\t' && rest[0] != '\n' && rest[0] != '\r' {
		return nil, false
	}
	return rest, true
}

func blankYAML(doc []byte) bool {
	for line := range bytes.Lines(doc) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}
