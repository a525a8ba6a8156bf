package explain_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/explain"
	"github.com/keelson-dev/keelson/apimachinery/internal/typefacts"
)

var rewrite = flag.Bool("rewrite", false, "rewrite texts/ from the comments of the types")

const module = "github.com/keelson-dev/keelson/"

// source is the packages whose types are objects of the API or parts of them, by the names of their text
// files.
func source(t *testing.T) map[string]string {
	t.Helper()
	folders := map[string]string{"metav1": "../../metav1"}
	types, err := filepath.Glob("../*/types.go")
	require.NoError(t, err)
	require.Greater(t, len(types), 20)
	for _, file := range types {
		folder := filepath.Dir(file)
		folders[filepath.Base(folder)] = folder
	}
	return folders
}

// comments writes the text file of one package, and returns the exported types and fields that have no
// comment.
func comments(t *testing.T, folder string) (text string, bare []string) {
	t.Helper()
	abs, err := filepath.Abs(folder)
	require.NoError(t, err)
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	rel, err := filepath.Rel(root, abs)
	require.NoError(t, err)
	w := writer{prefix: typefacts.PackageName(module+filepath.ToSlash(rel)) + "."}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, spec := range g.Specs {
					w.typeSpec(g, spec.(*ast.TypeSpec))
				}
			}
		}
	}
	return w.out.String(), w.bare
}

type writer struct {
	prefix string
	out    strings.Builder
	bare   []string
}

func (w *writer) typeSpec(g *ast.GenDecl, spec *ast.TypeSpec) {
	body, ok := spec.Type.(*ast.StructType)
	if !ok || !spec.Name.IsExported() || !onTheWire(body) {
		return
	}
	doc := oneLine(g.Doc)
	if doc == "" {
		w.bare = append(w.bare, spec.Name.Name)
	}
	fmt.Fprintf(&w.out, "%s%s: %s\n", w.prefix, spec.Name.Name, doc)
	for _, f := range body.Fields.List {
		w.field(spec.Name.Name, f)
	}
}

func (w *writer) field(typeName string, f *ast.Field) {
	name, options, tagged := jsonTag(f)
	if strings.Contains(options, "inline") || tagged && name == "" && len(f.Names) == 0 {
		fmt.Fprintf(&w.out, "\t+ %s\n", w.embedded(f.Type))
		return
	}
	if len(f.Names) == 0 || name == "-" || !f.Names[0].IsExported() {
		return
	}
	doc := oneLine(f.Doc)
	if doc == "" {
		w.bare = append(w.bare, typeName+"."+f.Names[0].Name)
		return
	}
	fmt.Fprintf(&w.out, "\t%s: %s\n", name, doc)
}

// embedded is the OpenAPI name of an embedded type.
func (w *writer) embedded(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return w.embedded(x.X)
	case *ast.SelectorExpr: // of the one package that the others embed from
		return typefacts.PackageName(module+"apimachinery/"+x.X.(*ast.Ident).Name) + "." + x.Sel.Name
	case *ast.Ident:
		return w.prefix + x.Name
	}
	panic(fmt.Sprintf("an embedded %T", x))
}

// onTheWire reports whether s is an API type: whether its fields have json tags.
func onTheWire(s *ast.StructType) bool {
	for _, f := range s.Fields.List {
		if _, _, ok := jsonTag(f); ok {
			return true
		}
	}
	return false
}

func jsonTag(f *ast.Field) (name, options string, ok bool) {
	if f.Tag == nil {
		return "", "", false
	}
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return "", "", false
	}
	value, ok := reflect.StructTag(tag).Lookup("json")
	name, options, _ = strings.Cut(value, ",")
	return name, options, ok
}

func oneLine(g *ast.CommentGroup) string { return strings.Join(strings.Fields(g.Text()), " ") }

// The texts are those of the source; every exported type and every field has one.
func TestTextsAreTheComments(t *testing.T) {
	folders := source(t)
	for name, folder := range folders {
		text, bare := comments(t, folder)
		require.Empty(t, bare, "%s: types and fields without a comment", name)
		file := filepath.Join("texts", name+".txt")
		if *rewrite {
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			continue
		}
		kept, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text, string(kept), "%s differs from the comments in %s; go test ./apimachinery/api/explain -rewrite rewrites it", file, folder)
	}
	kept, err := filepath.Glob("texts/*")
	require.NoError(t, err)
	require.Len(t, kept, len(folders), "a text file without a package")
}

// A comment says something: none repeats the name of its field and nothing else.
func TestCommentsSaySomething(t *testing.T) {
	for _, folder := range source(t) {
		text, _ := comments(t, folder)
		for line := range strings.Lines(text) {
			name, doc, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if !ok {
				continue
			}
			words := strings.ToLower(strings.Trim(strings.ReplaceAll(doc, " ", ""), "."))
			require.NotEqual(t, strings.ToLower(name), strings.TrimPrefix(strings.TrimPrefix(words, "the"), "a"), "%s says only its name", line)
		}
	}
}

func TestText(t *testing.T) {
	const core, meta = "io.k8s.api.core.v1.", "io.k8s.apimachinery.pkg.apis.meta.v1."
	for _, name := range []string{
		core + "Pod", core + "PodSpec", core + "Container", core + "Service", "io.k8s.api.apps.v1.Deployment", "io.k8s.api.batch.v1.CronJobSpec",
		meta + "ObjectMeta", meta + "LabelSelector", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", core + "PodList",
	} {
		require.NotEmpty(t, explain.Text(name, ""), name)
	}
	for _, f := range [][2]string{
		{core + "PodSpec", "containers"}, {core + "Pod", "kind"}, {core + "Pod", "apiVersion"}, {core + "Pod", "metadata"},
		{core + "Volume", "emptyDir"}, {core + "Probe", "httpGet"}, {core + "ConfigMapVolumeSource", "name"}, {core + "PodList", "items"},
		{"io.k8s.api.apps.v1.DeploymentSpec", "progressDeadlineSeconds"}, {meta + "ObjectMeta", "finalizers"},
		{"io.k8s.api.admissionregistration.v1.RuleWithOperations", "apiGroups"}, {"io.k8s.api.resource.v1.DeviceRequest", "firstAvailable"},
	} {
		require.NotEmpty(t, explain.Text(f[0], f[1]), f)
	}
	require.Empty(t, explain.Text(core+"Pod", "nope"))
	require.Empty(t, explain.Text("nope", ""))
	require.Contains(t, explain.Text(core+"PodSpec", "initContainers"), "keep running beside the others", "comments of several lines are joined")
}

// Only the server carries the texts.
func TestOnlyTheServerImportsIt(t *testing.T) {
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	list.Dir = "../../.."
	out, err := list.Output()
	require.NoError(t, err)
	var importers []string
	for line := range strings.Lines(string(out)) {
		importer, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(" "+imports+" ", " "+module+"apimachinery/api/explain ") {
			importers = append(importers, importer)
		}
	}
	require.Equal(t, []string{module + "store/apiserver"}, importers)
}

func ExampleText() {
	fmt.Println(explain.Text("io.k8s.api.core.v1.Lifecycle", "preStop"))
	// Output: Action taken before the container is ended because its pod is deleted or a probe failed; not if it ends on its own. The grace period starts before the action.
}
