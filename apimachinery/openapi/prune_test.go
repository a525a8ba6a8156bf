package openapi_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

const prunable = `
type: object
properties:
  a: {type: object, properties: {b: {type: string}, c: {type: array, items: {type: object, properties: {a: {type: integer}}}}}}
  b: {type: object, additionalProperties: {type: object, properties: {a: {type: string}}}}
  c: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: object, properties: {a: {type: string}}}}}
  d: {type: object, x-kubernetes-embedded-resource: true, properties: {b: {type: string}}}
  e: {type: array, x-kubernetes-preserve-unknown-fields: true, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// What pruning leaves alone and what it takes is what a walk over the schema itself finds.
func TestPruneRandomObjects(t *testing.T) {
	schema := props(t, prunable)
	s := schemaOf(t, prunable)
	clean := 0
	for _, seed := range seeds.Of(t, 3000) {
		rnd := seeds.Stream(seed, 1)
		fields, _ := randomMember(rnd, 0).(map[string]any)
		if fields == nil {
			fields = map[string]any{"e": randomMember(rnd, 1)}
		}
		obj := &metav1.Unstructured{Fields: fields}
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		want := undescribed(schema, fields, true)
		got := s.Prune(obj)
		require.Len(t, got, want, "seed %d: %s", seed, text)
		require.Zero(t, undescribed(schema, fields, true), "seed %d: %s", seed, text)
		require.Empty(t, s.Prune(obj), "seed %d: %s", seed, text)
		if want == 0 {
			clean++
			left, err := json.Marshal(obj.Fields)
			require.NoError(t, err)
			require.Equal(t, string(text), string(left))
		}
	}
	require.Positive(t, clean)
}

// undescribed counts the members that no schema describes, those within them not counted.
func undescribed(s *apiextensionsv1.JSONSchemaProps, v any, whole bool) int {
	n := 0
	preserve := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if whole && (name == "apiVersion" || name == "kind" || name == "metadata") {
				continue
			}
			c, ok := s.Properties[name]
			switch {
			case ok:
				n += undescribed(&c, member, c.XEmbeddedResource)
			case s.AdditionalProperties != nil:
				n += undescribed(s.AdditionalProperties.Schema, member, false)
			case !preserve:
				n++
			}
		}
	case []any:
		for _, item := range v {
			if s.Items != nil {
				n += undescribed(s.Items.Schema, item, false)
			} else if m, ok := item.(map[string]any); ok && !preserve {
				n += len(m)
			}
		}
	}
	return n
}

func randomMember(rnd *rand.Rand, depth int) any {
	if depth > 4 || depth > 1 && rnd.IntN(3) == 0 {
		return "x"
	}
	if depth > 0 && rnd.IntN(4) == 0 {
		list := []any{}
		for range rnd.IntN(3) {
			list = append(list, randomMember(rnd, depth+1))
		}
		return list
	}
	m := map[string]any{}
	for range rnd.IntN(4) {
		m[[]string{"a", "b", "c", "d", "e", "kind"}[rnd.IntN(6)]] = randomMember(rnd, depth+1)
	}
	return m
}
