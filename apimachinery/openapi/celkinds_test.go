package openapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

const ships = `{"paths":{},"components":{"schemas":{"Ship":{"type":"object","x-kubernetes-group-version-kind":[{"group":"sea.test","version":"v1","kind":"Ship"}],"properties":{
"name":{"type":"string"},"length":{"format":"int-or-string","oneOf":[{"type":"integer"},{"type":"string"}]},"load":{"oneOf":[{"type":"string"},{"type":"number"}]},
"boats":{"type":"array","items":{"$ref":"#/components/schemas/Ship"}},"home":{"default":{},"allOf":[{"$ref":"#/components/schemas/Port"}]},"package":{"type":"integer"},
"tags":{"type":"object","additionalProperties":{"type":"string"}},"free":{"type":"object","additionalProperties":true}}},
"Port":{"type":"object","properties":{"ships":{"type":"array","items":{"$ref":"#/components/schemas/Ship"}},"depth":{"type":"number"}}},
"Lost":{"type":"object","x-kubernetes-group-version-kind":[{"group":"sea.test","version":"v1","kind":"Lost"}],"properties":{"at":{"$ref":"#/components/schemas/Nowhere"}}}}}}`

func TestTypesOfKinds(t *testing.T) {
	kind := func(name string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "sea.test", Version: "v1", Kind: name}
	}
	ship, err := openapi.KindTypeIn([]byte(ships), kind("Ship"))
	require.NoError(t, err)
	base, err := cel.Checking(true)
	require.NoError(t, err)
	env, err := openapi.TypedEnv(base, map[string]*openapi.KindType{"ship": ship, "other": ship, "thing": nil})
	require.NoError(t, err)
	for expression, wrong := range map[string]string{
		"ship.name == other.name && ship == other": "", "ship.metadata.name == ship.kind": "", "ship.metadata.labels": "undefined field 'labels'", "thing.what.ever": "",
		"ship.length > 3 || ship.length == 'long'": "", "ship.load": "undefined field 'load'", "ship.home.depth < 1.5": "", "ship.home.ships[0].name": "undefined field 'name'",
		"ship.boats[0].name": "undefined field 'name'", "ship.package + 1 == 2": "", "ship.__package__ == 2": "", "ship.tags.a == 'b'": "", "ship.free.a": "undefined field 'a'", "ship.name + 1": "no matching overload",
		"request.userInfo.username == namespaceObject.metadata.UID": "", "namespaceObject.metadata.uid": "undefined field 'uid'",
	} {
		_, issues := env.Compile(expression)
		if wrong == "" {
			require.NoError(t, issues.Err(), expression)
		} else {
			require.ErrorContains(t, issues.Err(), wrong, expression)
		}
	}

	_, err = openapi.KindTypeIn([]byte(ships), kind("Port"))
	require.Equal(t, &openapi.NoKindError{Kind: kind("Port")}, err)
	_, err = openapi.KindTypeIn([]byte(ships), kind("Lost"))
	require.ErrorContains(t, err, "at: there is no #/components/schemas/Nowhere")
	for _, document := range []string{``, `[]`, `{"components":{"schemas":{"x":{"properties":[]}}}}`} {
		_, err = openapi.KindTypeIn([]byte(document), kind("Ship"))
		require.Error(t, err, document)
	}
}

// A field may be called like a reserved word: after a dot it is a name like others, and may also be written
// escaped.
func TestRulesAboutReservedWords(t *testing.T) {
	for rule, right := range map[string]bool{
		"self.namespace == 'a'": true, "self.__namespace__ == 'a'": true, "self.a__b == 'a'": false, "self.a__underscores__b == 'a'": true, "self.package == 'a'": false,
	} {
		s, err := openapi.CompileSchema(&apiextensionsv1.JSONSchemaProps{Type: "object", XValidations: []apiextensionsv1.ValidationRule{{Rule: rule}},
			Properties: map[string]apiextensionsv1.JSONSchemaProps{"namespace": {Type: "string"}, "a__b": {Type: "string"}}})
		require.NoError(t, err)
		errs := s.Validate(&metav1.Unstructured{Fields: map[string]any{"namespace": "a", "a__b": "a"}})
		require.Equal(t, right, len(errs) == 0, "%s: %v", rule, errs)
	}
}
