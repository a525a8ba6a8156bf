package interop

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// All exported names of controller-runtime, and the names of client-go that testdata/clientgo_names.txt has
// from public operators, are in the left-hand columns of docs/upstream-names.md, and nothing else is: a name
// that upstream does not have any more has no row.
func TestUpstreamNamesHaveRows(t *testing.T) {
	text, err := os.ReadFile("../../docs/upstream-names.md")
	require.NoError(t, err)
	first, second, ok := strings.Cut(string(text), "\n## client-go\n")
	require.True(t, ok)

	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/controller-runtime").Output()
	require.NoError(t, err)
	names := exportedNames(t, strings.TrimSpace(string(dir)), "ctrl")
	require.Greater(t, len(names), 400)
	require.Equal(t, names, rowNames(first), "controller-runtime")

	list, err := os.ReadFile("testdata/clientgo_names.txt")
	require.NoError(t, err)
	names = nil
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			folder, name, _ := strings.Cut(line, " ")
			names = append(names, path.Base(folder)+"."+name)
		}
	}
	slices.Sort(names)
	require.Greater(t, len(names), 90)
	require.Equal(t, slices.Compact(names), rowNames(second), "client-go")
}

// rowNames returns the sorted names in the left-hand cells of tables.
func rowNames(text string) []string {
	var names []string
	span := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(text) {
		if left, _, ok := strings.Cut(line, " | "); ok && strings.HasPrefix(left, "| `") {
			for _, m := range span.FindAllStringSubmatch(left, -1) {
				names = append(names, m[1])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// exportedNames returns the sorted names that importers of a module can use, qualified by the last element of
// the package's path, by root for that of the module.
func exportedNames(t *testing.T, dir, root string) []string {
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != dir && slices.Contains([]string{"internal", "testdata", "examples", "hack", "designs", "tools"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := filepath.Base(filepath.Dir(file))
		if filepath.Dir(file) == dir {
			pkg = root
		}
		for _, decl := range parsed.Decls {
			for _, name := range declared(decl) {
				if name.IsExported() {
					names = append(names, pkg+"."+name.Name)
				}
			}
		}
		return nil
	}))
	slices.Sort(names)
	return slices.Compact(names)
}

// declared returns the names that a declaration adds to its package.
func declared(decl ast.Decl) (names []*ast.Ident) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return names
}
