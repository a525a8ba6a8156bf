package interop

import (
	"context"
	"fmt"
	"regexp"
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
	"github.com/keelson-dev/keelson/apimachinery/validation"
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
		// As upstream's registry: an object that had duplicates may have others.
		if len(listtype.ValidateListSetsAndMaps(nil, s.structural, old)) == 0 {
			errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, obj)...)
		}
	}
	errs = append(errs, objectmeta.Validate(nil, obj, s.structural, false)...)
	if s.cel == nil {
		return errs
	}
	// As upstream's registry: rules run only if the object is structurally valid.
	if slices.ContainsFunc(errs, func(e *field.Error) bool {
		return slices.Contains([]field.ErrorType{field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid}, e.Type)
	}) {
		return append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
	}
	var before any
	var options []extcel.Option
	if old != nil {
		before = old
		options = append(options, extcel.WithRatcheting(common.NewCorrelatedObject(obj, old, &model.Structural{Structural: s.structural})))
	}
	celErrs, _ := s.cel.Validate(context.Background(), nil, s.structural, obj, before, celconfig.RuntimeCELCostBudget, options...)
	return append(errs, celErrs...)
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
		[]string{`{t: {apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {a: 1}}}`, `{t: {kind: Pod}}`, `{t: {apiVersion: v1, kind: Pod, metadata: 5}}`,
			`{t: {apiVersion: v1, kind: Pod, metadata: {name: x, zap: 1, labels: {}, creationTimestamp: null, ownerReferences: [{apiVersion: v1, kind: Pod, name: q, uid: z, zap: 1}]}}}`,
			`{t: {apiVersion: v1, kind: Pod, metadata: {}}}`, `{t: {apiVersion: v1, kind: Pod, metadata: {labels: {a: b}, annotations: {a: b}, name: x, generateName: q, namespace: z}}}`, `{t: {apiVersion: v1, kind: Pod, metadata: {labels: {"a b": b}, name: X_}}}`,
			`{t: {apiVersion: a/b/c, kind: "No Kind", metadata: {name: a/b, namespace: A_}}}`, `{t: {apiVersion: "", kind: "", metadata: {finalizers: ["a b"], annotations: {"-": x}}}}`, `{t: {apiVersion: 1, kind: true}}`}},
	{`{type: object, properties: {n: {type: integer}, l: {type: array, items: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}, m: {type: object, additionalProperties: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object, properties: {a: {type: string}}}}}}}}`,
		[]string{`{n: 1, l: [{kind: Pod}], m: {a: {apiVersion: v1}}}`, `{n: 2, l: [{kind: Pod}], m: {a: {apiVersion: v1}}}`, `{l: [{apiVersion: v1, kind: Pod, other: 1}], m: {a: {apiVersion: v1, kind: Pod, spec: {a: b, c: d}, other: 1, metadata: {name: x, zap: 1}}}}`}},
	{`{type: object, properties: {s: {type: array, x-kubernetes-list-type: set, items: {type: string}}, m: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}}}}, n: {type: object, properties: {s: {type: array, x-kubernetes-list-type: set, items: {type: integer}}}}}}`,
		[]string{`{s: [a, a]}`, `{s: [a, a, a]}`, `{s: [b, b]}`, `{s: [a], n: {s: [1, 1]}}`, `{m: [{k: a}, {k: a}]}`, `{s: [a, a], n: {s: [1, 2]}}`, `{s: [a, b]}`}},
	{`{type: object, properties: {s: {type: array, x-kubernetes-list-type: set, items: {type: string}}, x: {type: integer}}, x-kubernetes-validations: [{rule: "self.x == 1", reason: FieldValueDuplicate}]}`,
		[]string{`{s: [a], x: 1}`, `{s: [a, a], x: 2}`, `{s: [b, a], x: 2}`}},
	{`{type: object, x-kubernetes-validations: [{rule: "self.all(k, k.startsWith('x-'))", messageExpression: "'keys are ' + string(self.size())"}], maxProperties: 5, additionalProperties: {type: array, maxItems: 4, x-kubernetes-list-type: atomic, x-kubernetes-validations: [{rule: "self.isSorted()", message: sorted}], items: {type: integer, x-kubernetes-validations: [{rule: "self != 7", messageExpression: "'not ' + string(self)"}]}}}`,
		[]string{`{x-a: [1]}`, `{x-a: [2, 1]}`, `{b: [1]}`, `{x-a: [7]}`, `{x-a: [1, 7, 3], b: []}`, `{x-a: [1], x-b: [9, 8]}`}},
	{`{type: object, properties: {replicas: {type: integer, x-kubernetes-validations: [{rule: "self >= oldSelf", message: cannot shrink}]}, class: {type: string, maxLength: 20, x-kubernetes-validations: [{rule: "self == oldSelf", message: is immutable, reason: FieldValueForbidden}]}, once: {type: string, maxLength: 9}}, x-kubernetes-validations: [{rule: "!has(oldSelf.once) || has(self.once)", message: once is required once set, reason: FieldValueRequired, fieldPath: .once}]}`,
		[]string{`{replicas: 3, class: a, once: x}`, `{replicas: 4, class: a, once: x}`, `{replicas: 2, class: a, once: y}`, `{replicas: 3, class: b, once: x}`, `{replicas: 3, class: a}`, `{class: a}`, `{}`}},
	{`{type: object, properties: {url: {type: string, maxLength: 50, x-kubernetes-validations: [{rule: "isURL(self) && url(self).getScheme() == 'https'", message: https only}]}, ip: {type: string, maxLength: 40, x-kubernetes-validations: [{rule: "isIP(self) && ip(self).family() == 4"}]}, net: {type: string, maxLength: 40, x-kubernetes-validations: [{rule: "cidr(self).containsIP('10.0.0.1')"}]}, cpu: {x-kubernetes-int-or-string: true, x-kubernetes-validations: [{rule: "quantity(string(self)).compareTo(quantity('2')) <= 0", message: at most two}]}, version: {type: string, maxLength: 20, x-kubernetes-validations: [{rule: "semver(self).major() > 0", message: not ready}]}, name: {type: string, maxLength: 99, x-kubernetes-validations: [{rule: "!format.dns1123Label().validate(self).hasValue()", messageExpression: "format.dns1123Label().validate(self).value()[0]"}]}, re: {type: string, maxLength: 20, x-kubernetes-validations: [{rule: "self.find('[0-9]+') == '42'"}]}}}`,
		[]string{`{}`, `{url: "https://a.b/c"}`, `{url: "http://a.b"}`, `{url: x}`, `{ip: 1.2.3.4}`, `{ip: "::1"}`, `{ip: z}`, `{net: 10.0.0.0/8}`, `{net: 11.0.0.0/8}`, `{net: z}`, `{cpu: 1}`, `{cpu: 3}`, `{cpu: 1500m}`, `{cpu: x}`, `{version: 1.2.3}`, `{version: 0.9.0}`, `{version: v1}`, `{name: ok}`, `{name: Not_OK}`, `{re: a42b}`, `{re: a43b}`, `{url: x, ip: z, net: z, cpu: x, version: v1}`}},
	{`{type: object, properties: {a: {type: array, maxItems: 5, x-kubernetes-list-type: set, items: {type: string, maxLength: 5}, x-kubernetes-validations: [{rule: "sets.contains(self, ['a'])"}, {rule: "self + ['q'] == oldSelf || self.size() <= oldSelf.size()"}]}, m: {type: object, maxProperties: 4, additionalProperties: {type: object, properties: {v: {type: integer}, w: {type: string, maxLength: 5}}}, x-kubernetes-validations: [{rule: "self.all(k, !has(self[k].v) || self[k].v < 5)"}, {rule: "!('gone' in oldSelf) || 'gone' in self", message: gone stays}, {rule: "self.exists_one(k, has(self[k].w))"}]}, when: {type: string, format: date-time, x-kubernetes-validations: [{rule: "self > timestamp('2026-01-01T00:00:00Z')"}]}, day: {type: string, format: date, x-kubernetes-validations: [{rule: "self.getFullYear() == 2026"}]}, raw: {type: string, format: byte, maxLength: 20, x-kubernetes-validations: [{rule: "self == b'hi'"}]}, num: {type: number, x-kubernetes-validations: [{rule: "self * 2.0 < 3.0"}]}, flag: {type: boolean, x-kubernetes-validations: [{rule: "self", message: must be on}]}, opt: {type: string, nullable: true, maxLength: 5, x-kubernetes-validations: [{rule: "self != 'bad'"}]}}}`,
		[]string{`{a: [a, b], m: {gone: {v: 1, w: x}}}`, `{a: [b]}`, `{a: [a, b, c]}`, `{a: [a]}`, `{m: {x: {w: y}}}`, `{m: {gone: {v: 9, w: x}}}`, `{m: {gone: {}}}`, `{when: "2026-05-01T00:00:00Z"}`, `{when: "2025-05-01T00:00:00Z"}`, `{day: "2026-05-01"}`, `{day: "2025-05-01"}`, `{raw: aGk=}`, `{raw: aGg=}`, `{num: 1}`, `{num: 1.5}`, `{num: 1.4}`, `{flag: false}`, `{flag: true}`, `{opt: null}`, `{opt: bad}`, `{a: [], flag: false, num: 9}`}},
	{`{type: object, properties: {s: {type: array, x-kubernetes-list-type: set, items: {type: array, x-kubernetes-list-type: atomic, items: {type: integer}}}, o: {type: array, x-kubernetes-list-type: set, items: {type: object, x-kubernetes-map-type: atomic, properties: {k: {type: string}}}}, nl: {type: array, items: {type: string, nullable: true}}, d: {type: object, default: {x: 1}, properties: {x: {type: integer, minimum: 2}, y: {type: string, default: z}}}}}`,
		[]string{`{s: [[1], [2]]}`, `{s: [[1], [1]]}`, `{s: [[1], [1], [1]]}`, `{o: [{k: a}, {k: b}]}`, `{o: [{k: a}, {k: a}]}`, `{nl: [null, a]}`, `{nl: [1]}`, `{d: {x: 3}}`, `{d: {}}`, `{d: null}`}},
	{`{type: object, properties: {a: {type: string}}, allOf: [{properties: {a: {minLength: 2}}}, {properties: {a: {maxLength: 3}}}], anyOf: [{properties: {a: {enum: [ab, abc, abcd, x]}}}, {properties: {a: {pattern: "^z"}}}]}`,
		[]string{`{a: ab}`, `{a: x}`, `{a: abcd}`, `{a: zz}`, `{a: q}`, `{a: abcde}`, `{}`}},
	{`{type: object, x-kubernetes-validations: [{rule: "self.num / self.d == 2"}, {rule: "self.l[5] == 1", message: out of range}, {rule: "self.num == 8 || self.d > 0", messageExpression: "self.l[9] == 1 ? 'a' : 'b'"}], properties: {num: {type: integer}, d: {type: integer}, l: {type: array, maxItems: 9, items: {type: integer}}}}`,
		[]string{`{num: 8, d: 4, l: [1, 1, 1, 1, 1, 1]}`, `{num: 8, d: 0, l: [1, 1, 1, 1, 1, 1]}`, `{num: 8, d: 4, l: [1]}`, `{num: 6, d: -3, l: [1, 1, 1, 1, 1, 1]}`, `{num: 8, d: 4}`}},
	{`{type: object, properties: {l: {type: array, maxItems: 100000, items: {type: string, maxLength: 100}, x-kubernetes-validations: [{rule: "self.all(x, self.all(y, self.all(z, x + y + z != 'no')))"}]}}}`,
		[]string{`{l: [a]}`, "{l: [" + strings.Repeat("a, ", 120) + "b]}"}},
}

