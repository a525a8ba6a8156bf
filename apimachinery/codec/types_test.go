package codec_test

import (
	"encoding/json"
	"reflect"
	"testing"

	fuzz "github.com/google/gofuzz"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// builtinTypes are the Go types of all built-in kinds and the shared ones that travel.
func builtinTypes() []reflect.Type {
	types := []reflect.Type{
		reflect.TypeFor[metav1.Status](), reflect.TypeFor[metav1.APIResourceList](),
		reflect.TypeFor[metav1.APIGroupList](), reflect.TypeFor[metav1.DeleteOptions](),
		reflect.TypeFor[metav1.ListOptions](), reflect.TypeFor[metav1.LabelSelector](),
	}
	for _, info := range api.Scheme().All() {
		types = append(types, info.Type, reflect.TypeOf(info.NewList()).Elem())
	}
	return types
}

// apiFiller adds the types of which only some values have a JSON form.
func apiFiller(seed int64) *fuzz.Fuzzer {
	schema := func(p *apiextensionsv1.JSONSchemaProps, c fuzz.Continue) {
		p.Type, p.Description = c.RandString(), c.RandString()
		if c.Intn(4) == 0 {
			p.Properties = map[string]apiextensionsv1.JSONSchemaProps{"a": {Type: "string"}}
			p.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "x"}}
			p.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &apiextensionsv1.JSONSchemaProps{Type: "y"}}
		}
	}
	return filler(seed).MaxDepth(10).Funcs(
		schema,
		func(j *apiextensionsv1.JSON, c fuzz.Continue) { j.Raw = []byte(rawJSON(c)) },
		func(s *apiextensionsv1.JSONSchemaPropsOrArray, c fuzz.Continue) {
			s.Schema = &apiextensionsv1.JSONSchemaProps{Type: "x"}
		},
		func(s *apiextensionsv1.JSONSchemaPropsOrBool, c fuzz.Continue) { s.Allows = true },
		func(s *apiextensionsv1.JSONSchemaPropsOrStringArray, c fuzz.Continue) {
			s.Property = []string{"p"}
		},
		// Types whose text is checked when read back.
		func(s *string, c fuzz.Continue) {
			*s = []string{"", "a", "<&>\u2028\"\\/\n", "é漢😀", "plain text of some length"}[c.Intn(5)]
		},
		func(d *metav1.Duration, c fuzz.Continue) { d.Duration = 5000000 },
	)
}

// TestEveryBuiltinType fills built-in types, each seed another, with random content and
// takes them through all forms.
func TestEveryBuiltinType(t *testing.T) {
	types := builtinTypes()
	for _, typ := range types {
		_, err := codec.PlanOf(typ)
		require.NoError(t, err)
	}
	for _, seed := range caseSeeds(t, 8*len(types)) {
		v := reflect.New(types[seed%int64(len(types))])
		apiFiller(seed).Fuzz(v.Interface())
		everyForm(t, seed, v)
	}
}

func everyForm(t *testing.T, seed int64, v reflect.Value) {
	obj := v.Interface()
	want, err := json.Marshal(obj)
	require.NoError(t, err)
	got, err := codec.Marshal(obj)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "seed %d", seed)

	back := reflect.New(v.Type().Elem()).Interface()
	issues, err := codec.UnmarshalOptions(got, back, codec.DecodeOptions{Strict: true})
	require.NoError(t, err, "seed %d", seed)
	require.Empty(t, issues, "seed %d", seed)
	again, err := codec.Marshal(back)
	require.NoError(t, err)
	require.Equal(t, string(want), string(again), "seed %d", seed)

	c := codec.DeepCopy(obj)
	require.True(t, codec.Equal(obj, c), "seed %d", seed)
	requireDisjoint(t, v, reflect.ValueOf(c), "")

	// The first pass settles what protobuf does not tell apart (nil and empty
	// bytes in maps, nil items); from then on nothing may change.
	body, err := codec.MarshalProto(obj)
	require.NoError(t, err, "seed %d", seed)
	first, second := reflect.New(v.Type().Elem()).Interface(), reflect.New(v.Type().Elem()).Interface()
	require.NoError(t, codec.UnmarshalProto(body, first), "seed %d", seed)
	body, err = codec.MarshalProto(first)
	require.NoError(t, err)
	require.NoError(t, codec.UnmarshalProto(body, second), "seed %d", seed)
	again, err = codec.MarshalProto(second)
	require.NoError(t, err)
	require.Equal(t, body, again, "seed %d", seed)
	require.True(t, codec.Equal(first, second), "seed %d", seed)
}
