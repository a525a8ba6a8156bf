package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	k8sext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	extcel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/store/crd"
)

// theirSchema is upstream's machinery for one schema.
type theirSchema struct {
	structural *structuralschema.Structural
	validator  apiservervalidation.SchemaValidator
	cel        *extcel.Validator
}

func compileTheirs(t *testing.T, yaml string) *theirSchema {
	t.Helper()
	var v1 k8sext.JSONSchemaProps
	text, err := codec.YAMLToJSON([]byte(yaml))
	require.NoError(t, err)
	require.NoError(t, codec.Unmarshal(text, &v1))
	internal := &apiextensions.JSONSchemaProps{}
	require.NoError(t, k8sext.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, internal, nil))
	s := &theirSchema{}
	s.structural, err = structuralschema.NewStructural(internal)
	require.NoError(t, err)
	s.validator, _, err = apiservervalidation.NewSchemaValidator(internal)
	require.NoError(t, err)
	s.cel = extcel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	return s
}

func (s *theirSchema) validate(obj, old map[string]any) field.ErrorList {
	var errs field.ErrorList
	if old == nil {
		errs = append(errs, apiservervalidation.ValidateCustomResource(nil, obj, s.validator)...)
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, obj)...)
	} else {
		same := common.NewCorrelatedObject(obj, old, &model.Structural{Structural: s.structural})
		errs = append(errs, apiservervalidation.ValidateCustomResourceUpdate(nil, obj, old, s.validator, apiservervalidation.WithRatcheting(same))...)
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, obj)...)
	}
	errs = append(errs, objectmeta.Validate(nil, obj, s.structural, false)...)
	if len(errs) == 0 && s.cel != nil {
		var before any
		if old != nil {
			before = old
		}
		var options []extcel.Option
		if old != nil {
			options = append(options, extcel.WithRatcheting(common.NewCorrelatedObject(obj, old, &model.Structural{Structural: s.structural})))
		}
		celErrs, _ := s.cel.Validate(context.Background(), nil, s.structural, obj, before, celconfig.RuntimeCELCostBudget, options...)
		errs = append(errs, celErrs...)
	}
	return errs
}

func values(t *testing.T, yaml string) map[string]any {
	t.Helper()
	text, err := codec.YAMLToJSON([]byte(yaml))
	require.NoError(t, err)
	var v map[string]any
	require.NoError(t, codec.Unmarshal(text, &v))
	return v
}

func ours(t *testing.T, v map[string]any) *metav1.Unstructured {
	t.Helper()
	text, err := codec.Marshal(v)
	require.NoError(t, err)
	u := &metav1.Unstructured{}
	require.NoError(t, codec.Unmarshal(text, u))
	return u
}