// differences are deliberate differences between our messages and upstream's, with reasons.
var differences = []struct {
	theirs *regexp.Regexp
	ours   string
}{
	// Lengths of strings are counted in characters, although upstream's message says bytes.
	{regexp.MustCompile(`may not be more than (\d+) bytes?`), "may not be more than $1 characters"},
	{regexp.MustCompile(`may not be more than 1 characters`), "may not be more than 1 character"},
	// The value of a rule is the rule, not the server's own structure that holds it.
	{regexp.MustCompile(`(\.rule: Invalid value: )\{"Rule":("(?:[^"\\]|\\.)*"),"Message":"(?:[^"\\]|\\.)*","MessageExpression":"(?:[^"\\]|\\.)*","Reason":[^,]+,"FieldPath":"(?:[^"\\]|\\.)*","OptionalOldSelf":\w+\}`), "$1$2"},
	{regexp.MustCompile(`(\.messageExpression: Invalid value: )\{"Rule":"(?:[^"\\]|\\.)*","Message":"(?:[^"\\]|\\.)*","MessageExpression":("(?:[^"\\]|\\.)*"),"Reason":[^,]+,"FieldPath":"(?:[^"\\]|\\.)*","OptionalOldSelf":\w+\}`), "$1$2"},
	// The message for a wrong default repeats the field.
	{regexp.MustCompile(`^(\S+\.default): Invalid value: (.*):  in body `), "$1: Invalid value: $2: $1 in body "},
	// Upstream repeats this prefix.
	{regexp.MustCompile(`(network address parse error during conversion from string: )+`), "$1"},
	// The message for an invalid version.
	{regexp.MustCompile(`No Major.Minor.Patch elements found`), `"v1" is not a semantic version: it needs three numbers`},
	// The decoder's message for metadata of the wrong type.
	{regexp.MustCompile(`(\.metadata: Invalid value: .*): json: .*`), "$1: not metadata"},
}

