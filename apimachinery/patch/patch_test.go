package patch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/patch"
)

// object has a field for every way of merging.
type object struct {
	Meta `json:",inline"`
	Spec spec `json:"spec"`
}

type Meta struct {
	Labels     map[string]string `json:"labels,omitempty"`
	Finalizers []string          `json:"finalizers,omitempty" patchStrategy:"merge"`
}

type spec struct {
	Containers []container `json:"containers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Strategy   *strategy   `json:"strategy,omitempty" patchStrategy:"retainKeys"`
	Volumes    []*volume   `json:"volumes,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name"`
	Whole      *strategy   `json:"whole,omitempty" patchStrategy:"replace"`
	Args       []string    `json:"args,omitempty"`
	Replicas   *int        `json:"replicas,omitempty"`
	Raw        raw         `json:"raw,omitempty"`
	Parent     *object     `json:"parent,omitempty"`
	Keyless    []strategy  `json:"keyless,omitempty" patchStrategy:"merge"`
}

type container struct {
	Name  string            `json:"name"`
	Image string            `json:"image,omitempty"`
	Ports []port            `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Env   map[string]string `json:"env,omitempty"`
}

type port struct {
	Port int    `json:"port"`
	Name string `json:"name,omitempty"`
}

type strategy struct {
	Type    string         `json:"type,omitempty"`
	Rolling map[string]int `json:"rolling,omitempty"`
	Data    map[string]int `json:"data,omitempty"`
}

type volume struct {
	Name  string `json:"name"`
	Empty any    `json:"empty,omitempty"`
	Host  any    `json:"host,omitempty"`
}

type raw struct{ Bytes []byte }

func (raw) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }

var objectType = reflect.TypeFor[*object]()