// corpus pairs schemas of a spec field with values of it. The first value is the old object of the others.
var corpus = []struct {
	schema string
	values []string
}{
	{`{type: object, required: [a], properties: {a: {type: string, maxLength: 3, minLength: 2, pattern: '^[a-z]+$'}, b: {type: integer, minimum: 1, maximum: 5, exclusiveMaximum: true}}}`,
		[]string{`{a: ab}`, `{}`, `{a: abcd}`, `{a: a}`, `{a: AB}`, `{a: 1}`, `{a: null}`, `{a: ab, b: 5}`, `{a: ab, b: 0}`, `{a: ab, b: 1.5}`, `{a: ab, b: "1"}`, `[]`, `text`, `null`}},
	{`{type: object, properties: {e: {type: string, enum: [x, z]}, num: {type: number, multipleOf: 0.5}, t: {type: boolean}, u: {type: string, nullable: true}}}`,
		[]string{`{e: x}`, `{e: q}`, `{num: 1.25}`, `{num: 1.5}`, `{t: "yes"}`, `{u: null}`, `{t: null}`, `{e: q, num: 1.25}`}},
	{`{type: object, properties: {s: {type: array, x-kubernetes-list-type: set, items: {type: string}, maxItems: 3}, m: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, p], items: {type: object, required: [k], properties: {k: {type: string}, p: {type: integer, default: 1}, v: {type: integer, maximum: 3}}}}, o: {type: array, minItems: 1, items: {type: integer}}}}`,
		[]string{`{s: [a], m: [{k: a, v: 9}], o: []}`, `{s: [a, b]}`, `{s: [a, a]}`, `{s: [a, a, a]}`, `{s: [a, b, c, d]}`, `{m: [{k: a}, {k: a, p: 1}]}`, `{m: [{k: a, v: 9}, {k: b, v: 9}]}`, `{m: [{k: b, v: 1}, {k: a, v: 9}]}`, `{m: [{}]}`, `{o: []}`, `{o: [1, x]}`, `{s: {}}`}},
	{`{type: object, properties: {l: {type: object, maxProperties: 2, minProperties: 1, additionalProperties: {type: string, maxLength: 2}}, i: {x-kubernetes-int-or-string: true}, f: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`,
		[]string{`{l: {a: b}}`, `{l: {}}`, `{l: {a: b, c: d, e: f}}`, `{l: {a: bcd}}`, `{l: {a: 1}}`, `{i: 1}`, `{i: x}`, `{i: 1.5}`, `{i: true}`, `{f: {any: [1]}}`}},
	{`{type: object, properties: {a: {type: integer}, b: {type: integer}}, oneOf: [{required: [a]}, {required: [b]}], anyOf: [{properties: {a: {minimum: 3}}}, {properties: {b: {minimum: 3}}}], not: {properties: {a: {enum: [7]}}, required: [a]}}`,
		[]string{`{a: 4}`, `{a: 4, b: 4}`, `{a: 1}`, `{}`, `{a: 7}`}},
	{`{type: object, properties: {d: {type: string, format: date-time}, i: {type: string, format: ipv4}, u: {type: string, format: uuid}, h: {type: string, format: hostname}, e: {type: string, format: email}, r: {type: string, format: uri}, b: {type: string, format: byte}, x: {type: string, format: nothing}, t: {type: string, format: date}, c: {type: string, format: cidr}, num: {type: integer, format: int32}}}`,
		[]string{`{}`, `{d: "2026-01-02T03:04:05Z"}`, `{d: x}`, `{i: 1.2.3.4}`, `{i: "::1"}`, `{u: 123e4567-e89b-12d3-a456-426614174000}`, `{u: x}`, `{h: a.b}`, `{h: "-"}`, `{e: a@b.c}`, `{e: x}`, `{r: "https://a"}`, `{r: x y}`, `{b: aGk=}`, `{b: "%"}`, `{x: y}`, `{t: "2026-01-02"}`, `{t: x}`, `{c: 1.2.3.0/24}`, `{c: x}`, `{num: 1}`, `{num: 3000000000}`}},
	{`{type: object, x-kubernetes-validations: [{rule: "self.a <= self.b", message: m}, {rule: "self.a == oldSelf.a", reason: FieldValueForbidden}, {rule: "!has(self.q) || quantity(self.q).isLessThan(quantity('5'))", fieldPath: .q}, {rule: "!has(self.list) || self.list.all(x, x.size() < 3)", reason: FieldValueDuplicate}], properties: {a: {type: integer}, b: {type: integer}, q: {type: string, maxLength: 9}, list: {type: array, maxItems: 9, items: {type: string, maxLength: 9}}}}`,
		[]string{`{a: 1, b: 2}`, `{a: 3, b: 2}`, `{a: 2, b: 2}`, `{a: 1, b: 2, q: "9"}`, `{a: 1, b: 2, q: x}`, `{a: 1, b: 2, list: [aa, bbb]}`, `{b: 2}`}},
	{`{type: object, properties: {m: {type: array, maxItems: 9, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], x-kubernetes-validations: [{rule: "self.v >= oldSelf.v"}], properties: {k: {type: string, maxLength: 9}, v: {type: integer}}}}, p: {type: object, maxProperties: 9, additionalProperties: {type: integer, x-kubernetes-validations: [{rule: "self > 0"}]}}, t: {type: string, format: duration, x-kubernetes-validations: [{rule: "self < duration('1m')"}]}, i: {x-kubernetes-int-or-string: true, x-kubernetes-validations: [{rule: "type(self) == int ? self > 0 : self.endsWith('%')"}]}, x-y: {type: string, maxLength: 9}, in: {type: string, maxLength: 9}}, x-kubernetes-validations: [{rule: "!has(self.x__dash__y) || self.x__dash__y != 'bad'"}, {rule: "!has(self.__in__) || self.__in__ == 'ok'"}]}`,
		[]string{`{m: [{k: a, v: 5}, {k: b, v: 1}], p: {a: 1}}`, `{m: [{k: b, v: 1}, {k: a, v: 4}]}`, `{m: [{k: c, v: 0}, {k: a, v: 5}]}`, `{p: {a: 0, b: 1}}`, `{t: 30s}`, `{t: 1h}`, `{i: 0}`, `{i: 5%}`, `{i: x}`, `{x-y: bad}`, `{in: other}`, `{in: ok}`}},
	{`{type: object, x-kubernetes-validations: [{rule: "oldSelf.hasValue() ? self.a == oldSelf.value().a : self.a < 5", optionalOldSelf: true}, {rule: "self.s == ['a', 'b'] || self.s.isSorted()"}], properties: {a: {type: integer}, s: {type: array, maxItems: 9, x-kubernetes-list-type: set, items: {type: string, maxLength: 9}}}}`,
		[]string{`{a: 1, s: [b, a]}`, `{a: 1, s: [a, b]}`, `{a: 9, s: [a]}`, `{a: 2, s: [b, a, c]}`}},
	{`{type: object, properties: {t: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`,
		[]string{`{t: {apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {a: 1}}}`, `{t: {kind: Pod}}`, `{t: {apiVersion: v1, kind: Pod, metadata: 5}}`}},
}