var decoders = regexp.MustCompile(`(\.metadata: Invalid value: .*): cannot decode .*`)

func theirTexts(errs field.ErrorList) []string {
	out := []string{}
	for _, e := range errs {
		text := e.Error()
		for _, d := range differences {
			text = d.theirs.ReplaceAllString(text, d.ours)
		}
		out = append(out, text)
	}
	return out
}

func ourTexts(errs validation.ErrorList) []string {
	out := []string{}
	for _, e := range errs {
		text := e.Error()
		if e.Type == validation.TypeDuplicate && strings.HasPrefix(text, e.Field+": Duplicate value: failed rule") {
			text = e.Field + ": Duplicate value" // upstream omits the message of the rule
		}
		out = append(out, decoders.ReplaceAllString(text, "$1: not metadata"))
	}
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
			// Malformed metadata is dropped by upstream's storage and refused by ours, as by upstream's API.
			if err := objectmeta.Coerce(nil, k8sruntime.DeepCopyJSON(v), theirs.structural, false, false); err == nil {
				err := objectmeta.Coerce(nil, v, theirs.structural, false, false)
				require.Nil(t, err)
			}
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
				require.ElementsMatch(t, theirTexts(theirs.validate(k8sruntime.DeepCopyJSON(v), nil)), ourTexts(mine.Validate(u)))
				require.ElementsMatch(t, theirTexts(theirs.validate(k8sruntime.DeepCopyJSON(v), k8sruntime.DeepCopyJSON(oldTheirs))), ourTexts(mine.ValidateUpdate(u, oldOurs)), "update")
			})
		}
	}
}

