package keelson_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stable are the packages whose exported API is kept in docs/api, one file each.
var stable = []string{
	"apimachinery/apierrors", "apimachinery/codec", "apimachinery/diff", "apimachinery/fields", "apimachinery/intstr", "apimachinery/labels",
	"apimachinery/managedfields", "apimachinery/manifest", "apimachinery/markers", "apimachinery/metav1", "apimachinery/openapi", "apimachinery/patch", "apimachinery/readiness",
	"apimachinery/resource",
	"apimachinery/schema", "apimachinery/scheme", "apimachinery/types",
	"client", "client/applyset", "client/clienttest", "client/discovery", "client/dynamic", "client/events", "client/kubeconfig", "client/objects",
	"client/rest", "client/stream", "client/wait",
	"informers", "workqueue", "leaderelection", "leaderelection/leaselock",
	"store", "store/apiserver", "store/controlplane", "store/storetest",
	"controllers", "controllers/controller", "controllers/controllertest", "controllers/health", "controllers/manager",
	"controllers/metrics", "controllers/reconcile", "controllers/webhook",
}

// TestExportedAPI compares what the stable packages export with docs/api, so that a change of it shows in
// review:
//
//	go test . -run TestExportedAPI -update
func TestExportedAPI(t *testing.T) {
	want := map[string]bool{}
	for _, dir := range stable {
		name := filepath.Join("docs", "api", strings.ReplaceAll(dir, "/", "_")+".txt")
		want[name] = true
		got := exportedAPI(t, dir)
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(t, os.WriteFile(name, got, 0o644))
			continue
		}
		golden, err := os.ReadFile(name)
		require.NoError(t, err)
		if added, removed := difference(golden, got); len(added)+len(removed) > 0 {
			t.Errorf("%s exports something else than %s says (note it in CHANGELOG.md, then run this test with -update)\n%s%s",
				dir, name, prefixed("- ", removed), prefixed("+ ", added))
		}
	}
	files, err := filepath.Glob("docs/api/*.txt")
	require.NoError(t, err)
	for _, name := range files {
		if !want[filepath.Clean(name)] {
			t.Errorf("%s belongs to no stable package", name)
		}
	}
}

// exportedAPI prints the exported declarations of a package as it is built on Linux, without comments,
// sorted.
func exportedAPI(t *testing.T, dir string) []byte {
	platform := build.Default
	platform.GOOS, platform.GOARCH = "linux", "amd64"
	pkg, err := platform.ImportDir(dir, 0)
	require.NoError(t, err)
	var decls []string
	set := token.NewFileSet()
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.FileExports(file)
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if exportedReceiver(d) {
					d.Body = nil
					decls = append(decls, printed(t, set, d))
				}
			case *ast.GenDecl:
				if d.Tok == token.CONST { // the members of a block depend on each other
					decls = append(decls, printed(t, set, d))
					continue
				}
				for _, spec := range d.Specs {
					if _, isImport := spec.(*ast.ImportSpec); !isImport {
						decls = append(decls, printed(t, set, &ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{spec}}))
					}
				}
			}
		}
	}
	slices.Sort(decls)
	return []byte(strings.Join(decls, ""))
}

func printed(t *testing.T, set *token.FileSet, d ast.Decl) string {
	var out bytes.Buffer
	require.NoError(t, format.Node(&out, set, d))
	var kept []string
	for line := range strings.Lines(out.String()) { // removed comments and fields leave empty lines
		if line = strings.TrimRight(line, " \n"); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n") + "\n"
}

// difference returns the lines that one text has and the other has not.
func difference(a, b []byte) (added, removed []string) {
	count := map[string]int{}
	for line := range strings.Lines(string(a)) {
		count[line]++
	}
	for line := range strings.Lines(string(b)) {
		if count[line]--; count[line] < 0 {
			added = append(added, line)
		}
	}
	for line := range strings.Lines(string(a)) {
		if count[line] > 0 {
			count[line]--
			removed = append(removed, line)
		}
	}
	return added, removed
}

func prefixed(mark string, lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		fmt.Fprint(&out, mark, line)
	}
	return out.String()
}
