package manifest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

const stream = `# a comment
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {n: "1"}}
data:
  text: |
    --- no separator
    ...
---
---
{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}
{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}, "n": 9007199254740993}
--- {}
---
apiVersion: v1
kind: List
items:
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d}}
- apiVersion: v1
  kind: ConfigMapList
  items:
  - metadata: {name: e}
- {apiVersion: v1, kind: Namespace, metadata: {name: f}}
`

func names(objs []*metav1.Unstructured) (out []string) {
	for _, obj := range objs {
		out = append(out, obj.Kind+"/"+obj.Name)
	}
	return out
}

func TestRead(t *testing.T) {
	objs, err := manifest.Read(iotest.OneByteReader(strings.NewReader(stream)), "s")
	require.NoError(t, err)
	require.Equal(t, []string{"ConfigMap/a", "Secret/b", "Secret/c", "CustomResourceDefinition/d", "ConfigMap/e", "Namespace/f"}, names(objs))
	require.Equal(t, "v1", objs[4].APIVersion)
	require.Equal(t, int64(9007199254740993), objs[2].Fields["n"])
	manifest.Sort(objs)
	require.Equal(t, []string{"CustomResourceDefinition/d", "Namespace/f", "ConfigMap/a", "Secret/b", "Secret/c", "ConfigMap/e"}, names(objs))
	for range manifest.All(strings.NewReader(stream), "s") {
		break
	}
	crlf, err := manifest.Read(strings.NewReader("\ufeff"+strings.ReplaceAll(stream, "\n", "\r\n")), "s")
	require.NoError(t, err)
	require.Len(t, crlf, 6)
}

// Every error names the file, the document and the line of the mistake.
func TestReadErrors(t *testing.T) {
	good := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for text, want := range map[string]string{
		good + "---\n\n# why\nkind: ConfigMap\nmetadata: {name: b}\n":                  `f.yaml:7 (document 2): the object "b" has no apiVersion or no kind`,
		good + "---\napiVersion: v1\nkind: [\n":                                        "f.yaml:6 (document 2): yaml: did not find expected node content",
		good + "---\n- a\n":                                                            "f.yaml:5 (document 2): the document is not an object",
		good + "data: {}\nmetadata: {}\n":                                              `f.yaml:5 (document 1): key "metadata" already set in map`,
		good + "---\n{\"apiVersion\": \"v1\",\n\"kind\": \"ConfigMap\"}\n\n{\"a\"\n}":  "f.yaml:9 (document 2): invalid character",
		"apiVersion: v1\nkind: List\nitems:\n- {kind: A, apiVersion: v1}\n- {kind: B}": `f.yaml:1 (document 1): items[1]: the object "" has no apiVersion or no kind`,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, lables: {}}\n":           `f.yaml:1 (document 1): unknown field "metadata.lables"`,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 7}\n":                       "f.yaml:1 (document 1): ",
		good + "---\n" + strings.Repeat("#", 17<<20):                                   "f.yaml:4 (document 2): ",
	} {
		_, err := manifest.Read(strings.NewReader(text), "f.yaml")
		require.ErrorContains(t, err, want)
		var place *manifest.Error
		require.ErrorAs(t, err, &place)
		require.Equal(t, "f.yaml", place.File)
	}
	boom := errors.New("boom")
	_, err := manifest.Read(io.MultiReader(strings.NewReader(good), iotest.ErrReader(boom)), "f.yaml")
	require.ErrorIs(t, err, boom)
}