// Constraints of a schema on names, kinds and versions are checked as by upstream.
func TestNamesInSchemasAsUpstream(t *testing.T) {
	const yaml = `{type: object, properties: {apiVersion: {type: string}, kind: {type: string, enum: [X, Z]}, metadata: {type: object, properties: {name: {type: string, maxLength: 3, pattern: "^[a-c]+$"}, generateName: {type: string, minLength: 3}}}}}`
	theirs := compileTheirs(t, yaml)
	props := &apiextensionsv1.JSONSchemaProps{}
	_, err := codec.UnmarshalYAML([]byte(yaml), props, codec.DecodeOptions{})
	require.NoError(t, err)
	mine, err := openapi.CompileSchema(props)
	require.NoError(t, err)
	for _, text := range []string{
		`{apiVersion: a/v1, kind: X, metadata: {name: abc, labels: {x: v}}}`, `{apiVersion: a/v1, kind: X, metadata: {name: abca}}`, `{apiVersion: a/v1, kind: X, metadata: {name: xyz}}`, `{apiVersion: a/v1, kind: W, metadata: {name: a}}`,
		`{apiVersion: a/v1, kind: Z, metadata: {name: abc, generateName: a}}`, `{apiVersion: a/v1, kind: X, metadata: {name: xyzxyz, generateName: abc}}`,
	} {
		t.Run(text, func(t *testing.T) {
			v := values(t, text)
			require.ElementsMatch(t, theirTexts(theirs.validate(k8sruntime.DeepCopyJSON(v), nil)), ourTexts(mine.Validate(ours(t, v))))
			require.ElementsMatch(t, theirTexts(theirs.validate(k8sruntime.DeepCopyJSON(v), k8sruntime.DeepCopyJSON(v))), ourTexts(mine.ValidateUpdate(ours(t, v), ours(t, v))), "update")
		})
	}
}

