package interop_test

import (
	"encoding/json"
	"testing"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	openapiv3 "github.com/google/gnostic-models/openapiv3"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
)

// TestOpenAPIProtobuf reads every document in protobuf with gnostic, as client-go does, and compares it with
// what gnostic decodes from the JSON form.
func TestOpenAPIProtobuf(t *testing.T) {
	documents := openapi.New(api.Scheme(), openapi.Options{Version: "v1.36.3"})
	var props apiextensionsv1.JSONSchemaProps
	require.NoError(t, codec.Unmarshal([]byte(`{"type":"object","description":"d","title":"t","nullable":true,"properties":{
		"spec":{"type":"object","required":["a"],"properties":{"a":{"type":"string","default":"x","enum":["x","y"],"minLength":1,"maxLength":5,"pattern":"^.$"},
			"n":{"type":"number","minimum":0.5,"maximum":3,"exclusiveMaximum":true,"multipleOf":0.5,"default":1},"on":{"type":"boolean","default":false},
			"list":{"type":"array","minItems":1,"maxItems":3,"x-kubernetes-list-type":"set","items":{"type":"string","format":"date"},"default":["z"]},
			"map":{"type":"object","minProperties":1,"maxProperties":4,"additionalProperties":{"type":"integer","format":"int32"}},
			"any":{"x-kubernetes-preserve-unknown-fields":true},"either":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]},
			"not":{"type":"integer","not":{"enum":[3]},"oneOf":[{"minimum":1},{"maximum":-1}],"allOf":[{"multipleOf":2}]}},
			"x-kubernetes-validations":[{"rule":"self.n > 0.5","message":"m"}]}}}`), &props))
	gvk := schema.GroupVersionKind{Group: "a.test", Version: "v1", Kind: "Widget"}
	documents.Set(openapi.Resource{
		GVK: gvk, GVR: gvk.GroupVersion().WithResource("widgets"), Namespaced: true,
		Verbs: []string{"get", "list", "create", "update", "patch", "delete", "watch"}, Schema: openapi.FromProps(&props),
	})

	var list struct {
		Paths map[string]any `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(documents.V3Index().Body, &list))
	require.Greater(t, len(list.Paths), 40)
	for path := range list.Paths {
		text, ok := documents.V3(path)
		require.True(t, ok)
		binary, ok := documents.V3Proto(path)
		require.True(t, ok)
		want, err := openapiv3.ParseDocument(text.Body)
		require.NoError(t, err, path)
		got := &openapiv3.Document{}
		require.NoError(t, proto.Unmarshal(binary.Body, got), path)
		require.Equal(t, asYAML(t, want), asYAML(t, got), path)
		if path == "apis/a.test/v1" {
			require.Contains(t, string(binary.Body), "x-kubernetes-validations")
		}
	}

	want, err := openapiv2.ParseDocument(documents.V2JSON().Body)
	require.NoError(t, err)
	got := &openapiv2.Document{}
	require.NoError(t, proto.Unmarshal(documents.V2Proto().Body, got))
	require.Equal(t, asYAML(t, want), asYAML(t, got))
}

// asYAML is a document as values: gnostic keeps extensions as text, in which the same value can be written in
// several ways.
func asYAML(t *testing.T, d interface {
	YAMLValue(string) ([]byte, error)
}) any {
	t.Helper()
	text, err := d.YAMLValue("")
	require.NoError(t, err)
	var v any
	require.NoError(t, yaml.Unmarshal(text, &v))
	return v
}
