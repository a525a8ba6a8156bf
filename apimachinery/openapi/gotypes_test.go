package openapi_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Crate is generic: each of its types has a schema of its own.
type Crate[T any] struct {
	Of T `json:"of"`
}

// Ferry is written in one piece: most of its structs have no name.
type Ferry struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Crew int64 `json:"crew"`
		Mast *struct {
			Height int32 `json:"height"`
		} `json:"mast,omitempty"`
		Decks []struct {
			Cars int32 `json:"cars"`
		} `json:"decks,omitempty" listType:"atomic"`
		Mail  Crate[string]       `json:"mail"`
		Coal  Crate[int64]        `json:"coal"`
		Other map[string]struct{} `json:"other,omitempty"`
	} `json:"spec"`
	Status struct {
		Port string `json:"port,omitempty"`
	} `json:"status,omitempty"`
}

// Structs without a name are described where they are, and no two types share a description.
func TestSchemasOfUnnamedAndGenericStructs(t *testing.T) {
	s, gv := scheme.New(), schema.GroupVersion{Group: "harbour.example.com", Version: "v1"}
	require.NoError(t, scheme.Add[*Ferry](s, gv, scheme.Kind{Resource: "ferries", Namespaced: true}))
	docs := openapi.New(s, openapi.Options{})
	doc, ok := docs.V3("apis/harbour.example.com/v1")
	require.True(t, ok)
	schemas := parse(t, doc.Body)["components"].(tree)["schemas"].(tree)
	properties := func(v any) tree {
		require.Contains(t, v, "properties")
		return v.(tree)["properties"].(tree)
	}
	var ferry tree
	for name, v := range schemas {
		require.NotEqual(t, ".", name)
		require.NotContains(t, name, "[")
		if strings.HasSuffix(name, ".Ferry") {
			ferry = properties(v)
		}
	}
	spec := properties(ferry["spec"])
	require.ElementsMatch(t, []string{"crew", "mast", "decks", "mail", "coal", "other"}, slices.Collect(maps.Keys(spec)))
	require.Equal(t, tree{"type": "object", "default": tree{}, "properties": tree{"port": tree{"type": "string"}}}, ferry["status"])
	require.Equal(t, tree{"height": tree{"type": "integer", "format": "int32", "default": 0.0}}, properties(spec["mast"]))
	decks := spec["decks"].(tree)
	require.Equal(t, "atomic", decks["x-kubernetes-list-type"])
	require.Equal(t, tree{"cars": tree{"type": "integer", "format": "int32", "default": 0.0}}, properties(decks["items"]))
	require.Equal(t, "object", spec["other"].(tree)["additionalProperties"].(tree)["type"])
	of := func(field string) any {
		for name, v := range schemas {
			if strings.Contains(fmt.Sprint(spec[field]), "/"+name+"]") {
				return properties(v)["of"].(tree)["type"]
			}
		}
		return nil
	}
	require.Equal(t, "string", of("mail"))
	require.Equal(t, "integer", of("coal"))

	definitions := parse(t, docs.V2JSON().Body)["definitions"].(tree)
	require.NotContains(t, definitions, ".")
	require.NotEmpty(t, docs.V2Proto().Body)
}