// oddSchemas are schemas that are invalid, or look as if they were.
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
	`{type: object, properties: {a: {type: string, x-kubernetes-validations: [{rule: "quantity(self).isInteger()"}]}}}`, `{type: object, properties: {a: {type: string, x-kubernetes-validations: [{rule: "!format.uri().validate(self).hasValue()"}]}}}`,
	`{type: object, properties: {a: {type: array, items: {type: string}, x-kubernetes-validations: [{rule: "self.isSorted()"}]}}}`, `{type: object, properties: {a: {type: array, maxItems: 100, items: {type: string, maxLength: 100}, x-kubernetes-validations: [{rule: "self.join('-').upperAscii().replace('A', 'bb').find('b+') != ''"}]}}}`,
	`{type: object, properties: {a: {type: array, items: {type: object, properties: {b: {type: array, items: {type: integer, x-kubernetes-validations: [{rule: "self > 0"}]}}}}}}}`,
	`{type: object, properties: {a: {type: array, maxItems: 1000, items: {type: object, x-kubernetes-validations: [{rule: "self.all(k, self[k] == 'x')"}], additionalProperties: {type: string, maxLength: 10}}}}}`,
	`{type: object, properties: {a: {type: array, items: {type: string, maxLength: 3}, x-kubernetes-validations: [{rule: "self.all(x, self.all(y, x == y))"}]}}}`, `{type: object, properties: {a: {type: object, maxProperties: 20, additionalProperties: {type: string}, x-kubernetes-validations: [{rule: "self.map(k, self[k]).isSorted()"}]}}}`,
	`{type: object, x-kubernetes-validations: [{rule: "self.a.find('(') == ''"}], properties: {a: {type: string, maxLength: 5}}}`, `{type: object, x-kubernetes-validations: [{rule: "self.a.matches('(')"}], properties: {a: {type: string, maxLength: 5}}}`,
	`{type: object, x-kubernetes-validations: [{rule: "true", message: "two\\nlines"}]}`, `{type: object, x-kubernetes-validations: [{rule: "true", message: " "}]}`, `{type: object, x-kubernetes-validations: [{rule: "self.a\\n== 1"}], properties: {a: {type: integer}}}`,
	`{type: object, x-kubernetes-validations: [{rule: "self.a == 1", optionalOldSelf: true}], properties: {a: {type: integer}}}`, `{type: object, x-kubernetes-validations: [{rule: "oldSelf.orValue(self).a == 1", optionalOldSelf: true}], properties: {a: {type: integer}}}`,
	`{type: object, x-kubernetes-validations: [{rule: "self.a == 1", fieldPath: ".a.b"}], properties: {a: {type: integer}}}`, `{type: object, x-kubernetes-validations: [{rule: "self.a == 1", fieldPath: ".a"}], properties: {a: {type: integer}}}`, `{type: object, x-kubernetes-validations: [{rule: "self.a == 1", fieldPath: a}], properties: {a: {type: integer}}}`,
	`{type: object, x-kubernetes-validations: [{rule: "self.m['k'] == 1", fieldPath: ".m['k']"}], properties: {m: {type: object, additionalProperties: {type: integer}}}}`, `{type: object, x-kubernetes-validations: [{rule: "self.l[0] == 1", fieldPath: ".l[0]"}], properties: {l: {type: array, items: {type: integer}}}}`,
	`{type: object, properties: {a: {type: integer, default: 5, x-kubernetes-validations: [{rule: "self < 3", message: small}]}}}`, `{type: object, properties: {a: {type: object, default: {}, required: [b], properties: {b: {type: string}}}}}`, `{type: object, properties: {a: {type: object, default: {c: 1}, properties: {b: {type: string}}}}}`, `{type: object, properties: {a: {type: string, default: null}}}`, `{type: object, properties: {a: {type: string, nullable: true, default: null}}}`,
	`{type: object, properties: {a: {type: object, default: {b: 1}, properties: {b: {type: integer, default: 2}}}}}`, `{type: object, properties: {a: {type: string, enum: [a, b], default: c}}}`, `{type: object, properties: {a: {type: array, default: [1, 1], x-kubernetes-list-type: set, items: {type: integer}}}}`,
	`{type: object, properties: {a: {type: integer, minimum: 5, maximum: 3}}}`, `{type: object, properties: {a: {type: string, format: nothing}}}`, `{type: object, properties: {a: {type: string, pattern: "^(?=x)"}}}`, `{type: object, properties: {a: {type: array, uniqueItems: true, items: {type: string}}}}`, `{type: object, properties: {a: {type: object, patternProperties: {x: {type: string}}}}}`,
	`{type: object, required: [a, a]}`, `{type: object, properties: {a: {type: object, additionalProperties: false}}}`, `{type: object, properties: {a: {type: object, additionalProperties: true}}}`, `{type: object, properties: {a: {$ref: "#/x"}}}`, `{type: object, properties: {a: {type: array, items: [{type: string}]}}}`, `{type: object, properties: {a: {type: string, nullable: true, enum: [a, null]}}}`,
	`{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, items: {type: object, required: [k], properties: {k: {type: string}}}}}}`, `{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, k], items: {type: object, required: [k], properties: {k: {type: string}}}}}}`,
	`{type: object, properties: {a: {type: array, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}}}}}}`, `{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: object}}}}}}`,
	`{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: string}}}}`, `{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [q], items: {type: object, required: [k], properties: {k: {type: string, nullable: true}}}}}}`,
	`{type: object, properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: string, nullable: true}}}}`, `{type: object, properties: {a: {type: object, x-kubernetes-map-type: atomic}}}`, `{type: object, properties: {metadata: {type: object, properties: {labels: {type: object}}}}}`, `{type: object, properties: {metadata: {type: string}}}`,
	`{type: object, properties: {a: {type: object, allOf: [{nullable: true, default: {}, description: d, title: t}]}}}`, `{type: object, properties: {a: {type: object, anyOf: [{additionalProperties: {type: string}}]}}}`, `{type: object, properties: {a: {type: array, items: {type: string}, not: {items: {minLength: 3}}}}}`, `{type: object, properties: {a: {type: string, not: {items: {minLength: 3}}}}}`, `{type: object, anyOf: [{x-kubernetes-validations: [{rule: "true"}]}]}`,
	`{type: object, x-kubernetes-preserve-unknown-fields: true, anyOf: [{properties: {b: {minimum: 3}}}]}`, `{type: object, properties: {a: {type: object, anyOf: [{properties: {b: {minimum: 3}}}]}}}`, `{type: object, x-kubernetes-validations: [{rule: "self.num > 0", messageExpression: "'num is ' + string(self.num)"}], properties: {num: {type: integer}}}`,
	`{type: object, x-kubernetes-validations: [{rule: "self.num > 0", messageExpression: "'x ' + string(self.num)"}], properties: {num: {type: integer}}}`, `{type: object, x-kubernetes-validations: [{rule: "self.num > 0.5", messageExpression: "'x ' + string(self.num) + '!'"}], properties: {num: {type: number}}}`,
	`{type: object, properties: {l: {type: array, maxItems: 10, items: {type: integer, x-kubernetes-validations: [{rule: "self > 0", messageExpression: "'x ' + string(self)"}]}}}}`, `{type: object, properties: {a: {type: object, x-kubernetes-validations: [{rule: "self.b", messageExpression: "'x ' + string(self.b)"}], properties: {b: {type: boolean}}}}}`,
	`{type: object, x-kubernetes-validations: [{rule: "self.num > 0", messageExpression: "'%d is not enough'.format([self.num])"}], properties: {num: {type: integer}}}`, `{type: object, x-kubernetes-validations: [{rule: "self.s == ''", messageExpression: "'%s'.format([self.s])"}], properties: {s: {type: string, maxLength: 10}}}`,
	`{type: object, x-kubernetes-validations: [{rule: "self.l.all(x, x == '')", messageExpression: "'l is ' + self.l.join(', ')"}], properties: {l: {type: array, maxItems: 10, items: {type: string, maxLength: 10}}}}`, `{type: object, x-kubernetes-validations: [{rule: "self.t < duration('1m')", messageExpression: "'t is ' + string(self.t)"}], properties: {t: {type: string, format: duration}}}`,
	`{type: object, x-kubernetes-validations: [{rule: "self.i == 1", messageExpression: "'i is ' + string(self.i)"}], properties: {i: {x-kubernetes-int-or-string: true}}}`, `{type: object, x-kubernetes-validations: [{rule: "self.num > oldSelf.num", messageExpression: "string(oldSelf.num) + ' before ' + string(self.num)"}], properties: {num: {type: integer}}}`,
	`{type: object, x-kubernetes-validations: [{rule: "self.s == ''", messageExpression: "self.s + self.s + self.s"}], properties: {s: {type: string, maxLength: 1000}}}`, `{type: object, x-kubernetes-validations: [{rule: "self.s == ''", messageExpression: "''"}, {rule: "self.s == ''", messageExpression: "' '"}, {rule: "true", messageExpression: "a\nb"}], properties: {s: {type: string, maxLength: 1000}}}`,
	`{type: object, x-kubernetes-validations: [{rule: "self.s == ''", messageExpression: "'s is ' + self.s"}], properties: {s: {type: string}}}`, `{type: object, x-kubernetes-validations: [{rule: "self.s == ''", messageExpression: "self.s.nope()"}], properties: {s: {type: string}}}`,
	`{type: object, additionalProperties: {type: string}}`, `{type: object, properties: {a: {type: object, x-kubernetes-embedded-resource: true, additionalProperties: {type: string}}}}`, `{type: object, properties: {a: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, additionalProperties: {type: string}}}}`,
	`{type: object, properties: {a: {x-kubernetes-int-or-string: true, x-kubernetes-preserve-unknown-fields: true}}}`, `{type: object, properties: {a: {x-kubernetes-int-or-string: true, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`, `{type: object, properties: {kind: {type: integer}, apiVersion: {type: object}}}`, `{type: object, properties: {a: {type: object, x-kubernetes-embedded-resource: true, properties: {kind: {type: integer}}}}}`,
	`{type: object, properties: {a: {x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`,
	`{type: object, x-kubernetes-preserve-unknown-fields: true}`, `{x-kubernetes-preserve-unknown-fields: true}`, `{type: object, x-kubernetes-embedded-resource: true}`, `{type: object, properties: {a: {type: string, x-kubernetes-embedded-resource: true}}}`, `{type: object, x-kubernetes-int-or-string: true}`, `{type: object, properties: {a: {x-kubernetes-int-or-string: true, allOf: [{anyOf: [{type: integer}, {type: string}]}, {pattern: "^a"}]}}}`, `{type: object, properties: {a: {type: string, id: x, $schema: "http://s"}}}`, `{type: object, definitions: {a: {type: string}}, dependencies: {a: [b]}}`,
}

