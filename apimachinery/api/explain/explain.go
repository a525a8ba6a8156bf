// Package explain says what the built-in types and their fields are for: the descriptions in OpenAPI
// documents, which kubectl explain shows. A server imports it; an operator does not need it, and so does not
// carry 150 KB of prose.
//
// The texts are the comments of the types themselves. They are kept in texts/, which a test compares with the
// source; after a change of a comment, go test ./apimachinery/api/explain -rewrite brings them up to date.
package explain

import (
	"embed"
	"io/fs"
	"strings"
	"sync"
)

//go:embed texts/*.txt
var files embed.FS

// Text is the description of a built-in type (field empty) or of a field by its JSON name. Types are named as
// in OpenAPI documents, such as io.k8s.api.core.v1.Pod. What is not described is empty. The texts are parsed
// on the first call; it is safe to call from several goroutines.
func Text(typeName, field string) string { return texts().find(typeName, field, 0) }

// typeText is what is said about one struct.
type typeText struct {
	doc    string
	fields map[string]string
	// inline are the types whose fields are fields of this one.
	inline []string
}

// index holds the types by their OpenAPI names.
type index map[string]*typeText

var texts = sync.OnceValue(func() index {
	x := index{}
	err := fs.WalkDir(files, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, file)
		x.parse(string(data))
		return err
	})
	if err != nil {
		panic(err) // embedded files can be read
	}
	return x
})

const (
	metaPackage = "io.k8s.apimachinery.pkg.apis.meta.v1."
	// genericList describes the lists, which have no types of their own.
	genericList = metaPackage + "List"
	metadata    = "Standard metadata: name, namespace, labels and the like."
)

// parse reads one file. A line that begins at the margin is a type and its text; the tab-indented ones after
// it are its fields, and the types that it embeds, as + and the name.
func (x index) parse(file string) {
	var t *typeText
	for line := range strings.Lines(file) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		field, indented := strings.CutPrefix(name, "\t")
		embedded, isEmbedded := strings.CutPrefix(field, "+ ")
		switch {
		case !indented:
			t = &typeText{doc: text, fields: map[string]string{}}
			x[name] = t
		case isEmbedded:
			t.inline = append(t.inline, embedded)
		default:
			t.fields[field] = text
		}
	}
}

func (x index) find(typeName, field string, depth int) string {
	t := x[typeName]
	if item, ok := strings.CutSuffix(typeName, "List"); t == nil && ok && x[item] != nil {
		t = x[genericList]
	}
	if t == nil {
		return ""
	}
	if field == "" {
		return t.doc
	}
	if text := t.fields[field]; text != "" {
		return text
	}
	if field == "metadata" && depth == 0 {
		return metadata
	}
	for _, name := range t.inline {
		if text := x.find(name, field, depth+1); text != "" {
			return text
		}
	}
	return ""
}
