package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// extensions are the endings of the names of the files that ReadFS reads.
var extensions = []string{".yaml", ".yml", ".json"}

// All iterates over the objects of a stream as it is read. name is used in errors. An error, always an
// [*Error] unless r fails, ends the iteration.
func All(r io.Reader, name string) iter.Seq2[*metav1.Unstructured, error] {
	return func(yield func(*metav1.Unstructured, error) bool) {
		n := 0
		for doc, err := range codec.SplitYAML(r) {
			n++
			fail := func(err error) {
				yield(nil, &Error{File: name, Document: n, Line: doc.Line + max(lineOf(err)-1, 0), Err: err})
			}
			if err != nil {
				fail(err)
				return
			}
			skipToContent(&doc)
			for value, err := range values(doc.Text) {
				var list []*metav1.Unstructured
				if err == nil {
					list, err = objects(value)
				}
				if err != nil {
					fail(err)
					return
				}
				for _, obj := range list {
					if !yield(obj, nil) {
						return
					}
				}
			}
		}
	}
}

// Read returns the objects of a stream; see [All].
func Read(r io.Reader, name string) ([]*metav1.Unstructured, error) {
	return collect(nil, All(r, name))
}

// Parse returns the only object of a text.
func Parse(text []byte) (*metav1.Unstructured, error) {
	list, err := Read(bytes.NewReader(text), "")
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("manifest: the text has %d objects, want 1", len(list))
	}
	return list[0], nil
}

// ReadFS returns the objects of the files of a file system that end in .yaml, .yml or .json, in any
// directory, in the order of their paths.
func ReadFS(files fs.FS) (out []*metav1.Unstructured, err error) {
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !IsManifest(name) {
			return err
		}
		out, err = readFile(files, name, out)
		return err
	})
	return out, err
}

// IsManifest reports whether ReadFS reads a file of this name.
func IsManifest(name string) bool { return slices.Contains(extensions, path.Ext(name)) }

func readFile(files fs.FS, name string, out []*metav1.Unstructured) ([]*metav1.Unstructured, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return collect(out, All(f, name))
}

func collect(out []*metav1.Unstructured, in iter.Seq2[*metav1.Unstructured, error]) ([]*metav1.Unstructured, error) {
	for obj, err := range in {
		if err != nil {
			return nil, err
		}
		out = append(out, obj)
	}
	return out, nil
}

// skipToContent removes the blank lines and comments at the beginning of a document, of which one line is
// neither.
func skipToContent(doc *codec.YAMLDocument) {
	for {
		line, rest, _ := bytes.Cut(doc.Text, []byte("\n"))
		text := bytes.TrimSpace(line)
		if len(text) > 0 && text[0] != '#' || len(rest) == 0 {
			doc.Text = bytes.TrimPrefix(doc.Text, []byte("\ufeff")) // as some editors write
			return
		}
		doc.Line, doc.Text = doc.Line+1, rest
	}
}

// values iterates over the JSON values of a document: one, or several if it is a sequence of JSON objects.
func values(text []byte) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
			yield(decode(text))
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		for n := 0; ; n++ {
			var raw json.RawMessage
			err := dec.Decode(&raw)
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil && n == 0:
				yield(decode(text)) // a flow mapping, such as {a: b}
				return
			case err != nil:
				at := dec.InputOffset()
				if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
					at = min(max(bad.Offset-1, 0), int64(len(text)))
				}
				yield(nil, fmt.Errorf("line %d: %w", 1+bytes.Count(text[:at], []byte("\n")), err))
				return
			}
			if !yield(decode(raw)) {
				return
			}
		}
	}
}

// decode decodes a document and refuses keys that occur twice, of which only the last would count.
func decode(text []byte) (any, error) {
	var tree any
	issues, err := codec.UnmarshalYAML(text, &tree, codec.DecodeOptions{Strict: true})
	if err != nil {
		return nil, err
	}
	for _, issue := range issues {
		if issue.Kind == codec.DuplicateField {
			return nil, errors.New(issue.String())
		}
	}
	return tree, nil
}

// objects returns an object, or the items of a list. An empty document has none.
func objects(value any) ([]*metav1.Unstructured, error) {
	tree, ok := value.(map[string]any)
	if !ok && value != nil {
		return nil, errors.New("the document is not an object")
	}
	if len(tree) == 0 {
		return nil, nil
	}
	items, isList := tree["items"].([]any)
	kind, _ := tree["kind"].(string)
	if !isList || !strings.HasSuffix(kind, "List") {
		obj, err := fromTree(tree)
		return []*metav1.Unstructured{obj}, err
	}
	var out []*metav1.Unstructured
	for i, item := range items {
		// Items of a list of one kind may come without theirs.
		if inner, ok := item.(map[string]any); ok && kind != "List" && inner["kind"] == nil && inner["apiVersion"] == nil {
			inner["apiVersion"], inner["kind"] = tree["apiVersion"], strings.TrimSuffix(kind, "List")
		}
		list, err := objects(item)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		out = append(out, list...)
	}
	return out, nil
}
