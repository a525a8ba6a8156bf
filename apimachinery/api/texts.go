package api

import (
	"embed"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/internal/typefacts"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

//go:embed */types.go
var source embed.FS

// Text is the description of a built-in type (field empty) or of a field by its JSON name, for OpenAPI
// documents and kubectl explain. Types are named as there, such as io.k8s.api.core.v1.Pod. What is not
// described is empty. The texts are the comments of the types' own source, read on the first call.
func Text(typeName, field string) string { return texts().find(typeName, field, 0) }

// typeText is what the source says about one struct.
type typeText struct {
	doc    string
	fields map[string]string
	// inline are the types whose fields are fields of this one.
	inline []string
}

type textIndex map[string]*typeText

// read is plain variables, not a sync.OnceValue: that would be set when a program starts, and so tie the
// source to every program.
var read struct {
	once  sync.Once
	index textIndex
}

func texts() textIndex {
	read.once.Do(func() {
		const module = "github.com/keelson-dev/keelson/apimachinery/"
		read.index = textIndex{}
		read.index.scanAll(source, func(dir string) string { return typefacts.PackageName(module + "api/" + dir) })
		read.index.scanAll(metav1.Source(), func(string) string { return typefacts.PackageName(module + "metav1") })
	})
	return read.index
}

const metaPackage = "io.k8s.apimachinery.pkg.apis.meta.v1."

func (x textIndex) find(typeName, field string, depth int) string {
	t := x[typeName]
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
		return "Standard metadata: name, namespace, labels and the like."
	}
	for _, name := range t.inline {
		if text := x.find(name, field, depth+1); text != "" {
			return text
		}
	}
	return ""
}

// scanAll reads the files of a source tree; name is the OpenAPI name of the package in a folder.
func (x textIndex) scanAll(tree fs.FS, name func(dir string) string) {
	err := fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, file)
		x.scan(string(data), name(path.Dir(file))+".")
		return err
	})
	if err != nil {
		panic(err) // embedded files can be read
	}
}

// scan reads one gofmted file: struct types, their fields, and the comments before each.
func (x textIndex) scan(file, prefix string) {
	var t *typeText
	var doc []string
	for line := range strings.SplitSeq(file, "\n") {
		text := strings.TrimLeft(line, "\t")
		switch {
		case strings.HasPrefix(text, "// "):
			doc = append(doc, text[3:])
			continue
		case strings.HasPrefix(line, "type ") && strings.HasSuffix(line, " struct {"):
			t = &typeText{doc: strings.Join(doc, " "), fields: map[string]string{}}
			name, _, _ := strings.Cut(line[len("type "):], " ")
			name, _, _ = strings.Cut(name, "[")
			x[prefix+name] = t
		case line == "}":
			t = nil
		case t != nil && strings.HasSuffix(line, "`"):
			t.field(text, strings.Join(doc, " "), prefix)
		}
		doc = nil
	}
}

// field records one field's line.
func (t *typeText) field(line, doc, prefix string) {
	_, tag, _ := strings.Cut(line, "`json:")
	quoted, err := strconv.QuotedPrefix(tag)
	if err != nil {
		return
	}
	value, err := strconv.Unquote(quoted)
	if err != nil {
		return
	}
	name, options, _ := strings.Cut(value, ",")
	switch {
	case strings.Contains(options, "inline"):
		goType, _, _ := strings.Cut(line, " ")
		if short, ok := strings.CutPrefix(goType, "metav1."); ok {
			t.inline = append(t.inline, metaPackage+short)
		} else {
			t.inline = append(t.inline, prefix+goType)
		}
	case name != "" && name != "-":
		t.fields[name] = doc
	}
}