func TestReadFS(t *testing.T) {
	one := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n")}
	}
	files := fstest.MapFS{"b.yml": one("b"), "a/x.yaml": one("x"), "a/y.json": {Data: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"y"}}`)}, "README.md": one("no")}
	objs, err := manifest.ReadFS(files)
	require.NoError(t, err)
	require.Equal(t, []string{"ConfigMap/x", "Secret/y", "ConfigMap/b"}, names(objs))
	files["c/bad.yaml"] = &fstest.MapFile{Data: []byte("kind: x\n")}
	_, err = manifest.ReadFS(files)
	require.ErrorContains(t, err, "c/bad.yaml:1")
}

func TestParse(t *testing.T) {
	obj, err := manifest.Parse([]byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}"))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"data": map[string]any{"k": "v"}}, obj.Fields)
	_, err = manifest.Parse([]byte(stream))
	require.ErrorContains(t, err, "6 objects")
	_, err = manifest.Parse(nil)
	require.ErrorContains(t, err, "0 objects")
}

func TestConversions(t *testing.T) {
	tree := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "labels": map[string]string{"x": "y"}}, "data": map[string]any{"n": "1"}}
	u, err := manifest.FromMap(tree)
	require.NoError(t, err)
	require.Equal(t, "y", u.Labels["x"])
	tree["data"].(map[string]any)["n"] = "changed"
	require.Equal(t, map[string]any{"n": "1"}, u.Fields["data"], "nothing is shared")
	back, err := manifest.ToMap(u)
	require.NoError(t, err)
	require.Equal(t, "a", back["metadata"].(map[string]any)["name"])
	_, err = manifest.FromMap(map[string]any{"metadata": map[string]any{"name": "a"}})
	require.ErrorContains(t, err, `"a" has no apiVersion or no kind`)
	_, err = manifest.FromMap(map[string]any{"kind": "A", "apiVersion": "v1", "f": func() {}})
	require.Error(t, err)

	s := api.Scheme()
	typed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}}
	u, err = manifest.FromObject(s, typed)
	require.NoError(t, err)
	require.Equal(t, metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, u.TypeMeta)
	require.Empty(t, typed.Kind, "the object is only read")
	_, err = manifest.FromObject(scheme.New(), typed)
	require.True(t, scheme.IsUnregistered(err), "%v", err)
	require.Equal(t, "Deployment", manifest.KindOf(s, &appsv1.Deployment{}).Kind)
	require.Zero(t, manifest.KindOf(nil, &appsv1.Deployment{}))
}

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}}
	d.Name = "web"
	cm := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, Data: map[string]string{"k": "v"}}
	require.NoError(t, manifest.Write(&b, d, cm))
	require.Contains(t, b.String(), "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n")
	require.NotContains(t, b.String(), "status")
	objs, err := manifest.Read(&b, "")
	require.NoError(t, err)
	require.Equal(t, []string{"Deployment/web", "ConfigMap/"}, names(objs))
	require.ErrorContains(t, manifest.Write(&b, &corev1.ConfigMap{}), "has no apiVersion or no kind")
}

// Anything that can be read can be written and read again, and is the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(stream))
	f.Add([]byte("kind: List\nitems: [{kind: A, apiVersion: v1}]\napiVersion: v1"))
	f.Add([]byte("{}\n{\"kind\":\"A\",\"apiVersion\":\"v1\"}{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		objs, err := manifest.Read(bytes.NewReader(text), "f")
		if err != nil {
			_ = err.Error()
			return
		}
		var b bytes.Buffer
		list := make([]metav1.Object, len(objs))
		for i, obj := range objs {
			delete(obj.Fields, "status") // an empty one is not written
			if strings.HasSuffix(obj.Kind, "List") {
				return // an object called a list without items
			}
			list[i] = obj
		}
		require.NoError(t, manifest.Write(&b, list...))
		again, err := manifest.Read(&b, "f")
		require.NoError(t, err)
		require.Equal(t, names(objs), names(again))
	})
}

func ExampleRead() {
	objs, err := manifest.Read(strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n"), "app.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	manifest.Sort(objs)
	for _, obj := range objs {
		fmt.Println(obj.Kind, obj.Name)
	}
	_, err = manifest.Read(strings.NewReader("kind: ConfigMap\nmetadata: {name: a}\n"), "app.yaml")
	fmt.Println(err)
	// Output:
	// Namespace b
	// ConfigMap a
	// manifest: app.yaml:1 (document 1): the object "a" has no apiVersion or no kind
}
