// Package markers makes manifests of Go source: definitions of custom resources whose descriptions are the
// comments of the types, roles, and webhook configurations. It understands kubebuilder's markers, the lines
// of comments that begin with +, and reads the source itself, so that no generated file has to be kept:
//
//	source, err := markers.Parse(os.DirFS("."), "example.com/operator")
//	definitions, err := source.Definitions(scheme, "example.com", markers.Options{})
//	roles, err := source.Roles("manager-role")
//	webhooks, err := source.Webhooks()
//
// The schema of a kind follows from its Go type and the tags of its fields, as in [openapi.Derive]; comments
// and markers are added to it. What is printed of the result with package manifest is what controller-gen
// prints, but for the descriptions of types that are not in the source, which Options.Texts has.
//
// [Source.Roots] has the names of the kinds, for programs that register them; the command examples/manifests
// is one.
//
// A marker that begins with +kubebuilder: and is not known, or stands where it has no effect, is an error
// with file and line. Markers of other programs, such as +genclient, are skipped. The package does no I/O of
// its own; a Source is immutable and can be used from several goroutines.
package markers

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
)

// Source is what the comments of Go packages say.
type Source struct {
	types    map[string]*typeSource // by import path, a dot and the name
	packages map[string]*packageSource
	// rest are the markers that concern no type: those of rights and webhooks.
	rest []mark
}

// packageSource is what holds for all types of a package.
type packageSource struct {
	// optional is whether fields without a marker are optional.
	optional bool
	// name is that of the package; group and version are those of the markers +groupName and +versionName.
	name, group, version string
}

// typeSource is the comment of a type.
type typeSource struct {
	comment
	in *packageSource
	// fields by their Go names; an embedded field has the name of its type.
	fields map[string]comment
}

// comment is the text of a comment and its markers, in their order.
type comment struct {
	text  string
	marks []mark
}

// find returns the markers with a name.
func (c comment) find(name string) (out []mark) {
	for _, m := range c.marks {
		if m.name == name {
			out = append(out, m)
		}
	}
	return out
}

// Parse reads the Go packages in and below the root of files, whose import path is importPath. Tests, folders
// named testdata or vendor, and names that begin with a dot or an underscore are left out. The error joins
// those of all markers.
func Parse(files fs.FS, importPath string) (*Source, error) {
	s := &Source{types: map[string]*typeSource{}, packages: map[string]*packageSource{}}
	r := reader{source: s, set: token.NewFileSet()}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		hidden := base != "." && (base[0] == '.' || base[0] == '_')
		switch {
		case err != nil:
			return err
		case d.IsDir() && (hidden || base == "testdata" || base == "vendor"):
			return fs.SkipDir
		case d.IsDir() || hidden || path.Ext(base) != ".go" || strings.HasSuffix(base, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(r.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		r.file(file, path.Join(importPath, path.Dir(name)))
		return nil
	})
	if err = cmp.Or(err, errors.Join(r.errs...)); err != nil {
		return nil, fmt.Errorf("markers: %w", err)
	}
	return s, nil
}

// typeOf returns the comment of a type, nil for one that is not in the source.
func (s *Source) typeOf(t reflect.Type) *typeSource {
	name, _, _ := strings.Cut(t.Name(), "[")
	return s.types[t.PkgPath()+"."+name]
}

// reader fills a Source.
type reader struct {
	source *Source
	set    *token.FileSet
	errs   []error

	used map[*ast.CommentGroup]bool // comments of types and fields, in the current file
	all  []*ast.CommentGroup        // of the current file
}

func (r *reader) file(file *ast.File, importPath string) {
	in := r.source.packages[importPath]
	if in == nil {
		in = &packageSource{}
		r.source.packages[importPath] = in
	}
	in.name = file.Name.Name
	r.used, r.all = map[*ast.CommentGroup]bool{}, file.Comments
	after := file.Name.End()
	for _, decl := range file.Decls {
		if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			for _, spec := range g.Specs {
				spec := spec.(*ast.TypeSpec)
				doc, start := spec.Doc, spec.Pos()
				if !g.Lparen.IsValid() {
					doc, start = g.Doc, g.Pos()
				}
				r.source.types[importPath+"."+spec.Name.Name] = &typeSource{
					comment: r.comment(doc, start, after, ofType), in: in, fields: r.fields(spec.Type),
				}
				after = spec.End()
			}
		}
		after = decl.End()
	}
	for _, group := range file.Comments {
		if !r.used[group] {
			r.loose(group, in)
		}
	}
}