// kinds of errors by field, sorted.
func theirKinds(errs field.ErrorList) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, e.Field+" "+string(e.Type))
	}
	slices.Sort(out)
	return out
}

// Objects are pruned, defaulted and refused as by upstream, on create and update, rules included.
func TestCustomResourcesAsUpstream(t *testing.T) {
	for i, c := range corpus {
		yaml := "{type: object, properties: {spec: " + c.schema + "}}"
		theirs := compileTheirs(t, yaml)
		props := &apiextensionsv1.JSONSchemaProps{}
		_, err := codec.UnmarshalYAML([]byte(yaml), props, codec.DecodeOptions{})
		require.NoError(t, err)
		mine, err := openapi.CompileSchema(props)
		require.NoError(t, err)
		prepare := func(spec string) (map[string]any, *metav1.Unstructured) {
			v := values(t, "{apiVersion: a/v1, kind: X, metadata: {name: x}, spec: "+spec+"}")
			u := ours(t, v)
			pruning.Prune(v, theirs.structural, true)
			defaulting.PruneNonNullableNullsWithoutDefaults(v, theirs.structural)
			defaulting.Default(v, theirs.structural)
			mine.Prune(u)
			mine.SetDefaults(u)
			return v, u
		}
		oldTheirs, oldOurs := prepare(c.values[0])
		for _, spec := range c.values {
			t.Run(fmt.Sprintf("%d/%s", i, spec), func(t *testing.T) {
				v, u := prepare(spec)
				require.Equal(t, v["spec"], u.Fields["spec"])
				var created, updated []string
				for _, e := range mine.Validate(u) {
					created = append(created, e.Field+" "+string(e.Type))
				}
				for _, e := range mine.ValidateUpdate(u, oldOurs) {
					updated = append(updated, e.Field+" "+string(e.Type))
				}
				require.ElementsMatch(t, theirKinds(theirs.validate(k8sruntime.DeepCopyJSON(v), nil)), created)
				require.ElementsMatch(t, theirKinds(theirs.validate(k8sruntime.DeepCopyJSON(v), k8sruntime.DeepCopyJSON(oldTheirs))), updated, "update")
			})
		}
	}
}

