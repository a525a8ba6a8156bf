package codectest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"strconv"
	"testing"
	"time"

	fuzz "github.com/google/gofuzz"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// Seeds returns the seeds of a test in the type that fillers take.
func Seeds(t testing.TB, usual int) (all []int64) {
	for _, seed := range seeds.Of(t, usual) {
		all = append(all, int64(seed))
	}
	return all
}

// Filler makes random values that survive a round trip through JSON.
func Filler(seed int64) *fuzz.Fuzzer {
	r := rand.New(rand.NewSource(seed))
	return fuzz.New().RandSource(r).NilChance(.3).NumElements(0, 3).MaxDepth(14).Funcs(
		func(t *time.Time, c fuzz.Continue) { *t = time.Unix(c.Int63n(4e9), 0).UTC() },
		func(t *metav1.Time, c fuzz.Continue) {
			*t = metav1.Time{Time: time.Unix(c.Int63n(4e9), 0).Local()}
		},
		func(t *metav1.MicroTime, c fuzz.Continue) {
			*t = metav1.MicroTime{Time: time.Unix(c.Int63n(4e9), c.Int63n(1e6)*1000).Local()}
		},
		func(q *resource.Quantity, c fuzz.Continue) {
			*q = resource.MustParse([]string{"0", "1", "100m", "1536Mi", "2e3", "12345678901234567890", "1.5Gi", "-3k"}[c.Intn(8)])
		},
		func(v *intstr.IntOrString, c fuzz.Continue) {
			if c.RandBool() {
				*v = intstr.FromInt32(int32(c.Uint32()))
			} else {
				*v = intstr.FromString(c.RandString())
			}
		},
		func(v *metav1.RawExtension, c fuzz.Continue) { v.Raw = []byte(rawJSON(c)) },
		func(v *metav1.FieldsV1, c fuzz.Continue) { v.Raw = []byte(`{"f:metadata":{"f:name":{}}}`) },
		func(v *json.RawMessage, c fuzz.Continue) { *v = json.RawMessage(rawJSON(c)) },
		func(v *json.Number, c fuzz.Continue) { *v = json.Number(fmt.Sprint(c.Int63())) },
		func(v *float64, c fuzz.Continue) {
			*v = []float64{0, 1, -1, 1.5, 1e21, 1e-7, 123456789, math.MaxFloat64, c.NormFloat64()}[c.Intn(9)]
		},
		func(v *float32, c fuzz.Continue) {
			*v = []float32{0, 1, -1, 1.5, 1e21, 1e-7, 16777216, math.MaxFloat32, c.Float32()}[c.Intn(9)]
		},
		func(v *string, c fuzz.Continue) {
			*v = []string{"", "a", c.RandString(), "<&>\u2028\"\\/\b\f\n\r\t\x00\x7f", "é漢😀", "plain text of some length", "x\xff"}[c.Intn(6)]
		},
		func(v *upper, c fuzz.Continue) { *v = upper([]string{"", "a", "word"}[c.Intn(3)]) },
		func(v *any, c fuzz.Continue) { *v = randomJSON(c, 3) },
		func(v *map[string]any, c fuzz.Continue) {
			*v = map[string]any{"k" + strconv.Itoa(c.Intn(9)): randomJSON(c, 3), "spec": randomJSON(c, 2)}
		},
	)
}

func rawJSON(c fuzz.Continue) string {
	return []string{`{"a":1,"b":[true,null,"x"]}`, `"text"`, `12`, `[]`, `{}`, `false`}[c.Intn(6)]
}

// randomJSON makes a value of the types that decoding into any gives.
func randomJSON(c fuzz.Continue, depth int) any {
	switch n := c.Intn(8); {
	case n == 0:
		return nil
	case n == 1:
		return c.RandBool()
	case n == 2:
		return int64(int32(c.Uint32()))
	case n == 3:
		return 0.5 + float64(c.Intn(1000))
	case n == 4 || depth == 0:
		return c.RandString()
	case n < 7:
		m := map[string]any{}
		for range c.Intn(4) {
			m[c.RandString()] = randomJSON(c, depth-1)
		}
		return m
	default:
		l := []any{}
		for range c.Intn(4) {
			l = append(l, randomJSON(c, depth-1))
		}
		return l
	}
}

// APIFiller is a Filler that also fills the types of which only some values have a JSON form.
func APIFiller(seed int64) *fuzz.Fuzzer {
	schema := func(p *apiextensionsv1.JSONSchemaProps, c fuzz.Continue) {
		p.Type, p.Description = c.RandString(), c.RandString()
		if c.Intn(4) == 0 {
			p.Properties = map[string]apiextensionsv1.JSONSchemaProps{"a": {Type: "string"}}
			p.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "x"}}
			p.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &apiextensionsv1.JSONSchemaProps{Type: "y"}}
		}
	}
	return Filler(seed).MaxDepth(10).Funcs(
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

// BuiltinTypes returns the Go types of all built-in kinds, and the shared types that are encoded on their
// own.
func BuiltinTypes() []reflect.Type {
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