// fields returns the comments of a struct's fields.
func (r *reader) fields(t ast.Expr) map[string]comment {
	body, ok := t.(*ast.StructType)
	if !ok {
		return nil
	}
	out, after := map[string]comment{}, body.Fields.Opening
	for _, f := range body.Fields.List {
		c := r.comment(f.Doc, f.Pos(), after, ofField)
		for _, name := range f.Names {
			out[name.Name] = c
		}
		if len(f.Names) == 0 {
			out[embedded(f.Type)] = c
		}
		if after = f.End(); f.Comment != nil {
			r.trailing(f.Comment)
			after = f.Comment.End()
		}
	}
	return out
}

// embedded returns the name of an embedded field.
func embedded(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return embedded(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.IndexExpr:
		return embedded(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// comment returns the documentation doc of what begins at start, and its markers. Those in the last comment
// between after and the documentation, which an empty line separates from it, belong to it too.
func (r *reader) comment(doc *ast.CommentGroup, start, after token.Pos, place place) comment {
	out := comment{}
	if doc != nil {
		start = doc.Pos()
	}
	var above *ast.CommentGroup
	for _, group := range r.all {
		if group.Pos() > after && group.End() < start {
			above = group
		}
	}
	for _, group := range []*ast.CommentGroup{above, doc} {
		if group == nil {
			continue
		}
		r.used[group] = true
		for _, m := range r.marks(group) {
			if m.anywhere() {
				r.source.rest = append(r.source.rest, m)
			} else if r.allowed(m, place) {
				out.marks = append(out.marks, m)
			}
		}
	}
	out.text = textOf(doc)
	return out
}

// loose reads a comment that belongs to no type.
func (r *reader) loose(group *ast.CommentGroup, in *packageSource) {
	for _, m := range r.marks(group) {
		switch {
		case m.anywhere():
			r.source.rest = append(r.source.rest, m)
		case r.allowed(m, ofPackage):
			in.packageMark(m)
		}
	}
}

// trailing reports markers behind a field, where they have no effect.
func (r *reader) trailing(group *ast.CommentGroup) {
	r.used[group] = true
	for _, m := range r.marks(group) {
		r.errs = append(r.errs, m.errorf("a marker stands above its field"))
	}
}

func (r *reader) allowed(m mark, at place) bool {
	if m.def.places&at == 0 {
		r.errs = append(r.errs, m.errorf("the marker has no effect here: it belongs to %s", m.def.places))
		return false
	}
	return true
}

// marks returns the known markers of a comment.
func (r *reader) marks(group *ast.CommentGroup) (out []mark) {
	for _, c := range group.List {
		for i, line := range linesOf(c.Text) {
			if !isMarker(line) {
				continue
			}
			at := r.set.Position(c.Pos())
			at.Line += i
			m, err := parseMark(line[1:], at)
			if err != nil {
				r.errs = append(r.errs, err)
			} else if m.def != nil {
				out = append(out, m)
			}
		}
	}
	return out
}

// linesOf returns the lines of a comment without what makes them a comment.
func linesOf(text string) []string {
	if body, ok := strings.CutPrefix(text, "//"); ok {
		return []string{strings.TrimSpace(body)}
	}
	lines := strings.Split(strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

// isMarker reports whether a line is a plus and a word.
func isMarker(line string) bool {
	return len(line) > 1 && line[0] == '+' && (line[1] >= 'a' && line[1] <= 'z' || line[1] >= 'A' && line[1] <= 'Z')
}

// textOf returns the text of a comment without its markers, one line of text for each of the comment.
func textOf(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	rest := &ast.CommentGroup{List: slices.DeleteFunc(slices.Clone(group.List), func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//") && isMarker(linesOf(c.Text)[0])
	})}
	lines := strings.Split(strings.TrimRight(rest.Text(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	return strings.Join(lines, "\n")
}
