package openapi_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// withoutProse takes prose out of a document.
func withoutProse(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if _, text := v["description"].(string); text {
			delete(v, "description")
		}
		for _, member := range v {
			withoutProse(member)
		}
	case []any:
		for _, item := range v {
			withoutProse(item)
		}
	}
	return v
}

// published are the schemas of a kind in both dialects, and of its list in the second.
func published(t *testing.T, yaml string, selectable ...string) (v2, v3, list map[string]any) {
	props := &apiextensionsv1.JSONSchemaProps{}
	_, err := codec.UnmarshalYAML([]byte(yaml), props, codec.DecodeOptions{})
	require.NoError(t, err)
	s := openapi.FromProps(props)
	s.Selectable(selectable...)
	d := openapi.New(scheme.New(), openapi.Options{})
	d.Set(openapi.Resource{GVK: schema.GroupVersionKind{Group: "a.test", Version: "v1", Kind: "Widget"},
		GVR: schema.GroupVersionResource{Group: "a.test", Version: "v1", Resource: "widgets"}, Verbs: []string{"get", "list"}, Schema: s})
	for range 2 { // making a document changes nothing
		var doc2, doc3 map[string]any
		require.NoError(t, json.Unmarshal(d.V2JSON().Body, &doc2))
		doc, ok := d.V3("apis/a.test/v1")
		require.True(t, ok)
		require.NoError(t, json.Unmarshal(doc.Body, &doc3))
		schemas := doc3["components"].(map[string]any)["schemas"].(map[string]any)
		v2, _ = withoutProse(doc2["definitions"].(map[string]any)["test.a.v1.Widget"]).(map[string]any)
		v3, _ = withoutProse(schemas["test.a.v1.Widget"]).(map[string]any)
		list, _ = withoutProse(schemas["test.a.v1.WidgetList"]).(map[string]any)
		d.Set(openapi.Resource{GVK: schema.GroupVersionKind{Group: "a.test", Version: "v1", Kind: "Other"},
			GVR: schema.GroupVersionResource{Group: "a.test", Version: "v1", Resource: "others"}, Verbs: []string{"get"}, Schema: openapi.FromProps(props)})
	}
	return v2, v3, list
}

// Each dialect describes a custom resource in the way its clients read it.
func TestSchemasOfCustomResourcesInBothDialects(t *testing.T) {
	const meta2 = `{"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}`
	const meta3 = `{"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]}`
	for yaml, want := range map[string][2]string{
		`{type: string, enum: [x, z], default: x, maxLength: 3}`:                       {`{"type": "string", "enum": ["x", "z"], "default": "x", "maxLength": 3}`, `{"type": "string", "enum": ["x", "z"], "default": "x", "maxLength": 3}`},
		`{x-kubernetes-int-or-string: true}`:                                           {`{"x-kubernetes-int-or-string": true}`, `{"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}`},
		`{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}`: {`{"x-kubernetes-int-or-string": true}`, `{"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}`},
		`{x-kubernetes-int-or-string: true, anyOf: [{minimum: 1}]}`: {`{"x-kubernetes-int-or-string": true}`,
			`{"x-kubernetes-int-or-string": true, "anyOf": [{"minimum": 1}], "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}]}`},
		`{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {k: {type: string}}}`: {`{"x-kubernetes-preserve-unknown-fields": true}`,
			`{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"k": {"type": "string"}}}`},
		`{type: array, x-kubernetes-preserve-unknown-fields: true, items: {type: object}}`: {`{"x-kubernetes-preserve-unknown-fields": true}`,
			`{"type": "array", "x-kubernetes-preserve-unknown-fields": true, "items": {"type": "object"}}`},
		`{type: array, nullable: true, items: {type: string}}`: {`{}`, `{"type": "array", "nullable": true, "items": {"type": "string"}}`},
		`{type: object, required: [a, b], properties: {a: {type: string, nullable: true}, b: {type: string}}}`: {
			`{"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "string"}}}`,
			`{"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string", "nullable": true}, "b": {"type": "string"}}}`},
		`{type: object, properties: {a: {type: integer}}, oneOf: [{required: [a]}], anyOf: [{required: [a]}], allOf: [{required: [a]}], not: {required: [b]}}`: {
			`{"type": "object", "properties": {"a": {"type": "integer"}}}`,
			`{"type": "object", "properties": {"a": {"type": "integer"}}, "oneOf": [{"required": ["a"]}], "anyOf": [{"required": ["a"]}], "allOf": [{"required": ["a"]}], "not": {"required": ["b"]}}`},
		`{type: object, x-kubernetes-embedded-resource: true, required: [spec], properties: {spec: {type: object}}}`: {
			`{"type": "object", "x-kubernetes-embedded-resource": true, "required": ["spec", "kind", "apiVersion"], "properties": {"spec": {"type": "object"}, "kind": {"type": "string"}, "apiVersion": {"type": "string"}, "metadata": ` + meta2 + `}}`,
			`{"type": "object", "x-kubernetes-embedded-resource": true, "required": ["spec", "kind", "apiVersion"], "properties": {"spec": {"type": "object"}, "kind": {"type": "string"}, "apiVersion": {"type": "string"}, "metadata": ` + meta3 + `}}`},
		`{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`: {
			`{"x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}`,
			`{"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true, "required": ["kind", "apiVersion"], "properties": {"kind": {"type": "string"}, "apiVersion": {"type": "string"}, "metadata": ` + meta3 + `}}`},
	} {
		v2, v3, _ := published(t, "{type: object, properties: {spec: "+yaml+"}}")
		for i, doc := range []map[string]any{v2, v3} {
			got, err := json.Marshal(doc["properties"].(map[string]any)["spec"])
			require.NoError(t, err)
			require.JSONEq(t, want[i], string(got), yaml)
		}
	}
}

// An object that keeps unknown members says of none of its own in the second dialect; what selectors can use
// is said in both, of the list too.
func TestWholeCustomResourcesInBothDialects(t *testing.T) {
	kind := `"x-kubernetes-group-version-kind": [{"group": "a.test", "version": "v1", "kind": "Widget"}]`
	v2, v3, list := published(t, `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {spec: {type: object}}}`, "spec.a", "spec.b")
	got, err := json.Marshal(v2)
	require.NoError(t, err)
	require.JSONEq(t, `{"type": "object", "x-kubernetes-selectable-fields": [{"fieldPath": "spec.a"}, {"fieldPath": "spec.b"}], `+kind+`}`, string(got))
	require.Contains(t, v3["properties"], "metadata")
	require.Equal(t, true, v3["x-kubernetes-preserve-unknown-fields"])
	require.Equal(t, v2["x-kubernetes-selectable-fields"], v3["x-kubernetes-selectable-fields"])
	require.Equal(t, v2["x-kubernetes-selectable-fields"], list["x-kubernetes-selectable-fields"])
	_, v3, list = published(t, `{type: object}`)
	require.NotContains(t, v3, "x-kubernetes-selectable-fields")
	require.NotContains(t, list, "x-kubernetes-selectable-fields")
}
