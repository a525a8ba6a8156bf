package openapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// However deep defaults and rules are nested, each rule is compiled once, and all defaults share one budget.
func TestNestedDefaultsAreCheap(t *testing.T) {
	nested := func(depth int, rule string) *apiextensionsv1.JSONSchemaProps {
		s := &apiextensionsv1.JSONSchemaProps{Type: "integer"}
		for range depth {
			s = &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": *s}, Default: &apiextensionsv1.JSON{Raw: []byte("{}")},
				XValidations: []apiextensionsv1.ValidationRule{{Rule: rule}}}
		}
		return &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": *s}}
	}
	mallocs := func(depth int) float64 {
		s := nested(depth, "self == self")
		return testing.AllocsPerRun(1, func() { require.Empty(t, openapi.CheckSchema(s, validation.NewPath("schema"))) })
	}
	require.Less(t, mallocs(40), 4*mallocs(20), "the cost grows with the depth, not with its square")
}
