package keelson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/keelson-dev/keelson"

// folderMayImport lists, for each top-level folder, the other folders its packages may import.
var folderMayImport = map[string][]string{
	"apimachinery":   {},
	"workqueue":      {"apimachinery"},
	"client":         {"apimachinery"},
	"leaderelection": {"apimachinery"},
	"informers":      {"apimachinery", "client", "workqueue"},
	"store":          {"apimachinery", "workqueue"},
	"controllers":    {"apimachinery", "client", "informers", "workqueue", "leaderelection"},
	"examples":       {"apimachinery", "client", "informers", "workqueue", "leaderelection", "store", "controllers"},
}

// packageMayImport are the exceptions, by package.
var packageMayImport = map[string][]string{
	"leaderelection/leaselock":                   {"client"},
	"leaderelection/candidate":                   {"client"},
	"client/clienttest":                          {"store"},
	"controllers/controllertest":                 {"store"},
	"controllers/controllertest/internal/direct": {"store"},
	"store/internal/planetest":                   {"client"},
}

// mayImportUnsafe are the packages that import unsafe: one for all of apimachinery, and two outside it that
// view bytes as strings and hold weak pointers.
var mayImportUnsafe = []string{"apimachinery/internal/mem", "client/internal/scan", "informers"}

// codecMayImport lists, for each package below apimachinery/codec/internal, those beside it that it may
// import: plans know no encoding, the encodings do not know each other, and what combines them lies on top.
var codecMayImport = map[string][]string{
	"failure":   {},
	"arena":     {},
	"jsontext":  {"failure"},
	"plan":      {"arena", "failure", "jsontext"},
	"json":      {"arena", "failure", "jsontext", "plan"},
	"proto":     {"arena", "failure", "plan"},
	"deep":      {"arena", "failure", "plan"},
	"transcode": {"arena", "failure", "json", "jsontext", "plan", "proto"},
	"wire":      {"arena", "failure", "json", "jsontext", "proto"},
	"yaml":      {"failure", "jsontext"},
	"codectest": {},
}

// leaves are the packages workqueue and leaderelection may import from apimachinery.
var leaves = []string{"backoff", "fence", "intstr", "labels", "fields", "resource", "schema", "types", "validation"}

// forbidden modules must never be required by the root module: they live in nested ones.
var forbidden = []string{
	"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "sigs.k8s.io/controller-runtime", "go.etcd.io/etcd/server",
}

// TestTopLevelFolders: the folders at the top are fixed. What is new belongs below one of them.
func TestTopLevelFolders(t *testing.T) {
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		if _, ok := folderMayImport[e.Name()]; e.IsDir() && !ok && e.Name() != "docs" && !strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s is no top-level folder of this repository", e.Name())
		}
	}
}

type pkg struct {
	ImportPath, Dir, Name     string
	Imports                   []string
	TestGoFiles, XTestGoFiles []string
	Module                    *struct{ Path string }
}

func TestImportRules(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Imports,TestGoFiles,XTestGoFiles,Module", "./...").Output()
	require.NoError(t, err, "go list: %s", stderr(err))
	dec := json.NewDecoder(bytes.NewReader(out))
	seen := 0
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		seen++
		checkImports(t, p)
		checkExample(t, p)
	}
	require.Greater(t, seen, 40, "go list found too few packages")
}

// checkExample: every public package shows how it is used. The packages of API types have nothing but types.
func checkExample(t *testing.T, p pkg) {
	rel := strings.TrimPrefix(p.ImportPath, module+"/")
	if p.ImportPath == module || p.Name == "main" || strings.Contains(rel, "internal") || strings.HasPrefix(rel, "examples") || strings.HasPrefix(rel, "apimachinery/api/") {
		return
	}
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		require.NoError(t, err)
		if bytes.Contains(text, []byte("\nfunc Example")) {
			return
		}
	}
	require.Fail(t, "no runnable Example", rel)
}

func checkImports(t *testing.T, p pkg) {
	from := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	if from == "" {
		return
	}
	folder, _, _ := strings.Cut(from, "/")
	for _, bad := range []string{"pkg", "util", "utils", "common", "helpers"} {
		require.NotContains(t, strings.Split(from, "/"), bad, "a package says what it is for")
	}
	depth := strings.Count(from, "/") + 1
	limit := 2
	if strings.HasPrefix(from, "apimachinery/api/") || strings.HasPrefix(from, "controllers/builtin/") || strings.HasPrefix(from, "controllers/kubelet/") {
		limit = 3
	}
	if !strings.Contains("/"+from+"/", "/internal/") && folder != "examples" {
		require.LessOrEqual(t, depth, limit, "%s lies too deep for a public package", from)
	}
	for _, imp := range p.Imports {
		if imp == "unsafe" {
			require.Contains(t, mayImportUnsafe, from, "use apimachinery/internal/mem")
		}
		for _, bad := range forbidden {
			require.False(t, imp == bad || strings.HasPrefix(imp, bad+"/"), "%s imports %s, which belongs to a nested module", from, imp)
		}
		if !strings.HasPrefix(imp, module+"/") {
			continue
		}
		to := strings.TrimPrefix(imp, module+"/")
		target, _, _ := strings.Cut(to, "/")
		checkCodec(t, from, to)
		if target == folder {
			continue
		}
		require.Contains(t, slices.Concat(folderMayImport[folder], packageMayImport[from]), target, "%s may not import %s", from, to)
		if (folder == "workqueue" || from == "leaderelection") && target == "apimachinery" {
			require.Contains(t, leaves, path.Base(to), "%s imports %s, which is no leaf", from, to)
		}
	}
}

func checkCodec(t *testing.T, from, to string) {
	const dir = "apimachinery/codec/internal/"
	from, inside := strings.CutPrefix(from, dir)
	to, beside := strings.CutPrefix(to, dir)
	if !inside || !beside {
		return
	}
	allowed, known := codecMayImport[from]
	require.True(t, known, "%s%s has no rule in codecMayImport", dir, from)
	require.Contains(t, allowed, to, "%s%s may not import %s", dir, from, to)
}

// TestRootModuleStaysSmall keeps the heavy modules out of what users import.
func TestRootModuleStaysSmall(t *testing.T) {
	cmd := exec.Command("go", "mod", "edit", "-json")
	out, err := cmd.Output()
	require.NoError(t, err, "go mod edit: %s", stderr(err))
	var mod struct{ Require []struct{ Path string } }
	require.NoError(t, json.Unmarshal(out, &mod))
	for _, r := range mod.Require {
		for _, bad := range forbidden {
			require.False(t, r.Path == bad || strings.HasPrefix(r.Path, bad+"/"), "go.mod requires %s", r.Path)
		}
	}
}

func stderr(err error) string {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(e.Stderr)
	}
	return ""
}