// checkBoth checks the definition in yaml, created over old if that is not empty, with upstream's code and
// with ours.
func checkBoth(t *testing.T, yaml, old string) (theirs field.ErrorList, ours validation.ErrorList) {
	t.Helper()
	read := func(yaml string) (*apiextensions.CustomResourceDefinition, *apiextensionsv1.CustomResourceDefinition) {
		text, err := codec.YAMLToJSON([]byte(strings.ReplaceAll(yaml, "\t", " ")))
		require.NoError(t, err)
		var v1 k8sext.CustomResourceDefinition
		require.NoError(t, codec.Unmarshal(text, &v1))
		k8sext.SetDefaults_CustomResourceDefinition(&v1)
		k8sext.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
		internal := &apiextensions.CustomResourceDefinition{}
		require.NoError(t, k8sext.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, internal, nil))
		mine := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, codec.Unmarshal(text, mine))
		apiextensionsv1.DefaultCustomResourceDefinition(mine)
		internal.Status.StoredVersions = mine.Status.StoredVersions
		return internal, mine
	}
	internal, mine := read(yaml)
	if old == "" {
		return extvalidation.ValidateCustomResourceDefinition(context.Background(), internal), openapi.CheckDefinition(mine)
	}
	oldInternal, oldMine := read(old)
	internal.ResourceVersion, oldInternal.ResourceVersion = "1", "1"
	return extvalidation.ValidateCustomResourceDefinitionUpdate(context.Background(), internal, oldInternal), openapi.CheckDefinitionUpdate(mine, oldMine)
}

