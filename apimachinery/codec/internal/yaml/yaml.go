package yaml

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

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
)

// ToJSON converts one YAML 1.1 document to JSON with sorted keys; of duplicate keys the last one counts.
// limit bounds the document and the JSON, in bytes.
func ToJSON(data []byte, limit int) ([]byte, error) {
	return convert(data, limit, yaml.YAMLToJSON)
}

// Key is one that a mapping has already.
type Key struct {
	Name string
	Line int // of the document, from 1
}

// DuplicateKeys returns the keys that a valid document has twice in one mapping.
func DuplicateKeys(data []byte, limit int) []Key {
	if _, err := convert(data, limit, yaml.YAMLToJSONStrict); err != nil {
		return duplicateKeys(err.Error())
	}
	return nil
}

// convert bounds sizes and guards against panics of the parser on
// malformed input. The parser itself bounds nesting and the share of aliases, but not the
// size of what they stand for.
func convert(data []byte, limit int, by func([]byte) ([]byte, error)) (out []byte, err error) {
	if len(data) > limit {
		return nil, &failure.DecodeError{Offset: limit, Msg: fmt.Sprintf("YAML of %d bytes is over the limit of %d", len(data), limit), Err: failure.ErrTooLarge}
	}
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, &failure.DecodeError{Msg: fmt.Sprintf("malformed YAML: %v", r)}
		}
	}()
	if err = checkAliases(data, limit); err != nil {
		if errors.Is(err, errExpands) {
			return nil, &failure.DecodeError{Msg: err.Error(), Err: failure.ErrTooLarge}
		}
		return nil, &failure.DecodeError{Msg: err.Error(), Err: err}
	}
	if out, err = by(data); err != nil {
		return nil, &failure.DecodeError{Msg: err.Error(), Err: err}
	}
	if len(out) > limit {
		return nil, &failure.DecodeError{Msg: errExpands.Error(), Err: failure.ErrTooLarge}
	}
	return out, nil
}

// FromJSON converts one JSON value to YAML.
func FromJSON(data []byte) ([]byte, error) {
	s := jsontext.Scanner{Data: data}
	if _, err := s.Skip(jsontext.SkipSpace(data, 0)); err != nil {
		return nil, err
	}
	out, err := yaml.JSONToYAML(data)
	if err != nil {
		return nil, &failure.DecodeError{Msg: err.Error(), Err: err}
	}
	return out, nil
}

// duplicateKeys reads the parser's report, lines such as: line 3: key "a" already set in map.
func duplicateKeys(report string) (keys []Key) {
	for line := range strings.Lines(report) {
		at, rest, _ := strings.Cut(line, ": key ")
		name, _, ok := strings.Cut(rest, " already set in map")
		number, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(at), "line "))
		if !ok || err != nil {
			continue
		}
		if plain, err := strconv.Unquote(name); err == nil {
			name = plain
		}
		keys = append(keys, Key{name, number})
	}
	return keys
}

// Document is one document of a stream.
type Document struct {
	// Line of the stream, from 1, at which Text begins.
	Line int
	// Text is valid until the next step.
	Text []byte
}

// Split returns the documents of a stream separated by lines of "---", but for those that are empty or hold
// only comments. limit bounds a document, in bytes. An error is the last step, and has the line at which the
// document begins.
func Split(r io.Reader, limit int) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		doc := Document{Line: 1}
		flush := func() bool {
			keep := !blank(doc.Text)
			return !keep || yield(doc, nil)
		}
		for n := 1; ; n++ {
			line, err := readLine(in, limit-len(doc.Text))
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Document{Line: doc.Line}, err)
				return
			}
			if rest, ok := separator(line); ok {
				if !flush() {
					return
				}
				doc.Line, doc.Text = n, append(doc.Text[:0], rest...)
			} else if bytes.HasPrefix(line, []byte("...")) {
				doc.Text = append(doc.Text, '\n') // so that the lines after it keep their numbers
			} else {
				doc.Text = append(doc.Text, line...)
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
			return nil, &failure.DecodeError{Msg: "YAML document is over the limit", Err: failure.ErrTooLarge}
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

func blank(doc []byte) bool {
	for line := range bytes.Lines(doc) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}
