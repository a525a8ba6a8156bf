package json_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

type (
	props   = apiextensionsv1.JSONSchemaProps
	oneProp = apiextensionsv1.JSONSchemaPropsOrArray
)

// TestOneOfAsMethods compares types whose tags say which field is the value with what encoding/json makes of
// their methods.
func TestOneOfAsMethods(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"items":{}}`, `{"items":null}`, `{"items":[]}`, `{"items":[{"type":"string"},{"items":{"type":"integer"}}]}`,
		`{"additionalProperties":true}`, `{"additionalProperties":false}`, `{"additionalProperties":{"type":"string"}}`,
		`{"dependencies":{"a":["b","c"],"d":{"type":"object"},"e":null,"f":[]}}`,
		`{"items":"x"}`, `{"items":1}`, `{"additionalProperties":[]}`, `{"additionalProperties":1}`, `{"dependencies":{"a":true}}`,
		`{"items":{"type":1}}`, `{"items":[1]}`, `{"items":tru}`, `{"additionalProperties":truE}`,
	} {
		var ours, theirs props
		err, want := codec.Unmarshal([]byte(text), &ours), json.Unmarshal([]byte(text), &theirs)
		require.Equal(t, want == nil, err == nil, "%s: %v, %v", text, err, want)
		if err == nil {
			require.Equal(t, theirs, ours, text)
			sameJSON(t, &ours)
		}
	}
	for _, seed := range seeds.Of(t, 500) {
		p := randomProps(seeds.Rand(seed), 4)
		sameJSON(t, &p)
	}
}

func sameJSON(t *testing.T, p *props) {
	t.Helper()
	got, err := codec.Marshal(p)
	require.NoError(t, err)
	want, err := json.Marshal(p)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	var again, plain props
	require.NoError(t, codec.Unmarshal(got, &again))
	require.NoError(t, json.Unmarshal(want, &plain))
	require.Equal(t, plain, again)
}

func randomProps(rng interface{ IntN(int) int }, depth int) props {
	p := props{Type: []string{"", "string", "object"}[rng.IntN(3)], Description: strings.Repeat("<", rng.IntN(2))}
	if depth == 0 {
		return p
	}
	child := func() *props { return new(randomProps(rng, depth-1)) }
	switch rng.IntN(4) {
	case 0:
		p.Items = &oneProp{Schema: child()}
	case 1:
		p.Items = &oneProp{JSONSchemas: []props{*child(), *child()}}
	case 2:
		p.Items = &oneProp{}
	}
	switch rng.IntN(4) {
	case 0:
		p.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: child()}
	case 1:
		p.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: rng.IntN(2) == 0}
	}
	if rng.IntN(3) == 0 {
		p.Dependencies = map[string]apiextensionsv1.JSONSchemaPropsOrStringArray{"a": {Property: []string{"b"}}, "c": {Schema: child()}, "d": {}}
	}
	return p
}

// TestOneOfNestsWithoutSquares reads and writes a value that nests as deep as is allowed above a large text,
// which took minutes when each level looked for the end of the next.
func TestOneOfNestsWithoutSquares(t *testing.T) {
	const depth = 4_000
	text := strings.Repeat(`{"items":`, depth) + `{"description":"` + strings.Repeat("x", 3<<20) + `"}` + strings.Repeat("}", depth)
	var p props
	require.NoError(t, codec.Unmarshal([]byte(text), &p))
	out, err := codec.Marshal(&p)
	require.NoError(t, err)
	require.Equal(t, len(text), len(out))
	require.ErrorIs(t, codec.Unmarshal([]byte(strings.Repeat(`{"items":`, 1_000_000)), &p), codec.ErrTooDeep)
}

// TestOneOfIsLenientInside: unknown and repeated fields below such a value are not reported, as by a method
// of its type.
func TestOneOfIsLenientInside(t *testing.T) {
	var p props
	issues, err := codec.UnmarshalOptions([]byte(`{"items":{"nope":1,"type":"a","type":"b"},"nope":2,"properties":{"x":{"nope":3}}}`), &p, codec.DecodeOptions{Strict: true})
	require.NoError(t, err)
	var paths []string
	for _, issue := range issues {
		paths = append(paths, issue.Path)
	}
	require.Equal(t, []string{"nope", "properties.x.nope"}, paths)
	require.Equal(t, "b", p.Items.Schema.Type)
}

// TestOneOfWrongTags: a tag on a field of another kind is an error when the type is first used.
func TestOneOfWrongTags(t *testing.T) {
	_, err := codec.Marshal(&struct {
		List map[string]string `codec:"array"`
	}{})
	require.ErrorContains(t, err, `field List: a map[string]string cannot be tagged codec:"array"`)
}