func TestStrategic(t *testing.T) {
	for name, c := range map[string]struct{ doc, patch, want string }{
		"scalars and maps merge": {
			`{"labels":{"a":"1","b":"2"},"spec":{"replicas":1}}`, `{"labels":{"b":null,"c":"3"},"spec":{"replicas":2}}`,
			`{"labels":{"a":"1","c":"3"},"spec":{"replicas":2}}`},
		"lists without a strategy are replaced": {
			`{"spec":{"args":["a","b"]}}`, `{"spec":{"args":["c"]}}`, `{"spec":{"args":["c"]}}`},
		"lists merge by key, new elements first": {
			`{"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"}]}}`,
			`{"spec":{"containers":[{"name":"b","image":"3"},{"name":"c"}]}}`,
			`{"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"3"},{"name":"c"}]}}`},
		"lists merge inside lists, keys may be numbers": {
			`{"spec":{"containers":[{"name":"a","ports":[{"port":80},{"port":81,"name":"x"}]}]}}`,
			`{"spec":{"containers":[{"name":"a","ports":[{"port":81,"name":null},{"port":82.0}]}]}}`,
			`{"spec":{"containers":[{"name":"a","ports":[{"port":80},{"port":81},{"port":82.0}]}]}}`},
		"primitive lists merge as sets": {
			`{"finalizers":["a","b"]}`, `{"finalizers":["b","c","c"]}`, `{"finalizers":["a","b","c"]}`},
		"primitives are deleted": {
			`{"finalizers":["a","b","c"]}`, `{"$deleteFromPrimitiveList/finalizers":["b","x"]}`, `{"finalizers":["a","c"]}`},
		"deleting primitives of a missing list": {
			`{}`, `{"$deleteFromPrimitiveList/finalizers":["b"]}`, `{}`},
		"an element is deleted": {
			`{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`, `{"spec":{"containers":[{"$patch":"delete","name":"a"}]}}`,
			`{"spec":{"containers":[{"name":"b"}]}}`},
		"an element is deleted and added anew": {
			`{"spec":{"containers":[{"name":"a","image":"1","env":{"x":"y"}}]}}`,
			`{"spec":{"containers":[{"$patch":"delete","name":"a"},{"name":"a","image":"2"}]}}`,
			`{"spec":{"containers":[{"name":"a","image":"2"}]}}`},
		"a list is replaced": {
			`{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`, `{"spec":{"containers":[{"$patch":"replace"},{"name":"c"}]}}`,
			`{"spec":{"containers":[{"name":"c"}]}}`},
		"a list is emptied": {
			`{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"$patch":"replace"}]}}`, `{"spec":{"containers":[]}}`},
		"a map is replaced":               {`{"labels":{"a":"1"}}`, `{"labels":{"$patch":"replace","b":"2"}}`, `{"labels":{"b":"2"}}`},
		"a map is emptied":                {`{"labels":{"a":"1"}}`, `{"labels":{"$patch":"delete"}}`, `{"labels":{}}`},
		"a map merges with $patch: merge": {`{"labels":{"a":"1"}}`, `{"labels":{"$patch":"merge","b":"2"}}`, `{"labels":{"a":"1","b":"2"}}`},
		"strategy replace":                {`{"spec":{"whole":{"type":"a","data":{"x":1}}}}`, `{"spec":{"whole":{"type":"b"}}}`, `{"spec":{"whole":{"type":"b"}}}`},
		"keys not retained go": {
			`{"spec":{"strategy":{"type":"Rolling","rolling":{"max":1}}}}`, `{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}`,
			`{"spec":{"strategy":{"type":"Recreate"}}}`},
		"keys not retained in an element go": {
			`{"spec":{"volumes":[{"name":"v","empty":{}}]}}`, `{"spec":{"volumes":[{"$retainKeys":["name","host"],"name":"v","host":{"x":1}}]}}`,
			`{"spec":{"volumes":[{"name":"v","host":{"x":1}}]}}`},
		"an order is set": {
			`{"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"server"}]}}`,
			`{"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"c"},{"name":"a"}],"containers":[{"name":"c"}]}}`,
			`{"spec":{"containers":[{"name":"b"},{"name":"c"},{"name":"a"},{"name":"server"}]}}`},
		"a replaced element stays behind the server's": {
			`{"spec":{"containers":[{"name":"server"},{"name":"old"}]}}`,
			`{"spec":{"$setElementOrder/containers":[{"name":"new"}],"containers":[{"name":"new"},{"$patch":"delete","name":"old"}]}}`,
			`{"spec":{"containers":[{"name":"server"},{"name":"new"}]}}`},
		"an order of primitives": {
			`{"finalizers":["a","b","c"]}`, `{"$setElementOrder/finalizers":["c","d","a"],"finalizers":["d"]}`, `{"finalizers":["b","c","d","a"]}`},
		"an order for an empty list": {
			`{"spec":{"containers":[]}}`, `{"spec":{"$setElementOrder/containers":[{"name":"a"}]}}`, `{"spec":{"containers":[]}}`},
		"directives and nulls never reach new values": {
			`{"spec":{}}`, `{"spec":{"containers":[{"name":"a","image":null,"$setElementOrder/ports":[{"port":1}],"ports":[{"port":1}]},{"name":"b","$patch":"delete"}]}}`,
			`{"spec":{"containers":[{"name":"a","ports":[{"port":1}]}]}}`},
		"another type replaces":          {`{"labels":"odd"}`, `{"labels":{"a":"1","b":null}}`, `{"labels":{"a":"1"}}`},
		"unknown fields merge as maps":   {`{"spec":{"raw":{"a":{"b":1}}},"x":{"y":[1]}}`, `{"spec":{"raw":{"a":{"c":2}}},"x":{"y":[2]}}`, `{"spec":{"raw":{"a":{"b":1,"c":2}}},"x":{"y":[2]}}`},
		"recursive types":                {`{"spec":{"parent":{"spec":{"containers":[{"name":"a"}]}}}}`, `{"spec":{"parent":{"spec":{"containers":[{"name":"b"}]}}}}`, `{"spec":{"parent":{"spec":{"containers":[{"name":"b"},{"name":"a"}]}}}}`},
		"null of a missing field":        {`{}`, `{"spec":null,"labels":{"a":null}}`, `{"labels":{}}`},
		"large numbers stay as written":  {`{"spec":{"replicas":12345678901234567890}}`, `{"labels":{"a":"<&>"}}`, `{"labels":{"a":"<&>"},"spec":{"replicas":12345678901234567890}}`},
		"a whole document is replaced":   {`{"labels":{"a":"1"}}`, `{"$patch":"replace","spec":{}}`, `{"spec":{}}`},
		"elements of mixed number types": {`{"spec":{"containers":[{"name":"a","ports":[{"port":80.0}]}]}}`, `{"spec":{"containers":[{"name":"a","ports":[{"port":80,"name":"x"}]}]}}`, `{"spec":{"containers":[{"name":"a","ports":[{"port":80,"name":"x"}]}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := patch.Strategic([]byte(c.doc), []byte(c.patch), objectType)
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(got))
			if strings.Contains(c.want, "1234567890") {
				require.Contains(t, string(got), "12345678901234567890")
				require.Contains(t, string(got), "<&>")
			}
		})
	}
}

func TestStrategicErrors(t *testing.T) {
	const doc = `{"finalizers":["a"],"labels":{"a":"1"},"spec":{"containers":[{"name":"a"}],"strategy":{"type":"x"},"keyless":[{"type":"a"}]}}`
	for text, code := range map[string]int{
		``: 400, `null`: 400, `[]`: 400, `{`: 400, `{}{}`: 400,
		`{"$patch":"explode"}`: 400, `{"$patch":5}`: 400, `{"$patch":{"a":1}}`: 400,
		`{"spec":{"containers":[{"$patch":"merge","name":"a"}]}}`:                             400,
		`{"spec":{"containers":[{"image":"x"}]}}`:                                             422,
		`{"spec":{"containers":[{"name":{"a":1}}]}}`:                                          422,
		`{"spec":{"containers":[{"$patch":"delete"}]}}`:                                       422,
		`{"spec":{"containers":["a"]}}`:                                                       422,
		`{"spec":{"containers":[null]}}`:                                                      422,
		`{"spec":{"containers":[["a"]]}}`:                                                     422,
		`{"spec":{"keyless":[{"type":"b"}]}}`:                                                 422,
		`{"spec":{"strategy":{"$retainKeys":"type"}}}`:                                        400,
		`{"spec":{"strategy":{"$retainKeys":[1]}}}`:                                           400,
		`{"spec":{"strategy":{"$retainKeys":["type"],"data":{}}}}`:                            400,
		`{"$deleteFromPrimitiveList/finalizers":"a"}`:                                         400,
		`{"$deleteFromPrimitiveList/finalizers":[{"a":1}]}`:                                   400,
		`{"$deleteFromPrimitiveList/finalizers":[null]}`:                                      400,
		`{"$setElementOrder/finalizers":"a"}`:                                                 400,
		`{"$setElementOrder/labels":["a"]}`:                                                   422,
		`{"spec":{"$setElementOrder/containers":["a"]}}`:                                      422,
		`{"spec":{"$setElementOrder/containers":[{"name":"b"}],"containers":[{"name":"c"}]}}`: 400,
		`{"labels":{"a":"` + strings.Repeat("x", patch.MaxSize) + `"}}`:                       413,
	} {
		_, err := patch.Strategic([]byte(doc), []byte(text), objectType)
		require.Error(t, err, "%.80s", text)
		require.Equal(t, code, patch.Code(err), "%.80s: %v", text, err)
	}
	for _, doc := range []string{"", " ", "{", `{"a":}`, `{} {}`, `{"a":{]}`} {
		for _, text := range []string{`[]`, `[{"op":"remove","path":""}]`, `[{"op":"add","path":"","value":1}]`, `[{"op":"add","path":"/a","value":1}]`} {
			_, err := patch.JSON([]byte(doc), []byte(text))
			require.ErrorIs(t, err, patch.ErrBadDocument, "%q with %s", doc, text)
		}
	}
	_, err := patch.Strategic([]byte(`[]`), []byte(`{}`), objectType)
	require.ErrorIs(t, err, patch.ErrBadDocument)
	require.Equal(t, 500, patch.Code(err))
	for _, odd := range []reflect.Type{nil, reflect.TypeFor[int](), reflect.TypeFor[map[string]string]()} {
		_, err = patch.Strategic([]byte(`{}`), []byte(`{}`), odd)
		require.Error(t, err)
	}
}

func TestStrategicMapLeavesThePatchAlone(t *testing.T) {
	const text = `{"labels":{"b":null,"c":"3"},"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"b","env":{"x":"y"}},{"$patch":"delete","name":"z"}],"strategy":{"$retainKeys":["type"],"type":"a"}},"$deleteFromPrimitiveList/finalizers":["a"]}`
	var changes map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &changes))
	doc := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a"}, map[string]any{"name": "z"}}}, "finalizers": []any{"a", "b"}}
	out, err := patch.StrategicMap(doc, changes, objectType)
	require.NoError(t, err)
	// Changing the result must not reach the patch.
	out["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["env"].(map[string]any)["x"] = "changed"
	out["labels"].(map[string]any)["c"] = "changed"
	after, err := json.Marshal(changes)
	require.NoError(t, err)
	require.JSONEq(t, text, string(after))
	out, err = patch.StrategicMap(nil, changes, objectType)
	require.NoError(t, err)
	require.Contains(t, out, "labels")
}

func TestJSON(t *testing.T) {
	const doc = `{"a":{"b":[1,2,3]},"c/d":"x"}`
	got, err := patch.JSON([]byte(doc), []byte(`[
		{"op":"test","path":"/c~1d","value":"x"},
		{"op":"replace","path":"/a/b/0","value":9},
		{"op":"add","path":"/a/b/-","value":"<&>"},
		{"op":"remove","path":"/a/b/1"},
		{"op":"copy","from":"/a/b","path":"/e"},
		{"op":"move","from":"/c~1d","path":"/f"},
		{"op":"remove","path":"/e/-1"}]`))
	require.NoError(t, err)
	require.JSONEq(t, `{"a":{"b":[9,3,"<&>"]},"e":[9,3],"f":"x"}`, string(got))

	for text, code := range map[string]int{
		``: 400, `{}`: 400, `[{}]`: 400, `[{"op":"explode","path":"/a"}]`: 400, `[{"op":"add","path":"/a"}]`: 400, `[{"op":"move","path":"/a"}]`: 400, `[{"op":"add","value":1}]`: 400,
		`[{"op":"remove","path":"a"}]`: 400, `[{"op":"copy","from":"a","path":"/b"}]`: 400,
		`[{"op":"remove","path":"/x"}]`: 422, `[{"op":"test","path":""}]`: 422, `[{"op":"test","path":"/a"}]`: 422, `[{"op":"add","path":"/x/y/z","value":1}]`: 422, `[{"op":"add","path":"/a/b/9","value":1}]`: 422, `[{"op":"replace","path":"/x","value":1}]`: 422,
		`[{"op":"test","path":"/a","value":1}]`: 422,
		`[` + strings.Repeat(`{"op":"test","path":"/c~1d","value":"x"},`, patch.MaxOperations) + `{"op":"remove","path":"/a"}]`: 413,
		`[{"op":"add","path":"/g","value":"` + strings.Repeat("x", patch.MaxSize) + `"}]`:                                       413,
	} {
		_, err := patch.JSON([]byte(doc), []byte(text))
		require.Error(t, err, "%.80s", text)
		require.Equal(t, code, patch.Code(err), "%.80s: %v", text, err)
	}
	got, err = patch.JSON([]byte(`{"a":null}`), []byte(`[{"op":"test","path":"/a"},{"op":"test","path":"/b","value":null},{"op":"add","path":"/b","value":null}]`))
	require.NoError(t, err)
	require.JSONEq(t, `{"a":null,"b":null}`, string(got))
	_, err = patch.JSON([]byte(doc), []byte(`[{"op":"test","path":"/a/b/0","value":2}]`))
	require.ErrorIs(t, err, patch.ErrTestFailed)
	require.ErrorIs(t, err, patch.ErrNotApplicable)
}

func TestCopiesCannotExplode(t *testing.T) {
	ops := []string{`{"op":"add","path":"/x","value":{"a":"` + strings.Repeat("y", 1000) + `"}}`}
	for i := range 30 {
		ops = append(ops, fmt.Sprintf(`{"op":"copy","from":"/x","path":"/x/%d"}`, i))
	}
	_, err := patch.JSON([]byte(`{}`), []byte("["+strings.Join(ops, ",")+"]"))
	require.ErrorIs(t, err, patch.ErrNotApplicable)
}

// The examples of RFC 7386, appendix A, that are about objects.
func TestMergeAsTheRFCHasIt(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		got, err := patch.Merge([]byte(c[0]), []byte(c[1]))
		require.NoError(t, err)
		require.JSONEq(t, c[2], string(got), "%s with %s", c[0], c[1])
	}
	for text, code := range map[string]int{``: 400, `null`: 400, `["c"]`: 400, `"x"`: 400, `{}x`: 400, `{"a":"` + strings.Repeat("x", patch.MaxSize) + `"}`: 413} {
		_, err := patch.Merge([]byte(`{"a":"foo"}`), []byte(text))
		require.Equal(t, code, patch.Code(err), "%.80s: %v", text, err)
	}
}

func TestCreateRetainKeys(t *testing.T) {
	got, err := patch.CreateTwoWayStrategic(
		[]byte(`{"spec":{"strategy":{"type":"Rolling","rolling":{"max":1}}}}`), []byte(`{"spec":{"strategy":{"type":"Recreate"}}}`), objectType)
	require.NoError(t, err)
	require.JSONEq(t, `{"spec":{"strategy":{"$retainKeys":["type"],"rolling":null,"type":"Recreate"}}}`, string(got))
}

func TestCreateThreeWay(t *testing.T) {
	original := `{"labels":{"a":"1","gone":"x"},"finalizers":["f1","f2"],"spec":{"containers":[{"name":"a","image":"1"},{"name":"gone"}]}}`
	modified := `{"labels":{"a":"2"},"finalizers":["f1"],"spec":{"containers":[{"name":"a","image":"2"},{"name":"new"}]}}`
	current := `{"labels":{"a":"1","gone":"x","server":"s"},"finalizers":["f1","f2","f3"],"spec":{"replicas":3,"containers":[{"name":"a","image":"1","env":{"x":"y"}},{"name":"gone"},{"name":"sidecar"}]}}`
	changes, err := patch.CreateThreeWayStrategic([]byte(original), []byte(modified), []byte(current), objectType)
	require.NoError(t, err)
	got, err := patch.Strategic([]byte(current), changes, objectType)
	require.NoError(t, err)
	require.JSONEq(t, `{"labels":{"a":"2","server":"s"},"finalizers":["f1","f3"],"spec":{"replicas":3,"containers":[{"name":"a","image":"2","env":{"x":"y"}},{"name":"sidecar"},{"name":"new"}]}}`, string(got))

	changes, err = patch.CreateThreeWayMerge([]byte(original), []byte(modified), []byte(current))
	require.NoError(t, err)
	got, err = patch.Merge([]byte(current), changes)
	require.NoError(t, err)
	require.JSONEq(t, `{"labels":{"a":"2","server":"s"},"finalizers":["f1"],"spec":{"replicas":3,"containers":[{"name":"a","image":"2"},{"name":"new"}]}}`, string(got))

	for _, f := range []func() ([]byte, error){
		func() ([]byte, error) { return patch.CreateThreeWayStrategic([]byte(`[`), nil, nil, objectType) },
		func() ([]byte, error) { return patch.CreateThreeWayMerge(nil, []byte(`[]`), nil) },
		func() ([]byte, error) { return patch.CreateTwoWayStrategic(nil, []byte(`3`), objectType) },
		func() ([]byte, error) { return patch.CreateMerge([]byte(`{}`), nil) },
	} {
		_, err := f()
		require.ErrorIs(t, err, patch.ErrBadDocument)
	}
}

// Work that is quadratic in the length of the lists would not end within the time limit of the tests.
func TestLongListsStayCheap(t *testing.T) {
	list := func(n int, format string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf(format, i)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	const n = 80_000
	doc := `{"finalizers":` + list(n, `"a%d"`) + `,"spec":{"containers":` + list(n, `{"name":"a%d"}`) + `}}`
	changes := `{"$deleteFromPrimitiveList/finalizers":` + list(n, `"a%d"`) + `,"finalizers":` + list(n, `"b%d"`) +
		`,"spec":{"containers":` + list(n, `{"name":"b%d"}`) + `}}`
	got, err := patch.Strategic([]byte(doc), []byte(changes), objectType)
	require.NoError(t, err)
	deleted := `{"spec":{"containers":` + list(n, `{"name":"b%d","$patch":"delete"}`) + `}}`
	got, err = patch.Strategic(got, []byte(deleted), objectType)
	require.NoError(t, err)
	_, err = patch.CreateThreeWayStrategic([]byte(doc), got, []byte(doc), objectType)
	require.NoError(t, err)
}

func TestCode(t *testing.T) {
	require.Equal(t, 500, patch.Code(errors.New("other")))
}

func BenchmarkStrategic(b *testing.B) {
	doc := []byte(`{"labels":{"a":"1"},"spec":{"replicas":1,"containers":[{"name":"a","image":"1","env":{"x":"y"}},{"name":"b"}]}}`)
	changes := []byte(`{"spec":{"containers":[{"name":"a","image":"2"}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := patch.Strategic(doc, changes, objectType); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleStrategic() {
	doc := `{"spec":{"containers":[{"name":"web","image":"web:1"},{"name":"proxy","image":"proxy:7"}]}}`
	changes := `{"spec":{"containers":[{"name":"web","image":"web:2"}]}}`
	got, err := patch.Strategic([]byte(doc), []byte(changes), reflect.TypeFor[object]())
	fmt.Println(string(got), err)
	// Output: {"spec":{"containers":[{"image":"web:2","name":"web"},{"image":"proxy:7","name":"proxy"}]}} <nil>
}
