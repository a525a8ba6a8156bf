package openapi_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
)

func readGzip(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	data, err := io.ReadAll(z)
	require.NoError(t, err)
	return data
}

type tree = map[string]any

func parse(t *testing.T, data []byte) tree {
	t.Helper()
	var v tree
	require.NoError(t, json.Unmarshal(data, &v))
	return v
}

// normal removes differences of form: a reference may be wrapped in allOf or stand alone.
func normal(v any) any {
	switch v := v.(type) {
	case tree:
		out := tree{}
		for k, c := range v {
			if k == "description" {
				if _, ok := c.(string); ok {
					continue
				}
			}
			out[k] = normal(c)
		}
		if all, ok := out["allOf"].([]any); ok && len(all) == 1 && len(all[0].(tree)) == 1 {
			if ref, ok := all[0].(tree)["$ref"]; ok {
				delete(out, "allOf")
				out["$ref"] = ref
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, c := range v {
			out[i] = normal(c)
		}
		return out
	}
	return v
}

// The schemas of every document are those of the real server, descriptions aside.
func TestSchemasAreUpstreams(t *testing.T) {
	docs := openapi.New(api.Scheme(), openapi.Options{})
	var wrong []string
	for file, want := range parse(t, readGzip(t, "testdata/schemas.json.gz")) {
		path := strings.ReplaceAll(file, "_", "/")
		doc, ok := docs.V3(path)
		require.True(t, ok, path)
		got := parse(t, doc.Body)["components"].(tree)["schemas"].(tree)
		require.Equal(t, slices.Sorted(maps.Keys(want.(tree))), slices.Sorted(maps.Keys(got)), path)
		for name, w := range want.(tree) {
			wrong = append(wrong, differences(path+" "+name, normal(w), normal(got[name]))...)
		}
	}
	require.Empty(t, wrong)
}

// differences lists the places where two JSON values differ.
func differences(path string, want, got any) []string {
	w, isMap := want.(tree)
	g, both := got.(tree)
	if !isMap || !both {
		if !reflect.DeepEqual(want, got) {
			return []string{fmt.Sprintf("%s: want %v, got %v", path, want, got)}
		}
		return nil
	}
	var out []string
	for k := range w {
		out = append(out, differences(path+"."+k, w[k], g[k])...)
	}
	for k := range g {
		if _, ok := w[k]; !ok {
			out = append(out, fmt.Sprintf("%s.%s: not wanted, got %v", path, k, g[k]))
		}
	}
	return out
}

// Every path and method of the real server is there, with its name, parameters, bodies and answers.
func TestPathsAreUpstreams(t *testing.T) {
	docs := openapi.New(api.Scheme(), openapi.Options{})
	got := map[string]string{}
	for path := range parse(t, docs.V3Index().Body)["paths"].(tree) {
		doc, ok := docs.V3(path)
		require.True(t, ok)
		for p, item := range parse(t, doc.Body)["paths"].(tree) {
			for method, op := range item.(tree) {
				if method != "parameters" {
					line := describe(strings.ToUpper(method), p, op.(tree))
					got[strings.Join(strings.SplitN(line, "\t", 3)[:2], " ")] = line
				}
			}
		}
	}
	lines := bufio.NewScanner(strings.NewReader(string(readGzip(t, "testdata/paths.tsv.gz"))))
	lines.Buffer(nil, 1<<20)
	want := map[string]string{}
	for lines.Scan() {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			want[strings.Join(strings.SplitN(line, "\t", 3)[:2], " ")] = line
		}
	}
	require.Greater(t, len(want), 800)
	for key, line := range want {
		require.Equal(t, line, got[key], key)
	}
	require.Equal(t, len(want), len(got))
}

func sorted(set tree) string { return strings.Join(slices.Sorted(maps.Keys(set)), ",") }

func schemaName(content tree) string {
	for _, c := range content {
		s := c.(tree)["schema"].(tree)
		if ref, ok := s["$ref"].(string); ok {
			return ref[strings.LastIndexByte(ref, '/')+1:]
		}
		return s["type"].(string)
	}
	return ""
}

func describe(method, path string, op tree) string {
	action, gvk, query, body := "-", "-", "-", "-"
	if a, ok := op["x-kubernetes-action"]; ok {
		k := op["x-kubernetes-group-version-kind"].(tree)
		action, gvk = a.(string), fmt.Sprintf("%s/%s/%s", k["group"], k["version"], k["kind"])
	}
	if params, ok := op["parameters"].([]any); ok {
		var names []string
		for _, p := range params {
			names = append(names, p.(tree)["name"].(string))
		}
		slices.Sort(names)
		query = strings.Join(names, ",")
	}
	if b, ok := op["requestBody"].(tree); ok {
		body = sorted(b["content"].(tree))
		if b["required"] == true {
			body += "!"
		}
		body += " " + schemaName(b["content"].(tree))
	}
	var codes []string
	produces := ""
	for _, code := range slices.Sorted(maps.Keys(op["responses"].(tree))) {
		r := op["responses"].(tree)[code].(tree)
		if content, ok := r["content"].(tree); ok {
			code += "=" + schemaName(content)
			produces = sorted(content)
		}
		codes = append(codes, code)
	}
	return strings.Join([]string{method, path, op["operationId"].(string), action, gvk, query, body, strings.Join(codes, ";"), produces}, "\t")
}

func BenchmarkV3CoreDocument(b *testing.B) {
	for b.Loop() {
		docs := openapi.New(api.Scheme(), openapi.Options{})
		docs.V3("api/v1")
	}
}

func BenchmarkV2Proto(b *testing.B) {
	for b.Loop() {
		docs := openapi.New(api.Scheme(), openapi.Options{})
		b.SetBytes(int64(len(docs.V2Proto().Body)))
	}
}
