package keelson_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata from the source")

// maxColumns is the width of comments and of prose. A tab counts four.
const maxColumns = 110

// leftovers is the golden file of what the rules below still find: a line "RULE FILE COUNT" each. It may only
// shrink.
const leftovers = ".ci/style.txt"

// TestStyle holds the rules of CONTRIBUTING.md that no linter of .golangci.yml checks. Each rule counts what
// it finds in a file; more than the golden file allows is an error, and less is one too, so that the golden
// file follows:
//
//	go test . -run TestStyle -update
//
// -update accepts no growth.
func TestStyle(t *testing.T) {
	found := findings{}
	for _, dir := range sourceDirs(t) {
		files := parseDir(t, dir)
		checkSleeps(found, files)
		checkTests(found, dir, files)
		for _, f := range files {
			checkWidth(found, f)
			checkLogKeys(found, f)
			checkMessages(found, f)
			checkContexts(found, f)
			checkTestLength(found, f)
			checkComments(found, f)
			checkWords(found, f)
		}
	}
	for _, name := range markdownFiles(t) {
		checkProse(t, found, name)
	}
	allowed := readFindings(t)
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if f, n := found[key], len(allowed[key]); len(f) > n {
			t.Errorf("%s: %d, and %s allows %d:\n\t%s", key, len(f), leftovers, n, strings.Join(f, "\n\t"))
		}
	}
	if *update {
		if !t.Failed() {
			require.NoError(t, os.WriteFile(leftovers, found.bytes(), 0o644))
		}
		return
	}
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		if len(found[key]) < len(allowed[key]) {
			t.Errorf("%s: %d instead of the %d of %s: run this test with -update", key, len(found[key]), len(allowed[key]), leftovers)
		}
	}
}

// findings are the places that break a rule, by "RULE FILE".
type findings map[string][]string

func (f findings) add(rule, file, format string, args ...any) {
	key := rule + " " + file
	f[key] = append(f[key], fmt.Sprintf(format, args...))
}

func (f findings) bytes() []byte {
	var out bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintln(&out, key, len(f[key]))
	}
	return out.Bytes()
}

func readFindings(t *testing.T) map[string][]string {
	text, err := os.ReadFile(leftovers)
	require.NoError(t, err)
	allowed := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cut := strings.LastIndexByte(line, ' ')
		n, err := strconv.Atoi(strings.TrimSpace(line[cut+1:]))
		require.NoError(t, err)
		allowed[line[:cut]] = make([]string, n)
	}
	return allowed
}

// sourceFile is one parsed Go file.
type sourceFile struct {
	name  string // relative to the root, with slashes
	lines []string
	set   *token.FileSet
	ast   *ast.File
}

func (f *sourceFile) line(p token.Pos) int { return f.set.Position(p).Line }
func (f *sourceFile) isTest() bool         { return strings.HasSuffix(f.name, "_test.go") }

// sourceDirs are all folders with Go files of our own, the nested modules' too.
func sourceDirs(t *testing.T) []string {
	var dirs []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "testdata" || name == ".git" {
				return filepath.SkipDir
			}
			if matches, _ := filepath.Glob(filepath.Join(path, "*.go")); len(matches) > 0 {
				dirs = append(dirs, path)
			}
		}
		return nil
	}))
	return dirs
}

func parseDir(t *testing.T, dir string) []*sourceFile {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	var files []*sourceFile
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments)
		require.NoError(t, err)
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		files = append(files, &sourceFile{name: filepath.ToSlash(name), lines: strings.Split(string(text), "\n"), set: set, ast: file})
	}
	return files
}

func columns(line string) int { return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) }

// checkWidth: comments are read in a window that shows code beside code. Directives, markers, addresses and
// the output of Examples cannot be wrapped.
func checkWidth(found findings, f *sourceFile) {
	for _, group := range f.ast.Comments {
		if text := group.Text(); f.isTest() && (strings.HasPrefix(text, "Output:") || strings.HasPrefix(text, "Unordered output:")) {
			continue
		}
		for n := f.line(group.Pos()); n <= f.line(group.End()); n++ {
			line := f.lines[n-1]
			if columns(line) > maxColumns && !strings.Contains(line, "//go:") && !strings.Contains(line, "//nolint:") && !strings.Contains(line, "// +kubebuilder:") && !strings.Contains(line, "://") {
				found.add("width", f.name, "%s:%d is %d columns wide", f.name, n, columns(line))
			}
		}
	}
}

var logMethods = map[string]bool{
	"Debug": true, "Info": true, "Warn": true, "Error": true, "Log": true, "LogAttrs": true, "With": true, "Any": true,
	"DebugContext": true, "InfoContext": true, "WarnContext": true, "ErrorContext": true, "String": true,
}

// checkLogKeys: an error has the key "err" in every log.
func checkLogKeys(found findings, f *sourceFile) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && logMethods[sel.Sel.Name] {
			for _, arg := range call.Args {
				if lit, ok := arg.(*ast.BasicLit); ok && lit.Value == `"error"` {
					found.add("logkey", f.name, "%s:%d logs with the key error instead of err", f.name, f.line(lit.Pos()))
				}
			}
		}
		return true
	})
}