// Schemas of definitions are refused as by upstream, at the same fields for the same reasons, costs of rules
// included.
func TestDefinitionsAsUpstream(t *testing.T) {
	for _, schema := range oddSchemas {
		t.Run(schema, func(t *testing.T) {
			theirs, ours := checkBoth(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.a.test}, spec: {group: a.test, scope: Namespaced, names: {plural: widgets, kind: Widget},
			versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: `+schema+`}}]}}`, "")
			require.ElementsMatch(t, theirTexts(theirs), ourTexts(ours))
		})
	}
}

// oddDefinitions are definitions that are invalid outside of their schemas: $ stands for the valid part.
var oddDefinitions = []string{
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS}`,
	`spec: {}`,
	`spec: {group: nodots, $SCOPE, $NAMES, $VERSIONS}`,
	`spec: {group: A_.b, $SCOPE, $NAMES, $VERSIONS}`,
	`spec: {$GROUP, $NAMES, $VERSIONS}`,
	`spec: {$GROUP, scope: Global, $NAMES, $VERSIONS}`,
	`spec: {$GROUP, $SCOPE, names: {}, $VERSIONS}`,
	`spec: {$GROUP, $SCOPE, names: {plural: Widgets_, singular: W_, kind: W_, listKind: "", shortNames: ["", A], categories: [all, A_]}, $VERSIONS}`,
	`spec: {$GROUP, $SCOPE, names: {plural: widgets, kind: Widget, listKind: Widget}, $VERSIONS}`,
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS, preserveUnknownFields: true}`,
	`spec: {$GROUP, $SCOPE, $NAMES, preserveUnknownFields: true, conversion: {strategy: Webhook, webhook: {clientConfig: {url: "https://a"}, conversionReviewVersions: [v1]}}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: string, default: x}}}}}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS, conversion: {strategy: Other}}`,
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS, conversion: {strategy: Webhook}}`,
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS, conversion: {strategy: None, webhook: {clientConfig: {url: "https://a"}, conversionReviewVersions: [v1]}}}`,
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS, conversion: {strategy: Webhook, webhook: {clientConfig: {}, conversionReviewVersions: [v2, v2, V_]}}}`,
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS, conversion: {strategy: Webhook, webhook: {clientConfig: {url: "http://a#b"}, conversionReviewVersions: [v1, v1]}}}`,
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS, conversion: {strategy: Webhook, webhook: {clientConfig: {url: "https://?x=1"}, conversionReviewVersions: [v1beta1]}}}`,
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS, conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: "", namespace: "", port: 99999, path: a}}, conversionReviewVersions: [v1]}}}`,
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS, conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: a, namespace: b, port: 443, path: /a//B_/}}, conversionReviewVersions: [v1]}}}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: V_1, served: true, storage: true, deprecationWarning: gone, $SCHEMA}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, deprecated: true, deprecationWarning: "", $SCHEMA}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, deprecated: true, deprecationWarning: "a\nb", $SCHEMA}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, deprecated: true, deprecationWarning: "` + strings.Repeat("x", 257) + `", $SCHEMA}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, $SCHEMA}, {name: v2, served: true, storage: false, $SCHEMA}, {name: v2, served: true, storage: true, $SCHEMA}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, $SCHEMA}, {name: v2, served: true, storage: false}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: text}}}, {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: word}}}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: text}}}, {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: text}}}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, $SCHEMA, subresources: {scale: {specReplicasPath: a, statusReplicasPath: .spec.b, labelSelectorPath: .metadata.c}}}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, $SCHEMA, subresources: {scale: {}}}, {name: v2, served: true, storage: false, $SCHEMA, subresources: {status: {}}}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, $SCHEMA, subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}, additionalPrinterColumns: [{name: "", type: "", jsonPath: ""}, {name: a, type: word, format: word, jsonPath: a}]}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, $SCHEMA, additionalPrinterColumns: [{name: a, type: date, jsonPath: .a, format: date}]}, {name: v2, served: true, storage: false, $SCHEMA, additionalPrinterColumns: [{name: a, type: number, jsonPath: "{.a}"}]}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, $SCHEMA, selectableFields: [{jsonPath: ""}, {jsonPath: .spec.nope}, {jsonPath: .spec}, {jsonPath: .spec.a}, {jsonPath: .spec.a}]}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, $SCHEMA, selectableFields: [{jsonPath: .spec.a}]}, {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {o: {type: object}}}}, selectableFields: [{jsonPath: .o}]}]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {` + strings.Join(letters(func(c string) string { return c + ": {type: string}" }), ", ") + `}}}, selectableFields: [` + strings.Join(letters(func(c string) string { return "{jsonPath: ." + c + "}" }), ", ") + `]}]}`,
	`spec: {group: a.k8s.io, $SCOPE, $NAMES, $VERSIONS}`,
	`metadata: {name: widgets.a.k8s.io, annotations: {api-approved.kubernetes.io: yes it is}}, spec: {group: a.k8s.io, $SCOPE, $NAMES, $VERSIONS}`,
	`metadata: {name: widgets.a.k8s.io, annotations: {api-approved.kubernetes.io: "https://a.test/1"}}, spec: {group: a.k8s.io, $SCOPE, $NAMES, $VERSIONS}`,
	`metadata: {name: widgets.a.k8s.io, annotations: {api-approved.kubernetes.io: unapproved for now}}, spec: {group: a.k8s.io, $SCOPE, $NAMES, $VERSIONS}`,
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS}, status: {storedVersions: [v0, v1]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS}, status: {storedVersions: [v0]}`,
	`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS}, status: {acceptedNames: {plural: A_, kind: K, listKind: K}}`,
}

// letters applies f to the first nine letters.
func letters(f func(string) string) (out []string) {
	for c := 'a'; c <= 'i'; c++ {
		out = append(out, f(string(c)))
	}
	return out
}

var right = strings.NewReplacer("$GROUP", "group: a.test", "$SCOPE", "scope: Namespaced", "$NAMES", "names: {plural: widgets, kind: Widget}",
	"$VERSIONS", "versions: [{name: v1, served: true, storage: true, $SCHEMA}]",
)

func definitionOf(odd string) string {
	if !strings.HasPrefix(odd, "metadata") {
		odd = "metadata: {name: widgets.a.test}, " + odd
	}
	schema := strings.NewReplacer("$SCHEMA", "schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}, o: {type: object}}}}}}")
	return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, " + schema.Replace(right.Replace(odd)) + "}"
}

// Definitions are refused as by upstream for errors outside of their schemas too, when they are created and
// when they are changed.
func TestDefinitionsAroundSchemasAsUpstream(t *testing.T) {
	// The value in a message can be upstream's own structure, which is not ours; the rest is compared.
	type finding struct{ field, reason, detail string }
	compare := func(t *testing.T, yaml, old string) {
		theirs, ours := checkBoth(t, yaml, old)
		want, got := map[finding]bool{}, map[finding]bool{}
		for _, e := range theirs {
			if old != "" && e.Field == "metadata.name" {
				continue // metadata is checked elsewhere
			}
			want[finding{e.Field, e.Type.String(), e.Detail}] = true
		}
		for _, e := range ours {
			got[finding{e.Field, e.Type.String(), e.Detail}] = true
		}
		require.Equal(t, want, got)
	}
	established := `, status: {storedVersions: [v1], conditions: [{type: Established, status: "True"}]}`
	for _, odd := range oddDefinitions {
		t.Run(odd, func(t *testing.T) { compare(t, definitionOf(odd), "") })
		t.Run("update "+odd, func(t *testing.T) {
			compare(t, definitionOf(odd), definitionOf(`spec: {$GROUP, $SCOPE, $NAMES, $VERSIONS}`+established))
		})
	}
}