// schemas that are wrong in one way or another, or look as if they were.
var oddSchemas = []string{
	`{}`, `{type: string}`, `{type: object, nullable: true}`, `{type: object, properties: {a: {}}}`, `{type: object, properties: {a: {type: text}}}`,
	`{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true}}}`, `{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: false, type: object}}}`,
	`{type: object, properties: {a: {type: integer, x-kubernetes-int-or-string: true}}}`,
	`{type: object, properties: {a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}}}`,
	`{type: object, properties: {a: {type: array}}}`, `{type: object, properties: {a: {type: object, additionalProperties: {type: string}, properties: {b: {type: string}}}}}`,
	`{type: object, properties: {a: {type: object, x-kubernetes-embedded-resource: true}}}`,
	`{type: object, properties: {metadata: {type: object, properties: {name: {type: string, maxLength: 5}}}}}`,
	`{type: object, properties: {a: {type: integer}}, anyOf: [{properties: {a: {minimum: 3}}}]}`,
	`{type: object, properties: {a: {type: integer}}, anyOf: [{properties: {b: {minimum: 3}}}]}`,
	`{type: object, properties: {a: {type: integer}}, not: {properties: {a: {type: integer}}}}`,
	`{type: object, properties: {a: {type: integer, default: x}}}`,
	`{type: object, properties: {a: {type: string, default: abc, maxLength: 2}}}`,
	`{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {type: string}}}}}}`,
	`{type: object, properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: object}}}}`,
	`{type: object, properties: {a: {type: string, x-kubernetes-list-type: set}}}`,
	`{type: object, properties: {a: {type: array, x-kubernetes-list-type: other, items: {type: string}}}}`,
	`{type: object, properties: {a: {type: object, x-kubernetes-map-type: other}}}`,
	`{type: object, properties: {a: {type: string, pattern: "("}}}`,
	`{type: object, x-kubernetes-validations: [{rule: ""}]}`, `{type: object, x-kubernetes-validations: [{rule: "self.a == 1"}]}`,
	`{type: object, x-kubernetes-validations: [{rule: "'text'"}]}`, `{type: object, x-kubernetes-validations: [{rule: "true", messageExpression: "1"}]}`,
	`{type: object, x-kubernetes-validations: [{rule: "true", reason: Other}]}`, `{type: object, x-kubernetes-validations: [{rule: "true", fieldPath: .none}]}`,
	`{type: object, x-kubernetes-validations: [{rule: "self.metadata.name == 'x'"}]}`, `{type: object, x-kubernetes-validations: [{rule: "self.metadata.labels == {}"}]}`,
	`{type: object, properties: {a: {type: array, maxItems: 5, items: {type: string, maxLength: 5, x-kubernetes-validations: [{rule: "self == oldSelf"}]}}}}`,
	`{type: object, properties: {a: {type: array, items: {type: array, items: {type: string, x-kubernetes-validations: [{rule: "self.contains('x')"}]}}}}}`,
	`{type: object, properties: {a: {type: array, items: {type: string, x-kubernetes-validations: [{rule: "self.contains('x')"}]}}}}`,
	`{type: object, properties: {a: {type: array, maxItems: 5, items: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: "self.contains('x')"}]}}}}`,
	`{type: object, properties: {a: {type: object, additionalProperties: {type: array, items: {type: string}}, x-kubernetes-validations: [{rule: "self.all(k, self[k].all(v, v.startsWith('x')))"}]}}}`,
	`{type: object, properties: {a: {type: string, maxLength: 100, x-kubernetes-validations: [{rule: "self.matches('^(a+)+$')"}, {rule: "isURL(self)"}, {rule: "ip(self).family() == 4"}]}}}`,
}

// Definitions are refused as by upstream, at the same fields for the same reasons, costs of rules included.
func TestDefinitionsAsUpstream(t *testing.T) {
	for _, schema := range oddSchemas {
		t.Run(schema, func(t *testing.T) {
			yaml := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.a.test}, spec: {group: a.test, scope: Namespaced, names: {plural: widgets, kind: Widget},
			versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: ` + schema + `}}]}}`
			text, err := codec.YAMLToJSON([]byte(strings.ReplaceAll(yaml, "\t", " ")))
			require.NoError(t, err)
			var v1 k8sext.CustomResourceDefinition
			require.NoError(t, codec.Unmarshal(text, &v1))
			k8sext.SetDefaults_CustomResourceDefinition(&v1)
			k8sext.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
			internal := &apiextensions.CustomResourceDefinition{}
			require.NoError(t, k8sext.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, internal, nil))
			internal.Status.StoredVersions = []string{"v1"}

			mine := &apiextensionsv1.CustomResourceDefinition{}
			require.NoError(t, codec.Unmarshal(text, mine))
			apiextensionsv1.DefaultCustomResourceDefinition(mine)
			got := []string{}
			for _, e := range crd.Validate(mine) {
				got = append(got, e.Field+" "+string(e.Type))
			}
			require.ElementsMatch(t, theirKinds(extvalidation.ValidateCustomResourceDefinition(context.Background(), internal)), got)
		})
	}
}