// checkMessages: errors and log messages are in the terms of the documentation.
func checkMessages(found findings, f *sourceFile) {
	if f.isTest() {
		return
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, _ := sel.X.(*ast.Ident)
		isError := x != nil && (x.Name == "errors" && sel.Sel.Name == "New" || x.Name == "fmt" && sel.Sel.Name == "Errorf")
		if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING && (isError || logMethods[sel.Sel.Name]) {
			for _, word := range dialect.FindAllString(lit.Value, -1) {
				found.add("messages", f.name, "%s:%d says %q", f.name, f.line(lit.Pos()), word)
			}
		}
		return true
	})
}

// maxTestLines is the length of a test function in lines, its tables of cases not counted. A longer one has
// several scenarios and stops at the first failure, where subtests would report each.
const maxTestLines = 80

// checkTestLength: see maxTestLines.
func checkTestLength(found findings, f *sourceFile) {
	if !f.isTest() {
		return
	}
	for _, fn := range functions(f) {
		n := f.line(fn.End()) - f.line(fn.Pos()) + 1
		ast.Inspect(fn.Body, func(node ast.Node) bool {
			table, ok := node.(*ast.CompositeLit)
			if ok {
				n -= f.line(table.End()) - f.line(table.Pos())
			}
			return !ok
		})
		if n > maxTestLines {
			found.add("long", f.name, "%s:%d %s has %d lines", f.name, f.line(fn.Pos()), fn.Name.Name, n)
		}
	}
}

// checkContexts: a context is a parameter. What outlives a call has a Run with a context of its own.
func checkContexts(found findings, f *sourceFile) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		s, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range s.Fields.List {
			if sel, ok := field.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "context" {
					found.add("context", f.name, "%s:%d keeps a context in a struct", f.name, f.line(field.Pos()))
				}
			}
		}
		return true
	})
}

// checkSleeps: a test waits on virtual time. A sleep counts as virtual if it stands in a call of
// synctest.Test, or of a function of the package's tests that calls synctest.Test, or in a declaration that
// only such code names. A method counts as named if both it and its type are.
func checkSleeps(found findings, files []*sourceFile) {
	files = slices.DeleteFunc(slices.Clone(files), func(f *sourceFile) bool { return !f.isTest() })
	bubbles := bubbleStarters(files)
	var waiting []declaration
	for _, f := range files {
		waiting = append(waiting, declarations(f)...)
	}
	named := map[string]bool{} // identifiers outside of bubbles
	for changed := true; changed; {
		changed = false
		waiting = slices.DeleteFunc(waiting, func(d declaration) bool {
			if !d.runs() && !(named[d.name] && (d.receiver == "" || named[d.receiver])) {
				return false
			}
			ast.Inspect(d.node, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if callsBubble(n, bubbles) {
						return false
					}
					if isCall(n, "time", "Sleep") {
						found.add("sleep", d.file.name, "%s:%d sleeps in real time", d.file.name, d.file.line(n.Pos()))
					}
				case *ast.Ident:
					named[n.Name] = true
				}
				return true
			})
			changed = true
			return true
		})
	}
}

// declaration is a function, method, type, variable or constant at the top level of a file.
type declaration struct {
	file     *sourceFile
	name     string
	receiver string // of a method: the name of its type
	node     ast.Node
}

// runs reports whether the declaration is not called by name: tests and initialization.
func (d declaration) runs() bool {
	return d.receiver == "" && (d.name == "init" || d.name == "_" || slices.ContainsFunc([]string{"Test", "Benchmark", "Fuzz", "Example"}, func(prefix string) bool {
		return strings.HasPrefix(d.name, prefix)
	}))
}

func declarations(f *sourceFile) []declaration {
	var out []declaration
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			out = append(out, declaration{f, d.Name.Name, receiver(d), d})
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					out = append(out, declaration{f, s.Name.Name, "", s})
				case *ast.ValueSpec:
					for _, name := range s.Names {
						out = append(out, declaration{f, name.Name, "", s})
					}
				}
			}
		}
	}
	return out
}

// receiver returns the name of the type of a method's receiver, "" for a function.
func receiver(d *ast.FuncDecl) string {
	name := ""
	if d.Recv != nil {
		ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && name == "" {
				name = id.Name
			}
			return name == ""
		})
	}
	return name
}

// bubbleStarters are the functions that start a bubble for the code that they are called with, themselves or
// by another one.
func bubbleStarters(files []*sourceFile) map[string]bool {
	bubbles := map[string]bool{}
	for changed := true; changed; {
		changed = false
		for _, f := range files {
			for _, fn := range functions(f) {
				name := fn.Name.Name
				if !bubbles[name] && fn.Type.Params.NumFields() > 1 && startsBubble(fn.Body, bubbles) {
					bubbles[name], changed = true, true
				}
			}
		}
	}
	return bubbles
}

// isCall reports whether a call is of a package's function.
func isCall(call *ast.CallExpr, pkg, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, _ := sel.X.(*ast.Ident)
	return x != nil && x.Name == pkg && sel.Sel.Name == name
}

func functions(f *sourceFile) []*ast.FuncDecl {
	var out []*ast.FuncDecl
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			out = append(out, fn)
		}
	}
	return out
}

// startsBubble reports whether code calls synctest.Test or one of the functions that are known to start a
// bubble.
func startsBubble(n ast.Node, bubbles map[string]bool) bool {
	starts := false
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && callsBubble(call, bubbles) {
			starts = true
		}
		return !starts
	})
	return starts
}

func callsBubble(call *ast.CallExpr, bubbles map[string]bool) bool {
	switch fn := call.Fun.(type) {
	case *ast.Ident:
		return bubbles[fn.Name]
	case *ast.SelectorExpr:
		return isCall(call, "synctest", "Test") || bubbles[fn.Sel.Name]
	}
	return false
}

var namesTests = regexp.MustCompile(`(?i)\btest(s|ed|ing)?\b`)

// checkTests: the tests of a library package are in its folder, or its documentation says where they are.
func checkTests(found findings, dir string, files []*sourceFile) {
	var doc strings.Builder
	code, test := 0, false
	for _, f := range files {
		if f.ast.Name.Name == "main" {
			return // programs are run by .ci/walks
		}
		if f.isTest() {
			test = test || slices.ContainsFunc(functions(f), func(fn *ast.FuncDecl) bool {
				return strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Fuzz") || strings.HasPrefix(fn.Name.Name, "Example")
			})
			continue
		}
		doc.WriteString(f.ast.Doc.Text())
		code += len(functions(f))
	}
	if code > 0 && !test && !namesTests.MatchString(doc.String()) {
		found.add("tests", filepath.ToSlash(dir), "%s has no tests, and its documentation does not say where they are", dir)
	}
}

// banned are words that no comment uses, nor documentation and messages: each has a plainer or more precise
// term, such as report, notify, forever, again, another client, legacy or fix.
const banned = `told|tells?|telling|anew|nobody|somebody|anybody|whoever|of old|for ever|mend(s|ed|ing|able)?|lest|(has|have|had) its way`

var bannedWords = regexp.MustCompile(`(?i)\b(` + banned + `)\b`)

// dialect are the words that documentation and messages do not use: the banned ones, and verbs that a comment
// may need in their plain sense.
var dialect = regexp.MustCompile(`(?i)\b(` + banned + `|is no more|are no more|spares|borne|comes? of it|takes? apart|taken apart|` +
	`what is to be had|to be had|not to be had|is asked|are asked|asks? (for|the|a|an|every|it|them)|people)\b`)

// checkComments: no comment uses a banned word, in tests neither.
func checkComments(found findings, f *sourceFile) {
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			for i, line := range strings.Split(c.Text, "\n") {
				for _, word := range bannedWords.FindAllString(line, -1) {
					found.add("comments", f.name, "%s:%d says %q", f.name, f.line(c.Pos())+i, word)
				}
			}
		}
	}
}

// checkWords: what godoc shows is written in the terms of the standard library and of Kubernetes.
func checkWords(found findings, f *sourceFile) {
	if f.isTest() {
		return
	}
	check := func(doc *ast.CommentGroup) {
		if doc == nil {
			return
		}
		for _, c := range doc.List {
			for i, line := range strings.Split(c.Text, "\n") {
				for _, word := range dialect.FindAllString(line, -1) {
					found.add("words", f.name, "%s:%d says %q", f.name, f.line(c.Pos())+i, word)
				}
			}
		}
	}
	check(f.ast.Doc)
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d) {
				check(d.Doc)
			}
		case *ast.GenDecl:
			check(d.Doc)
			for _, spec := range d.Specs {
				checkSpec(check, spec)
			}
		}
	}
}

func checkSpec(check func(*ast.CommentGroup), spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		if s.Names[0].IsExported() {
			check(s.Doc)
			check(s.Comment)
		}
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return
		}
		check(s.Doc)
		check(s.Comment)
		var fields *ast.FieldList
		switch typ := s.Type.(type) {
		case *ast.StructType:
			fields = typ.Fields
		case *ast.InterfaceType:
			fields = typ.Methods
		default:
			return
		}
		for _, field := range fields.List {
			if len(field.Names) == 0 || field.Names[0].IsExported() {
				check(field.Doc)
				check(field.Comment)
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	exported := true
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			exported = id.IsExported()
			return false
		}
		return true
	})
	return exported
}

// checkProse: the width holds for Markdown too, but for tables, code and lines that are one link.
func checkProse(t *testing.T, found findings, name string) {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	code := false
	for i, line := range strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if code || strings.HasPrefix(strings.TrimSpace(line), "|") || strings.Contains(line, "](") {
			continue
		}
		if columns(line) > maxColumns {
			found.add("prose", name, "%s:%d is %d columns wide", name, i+1, columns(line))
		}
	}
}

// markdownFiles are all documents of the repository.
func markdownFiles(t *testing.T) []string {
	var names []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".md") {
			names = append(names, filepath.ToSlash(path))
		}
		return err
	}))
	return names
}
