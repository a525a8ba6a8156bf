package openapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func props(t testing.TB, yaml string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	p := &apiextensionsv1.JSONSchemaProps{}
	issues, err := codec.UnmarshalYAML([]byte(yaml), p, codec.DecodeOptions{Strict: true})
	require.NoError(t, err)
	require.Empty(t, issues)
	return p
}

func schemaOf(t testing.TB, yaml string) *openapi.Structural {
	t.Helper()
	p := props(t, yaml)
	require.Empty(t, openapi.CheckSchema(p, validation.NewPath("schema")))
	s, err := openapi.CompileSchema(p)
	require.NoError(t, err)
	return s
}

func objectOf(t testing.TB, yaml string) *metav1.Unstructured {
	t.Helper()
	u := &metav1.Unstructured{}
	_, err := codec.UnmarshalYAML([]byte(yaml), u, codec.DecodeOptions{})
	require.NoError(t, err)
	return u
}

// texts are errors as "field: type".
func texts(errs validation.ErrorList) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, e.Field+": "+strings.TrimPrefix(string(e.Type), "FieldValue"))
	}
	return out
}

const website = `
type: object
required: [spec]
properties:
  spec:
    type: object
    required: [host]
    properties:
      host: {type: string, maxLength: 10, pattern: '^[a-z.]+$'}
      size: {type: integer, minimum: 1, maximum: 5, default: 2}
      mode: {type: string, enum: ["on", "off"], default: "on"}
      ratio: {type: number, multipleOf: 0.5}
      port: {x-kubernetes-int-or-string: true}
      note: {type: string, nullable: true}
      tags: {type: array, items: {type: string}, x-kubernetes-list-type: set, maxItems: 3}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          properties:
            name: {type: string, maxLength: 20}
            number: {type: integer, default: 80, minimum: 1}
      labels: {type: object, additionalProperties: {type: string}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: object, properties: {a: {type: string}}}}}
      template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
      one: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}
      when: {type: string, format: date-time}
`

func TestPruneAndDefault(t *testing.T) {
	s := schemaOf(t, website)
	u := objectOf(t, `
apiVersion: a/v1
kind: Website
metadata: {name: x}
extra: 1
spec:
  host: a.b
  nope: 1
  size: null
  ports: [{name: a, bad: 1}]
  labels: {x: "y"}
  free: {any: {thing: 1}, known: {a: x, b: y}}
  template: {apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {}}
`)
	require.Equal(t, []string{"extra", "spec.free.known.b", "spec.nope", "spec.ports[0].bad"}, s.Prune(u))
	s.SetDefaults(u)
	require.Empty(t, texts(s.Validate(u)))
	spec := u.Fields["spec"].(map[string]any)
	require.Equal(t, int64(2), spec["size"])
	require.Equal(t, "on", spec["mode"])
	require.Equal(t, int64(80), spec["ports"].([]any)[0].(map[string]any)["number"])
	require.Equal(t, map[string]any{"any": map[string]any{"thing": int64(1)}, "known": map[string]any{"a": "x"}}, spec["free"])
	require.NotContains(t, u.Fields, "extra")
}

func TestValidate(t *testing.T) {
	s := schemaOf(t, website)
	for spec, want := range map[string][]string{
		`{}`:                                       {"spec.host: Required"},
		`{host: 5}`:                                {"spec.host: TypeInvalid"},
		`{host: null}`:                             {"spec.host: TypeInvalid"},
		`{host: a, note: null}`:                    {},
		`{host: aaaaaaaaaaaa}`:                     {"spec.host: TooLong"},
		`{host: A}`:                                {"spec.host: Invalid"},
		`{host: a, size: 9}`:                       {"spec.size: Invalid"},
		`{host: a, size: 1.5}`:                     {"spec.size: TypeInvalid", "<nil>: Invalid"},
		`{host: a, size: 2.0}`:                     {},
		`{host: a, mode: maybe}`:                   {"spec.mode: NotSupported"},
		`{host: a, ratio: 1.25}`:                   {"spec.ratio: Invalid"},
		`{host: a, ratio: 1}`:                      {},
		`{host: a, port: 80}`:                      {},
		`{host: a, port: http}`:                    {},
		`{host: a, port: 1.5}`:                     {"spec.port: TypeInvalid"},
		`{host: a, tags: [a, b, a]}`:               {"spec.tags[2]: Duplicate"},
		`{host: a, tags: [a, b, c, d]}`:            {"spec.tags: TooMany"},
		`{host: a, tags: {}}`:                      {"spec.tags: TypeInvalid"},
		`{host: a, ports: [{name: a}, {name: a}]}`: {"spec.ports[1]: Duplicate"},
		`{host: a, ports: [{name: a, number: 0}]}`: {"spec.ports[0].number: Invalid"},
		`{host: a, ports: [{}]}`:                   {"spec.ports[0].name: Required"},
		`{host: a, labels: {x: 1}}`:                {"spec.labels.x: TypeInvalid"},
		`{host: a, template: {kind: Pod}}`:         {"spec.template.apiVersion: Required"},
		`{host: a, one: {a: x, b: z}}`:             {"<nil>: Invalid"},
		`{host: a, one: {b: z}}`:                   {},
		`{host: a, when: yesterday}`:               {"spec.when: TypeInvalid"},
		`{host: a, when: "2026-01-02T03:04:05Z"}`:  {},
		`[]`: {"spec: TypeInvalid"},
	} {
		u := objectOf(t, "{apiVersion: a/v1, kind: W, metadata: {name: x}, spec: "+spec+"}")
		require.Equal(t, want, texts(s.Validate(u)), spec)
	}
	require.Equal(t, []string{"spec: Required"}, texts(s.Validate(objectOf(t, "{apiVersion: a/v1, kind: W, metadata: {name: x}}"))))
}

// A schema may restrict the names of objects.
func TestNamesAreRestricted(t *testing.T) {
	s := schemaOf(t, `{type: object, properties: {kind: {type: string, enum: [X]}, metadata: {type: object, properties: {name: {type: string, maxLength: 3}, generateName: {type: string, pattern: "^g-$"}}}}}`)
	object := func(meta string) *metav1.Unstructured {
		return objectOf(t, "{apiVersion: a/v1, kind: X, metadata: "+meta+"}")
	}
	require.Empty(t, s.Validate(object(`{name: abc, labels: {a: b}}`)))
	require.Equal(t, []string{"metadata.name: TooLong"}, texts(s.Validate(object(`{name: abcd}`)))[:1])
	require.Equal(t, []string{"metadata.generateName: Invalid"}, texts(s.Validate(object(`{name: abc, generateName: h-}`)))[:1])
	require.Empty(t, s.ValidateUpdate(object(`{name: abcd, labels: {a: b}}`), object(`{name: abcd}`)), "names that are there stay")
	other := object(`{name: abc}`)
	other.Kind = "Y"
	require.Equal(t, []string{"kind: NotSupported"}, texts(s.Validate(other))[:1])
}

func TestRatcheting(t *testing.T) {
	s := schemaOf(t, website)
	bad := `{host: TOOLONGANDUPPER, size: 1, ports: [{name: a, number: 0}, {name: b}], tags: [a, a]}`
	old := objectOf(t, "{spec: "+bad+"}")
	for changed, want := range map[string][]string{
		`{host: TOOLONGANDUPPER, size: 2, ports: [{name: a, number: 0}, {name: b}], tags: [a, a]}`: {},
		`{host: TOOLONGANDUPPER, size: 9, ports: [{name: a, number: 0}, {name: b}], tags: [a, a]}`: {"spec.size: Invalid"},
		`{host: OTHERANDUPPERS, size: 1, ports: [{name: a, number: 0}, {name: b}], tags: [a, a]}`:  {"spec.host: TooLong"},
		`{host: TOOLONGANDUPPER, size: 1, ports: [{name: c}, {name: a, number: 0}], tags: [a, a]}`: {},
		// As it had some before.
		`{host: TOOLONGANDUPPER, size: 1, ports: [{name: a, number: 0, x: 1}, {name: b}], tags: [a, a, b]}`: {},
		`{host: TOOLONGANDUPPER, size: 1, ports: [{name: a, number: -1}, {name: b}], tags: [a, a]}`:         {"spec.ports[0].number: Invalid"},
	} {
		require.Equal(t, want, texts(s.ValidateUpdate(objectOf(t, "{spec: "+changed+"}"), old)), changed)
	}
}

// A write of the status is not held up by what is wrong elsewhere, but by rules.
func TestStatusIsValidatedAlone(t *testing.T) {
	s := schemaOf(t, `{type: object, required: [spec, more], x-kubernetes-validations: [{rule: "self.status.num < 10"}], properties: {
		spec: {type: object, properties: {t: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}},
		status: {type: object, required: [num], properties: {num: {type: integer, maximum: 20}, l: {type: array, x-kubernetes-list-type: set, items: {type: string}}, old: {type: string, maxLength: 1}}}}}`)
	object := func(status string) *metav1.Unstructured {
		return objectOf(t, "{apiVersion: a/v1, kind: X, metadata: {name: x}, spec: {t: {kind: Pod}}, status: "+status+"}")
	}
	old := object(`{num: 1, old: long}`)
	for status, want := range map[string][]string{
		`{num: 2, old: long}`:         {},
		`{num: 2, old: longer}`:       {"status.old: TooLong"},
		`{num: 11}`:                   {"<nil>: Invalid"},
		`{num: 21}`:                   {"<nil>: Invalid", "status.num: Invalid"},
		`{num: 2, l: [a, a], old: l}`: {"status.l[1]: Duplicate"},
	} {
		got := texts(s.ValidateStatus(object(status), old))
		if len(got) > 0 && got[0] == "status.old: TooLong" {
			got = got[:1] // rules wait
		}
		require.ElementsMatch(t, want, got, status)
	}
	require.Contains(t, texts(s.ValidateStatus(object(`{}`), old)), "status.num: Required")
	require.NotEmpty(t, s.ValidateUpdate(object(`{num: 2}`), old), "more is missing, and the embedded object is none")
	bare := object(`{}`)
	bare.Fields = map[string]any{"spec": old.Fields["spec"], "more": int64(1)}
	require.Equal(t, []string{"<nil>: Invalid"}, texts(s.ValidateStatus(bare, old)), "no such key")
}

const ruled = `
type: object
x-kubernetes-validations:
- {rule: "self.metadata.name.startsWith('w')", message: name begins with w}
properties:
  spec:
    type: object
    x-kubernetes-validations:
    - {rule: "self.min <= self.max", messageExpression: "'min %d is over max %d'.format([self.min, self.max])", reason: FieldValueForbidden, fieldPath: .min}
    - {rule: "self.kind == oldSelf.kind", message: kind is immutable}
    - {rule: "!has(self.quota) || quantity(self.quota).isLessThan(quantity('10Gi'))"}
    - {rule: "oldSelf.hasValue() || self.max < 100", message: new ones are small, optionalOldSelf: true}
    properties:
      min: {type: integer}
      max: {type: integer}
      kind: {type: string, maxLength: 10}
      quota: {type: string, maxLength: 20}
      names: {type: array, maxItems: 10, x-kubernetes-list-type: set, items: {type: string, maxLength: 10, x-kubernetes-validations: [{rule: "self != 'bad'", message: bad name}]}}
      ports:
        type: array
        maxItems: 10
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          x-kubernetes-validations: [{rule: "self.number >= oldSelf.number", message: may not shrink}]
          properties: {name: {type: string, maxLength: 10}, number: {type: integer}}
      time: {type: string, format: duration, x-kubernetes-validations: [{rule: "self < duration('1h')", message: too long}]}
      map: {type: object, maxProperties: 10, additionalProperties: {type: integer}, x-kubernetes-validations: [{rule: "self.all(k, self[k] > 0)", message: positive}]}
      x-y.z: {type: string, maxLength: 5}
`

func TestRules(t *testing.T) {
	s := schemaOf(t, ruled)
	object := func(spec string) *metav1.Unstructured {
		return objectOf(t, "{apiVersion: a/v1, kind: W, metadata: {name: web}, spec: "+spec+"}")
	}
	for spec, want := range map[string]string{
		`{min: 1, max: 2, kind: a}`:                     ``,
		`{min: 3, max: 2, kind: a}`:                     `spec.min: Forbidden: min 3 is over max 2`,
		`{min: 1, max: 200, kind: a}`:                   `spec: Invalid value: new ones are small`,
		`{min: 1, max: 2, kind: a, quota: 20Gi}`:        `spec: Invalid value: failed rule: !has(self.quota) || quantity(self.quota).isLessThan(quantity('10Gi'))`,
		`{min: 1, max: 2, kind: a, names: [ok, bad]}`:   `spec.names[1]: Invalid value: "bad": bad name`,
		`{min: 1, max: 2, kind: a, time: 2h}`:           `spec.time: Invalid value: "2h": too long`,
		`{min: 1, max: 2, kind: a, map: {a: 1, b: -1}}`: `spec.map: Invalid value: positive`,
	} {
		errs := s.Validate(object(spec))
		if want == "" {
			require.Empty(t, errs, spec)
			continue
		}
		require.Equal(t, want, errs.String(), spec)
	}
	u := object(`{min: 1, max: 2, kind: a}`)
	u.Name = "other"
	require.Equal(t, `<nil>: Invalid value: name begins with w`, s.Validate(u).String())

	old := object(`{min: 1, max: 200, kind: a, ports: [{name: a, number: 5}, {name: b, number: 5}], names: [bad]}`)
	for spec, want := range map[string]string{
		`{min: 1, max: 300, kind: a, ports: [{name: b, number: 6}, {name: c, number: 1}, {name: a, number: 5}]}`: ``,
		`{min: 1, max: 300, kind: b}`:                                `spec: Invalid value: kind is immutable`,
		`{min: 1, max: 300, kind: a, ports: [{name: b, number: 4}]}`: `spec.ports[0]: Invalid value: may not shrink`,
		`{min: 1, max: 201, kind: a, names: [bad]}`:                  ``,
	} {
		errs := s.ValidateUpdate(object(spec), old)
		if want == "" {
			require.Empty(t, errs, spec)
			continue
		}
		require.Equal(t, want, errs.String(), spec)
	}
	// Rules wait until the shape is right.
	require.Contains(t, s.Validate(object(`{min: x, max: 2}`)).String(), "some validation rules were not checked")
}

func TestCheckSchema(t *testing.T) {
	for yaml, want := range map[string][]string{
		`{}`:                                  {"s.type: Required"},
		`{type: string}`:                      {"s.type: Invalid"},
		`{type: object, nullable: true}`:      {"s.nullable: Forbidden"},
		`{type: object, properties: {a: {}}}`: {"s.properties[a].type: Required"},
		`{type: object, properties: {a: {type: text}}}`:                                                                                                                        {"s.properties[a].type: NotSupported"},
		`{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true}}}`:                                                                                        {},
		`{type: object, properties: {a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}}}`:                                                        {},
		`{type: object, properties: {a: {type: array}}}`:                                                                                                                       {"s.properties[a].items: Required"},
		`{type: object, properties: {a: {type: object, additionalProperties: {type: string}, properties: {b: {type: string}}}}}`:                                               {"s.properties[a].additionalProperties: Forbidden"},
		`{type: object, properties: {a: {type: object, x-kubernetes-embedded-resource: true}}}`:                                                                                {"s.properties[a].properties: Required"},
		`{type: object, properties: {metadata: {type: object, properties: {labels: {type: object}}}}}`:                                                                         {"s.properties[metadata]: Forbidden"},
		`{type: object, properties: {metadata: {type: object, properties: {name: {type: string, maxLength: 5}}}}}`:                                                             {},
		`{type: object, properties: {a: {type: integer}}, anyOf: [{properties: {a: {minimum: 3}}}]}`:                                                                           {},
		`{type: object, properties: {a: {type: integer}}, anyOf: [{properties: {b: {minimum: 3}}}]}`:                                                                           {"s.properties[b]: Required"},
		`{type: object, properties: {a: {type: integer}}, not: {properties: {a: {type: integer}}}}`:                                                                            {"s.not.properties[a].type: Forbidden"},
		`{type: object, properties: {a: {type: integer, default: x}}}`:                                                                                                         {"s.properties[a].default: TypeInvalid"},
		`{type: object, properties: {a: {type: object, default: {b: 1}, properties: {c: {type: string}}}}}`:                                                                    {"s.properties[a].default: Invalid"},
		`{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, items: {type: object}}}}`:                                                                   {"s.properties[a].x-kubernetes-list-map-keys: Required"},
		`{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {type: string}}}}}}`: {"s.properties[a].items.properties[k].default: Required"},
		`{type: object, properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: object}}}}`:                                                                   {"s.properties[a].items.x-kubernetes-map-type: Invalid"},
		`{type: object, x-kubernetes-validations: [{rule: ""}]}`:                                                                                                               {"s.x-kubernetes-validations[0].rule: Required"},
		`{type: object, x-kubernetes-validations: [{rule: "self.a == 1"}]}`:                                                                                                    {"s.x-kubernetes-validations[0].rule: Invalid"},
		`{type: object, x-kubernetes-validations: [{rule: "'text'"}]}`:                                                                                                         {"s.x-kubernetes-validations[0].rule: Invalid"},
		`{type: object, x-kubernetes-validations: [{rule: "true", messageExpression: "1"}]}`:                                                                                   {"s.x-kubernetes-validations[0].messageExpression: Invalid"},
		`{type: object, x-kubernetes-validations: [{rule: "true", optionalOldSelf: true}]}`:                                                                                    {"s.x-kubernetes-validations[0].optionalOldSelf: Invalid"},
		`{type: object, x-kubernetes-validations: [{rule: "true", fieldPath: .none}]}`:                                                                                         {"s.x-kubernetes-validations[0].fieldPath: Invalid"},
		`{type: object, properties: {a: {type: array, maxItems: 5, items: {type: string, maxLength: 5, x-kubernetes-validations: [{rule: "self == oldSelf"}]}}}}`:              {"s.properties[a].items.x-kubernetes-validations[0].rule: Invalid"},
		`{type: object, properties: {a: {type: array, items: {type: array, items: {type: string, x-kubernetes-validations: [{rule: "self.contains('x')"}]}}}}}`: {
			"s.properties[a].items.items.x-kubernetes-validations[0].rule: Forbidden", "s.properties[a].items.items.x-kubernetes-validations[0].rule: Forbidden", "s: Forbidden",
		},
		`{type: object, properties: {a: {type: array, maxItems: 5, items: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: "self.contains('x')"}]}}}}`: {},
	} {
		require.Equal(t, want, texts(openapi.CheckSchema(props(t, yaml), validation.NewPath("s"))), yaml)
	}
}

func TestFormats(t *testing.T) {
	for format, cases := range map[string][2][]string{
		"ipv4":           {{"1.2.3.4"}, {"::1", "1.2.3"}},
		"ipv6":           {{"::1"}, {"1.2.3.4"}},
		"cidr":           {{"10.0.0.0/8"}, {"10.0.0.0"}},
		"uri":            {{"https://example.com"}, {"example"}},
		"email":          {{"a@example.com"}, {"a"}},
		"hostname":       {{"example.com"}, {"-x", "a b"}},
		"mac":            {{"00:11:22:33:44:55"}, {"0011"}},
		"uuid":           {{"123e4567-e89b-12d3-a456-426614174000"}, {"123"}},
		"uuid4":          {{"123e4567-e89b-42d3-a456-426614174000"}, {"123e4567-e89b-12d3-a456-426614174000"}},
		"byte":           {{"aGk="}, {"%%"}},
		"date":           {{"2026-01-02"}, {"2026-13-02"}},
		"date-time":      {{"2026-01-02T03:04:05Z"}, {"2026-01-02"}},
		"duration":       {{"1h30m", "3 days"}, {"soon"}},
		"isbn10":         {{"0-306-40615-2"}, {"0-306-40615-3"}},
		"isbn13":         {{"978-0-306-40615-7"}, {"978-0-306-40615-8"}},
		"creditcard":     {{"4111 1111 1111 1111"}, {"4111 1111 1111 1112"}},
		"ssn":            {{"123-45-6789"}, {"123"}},
		"hexcolor":       {{"#fff"}, {"red"}},
		"rgbcolor":       {{"rgb(1,2,255)"}, {"rgb(1,2,256)"}},
		"bsonobjectid":   {{"507f1f77bcf86cd799439011"}, {"507"}},
		"unknown":        {{"anything"}, nil},
		"k8s-short-name": {{"a-b"}, {"a.b"}},
	} {
		s := schemaOf(t, "{type: object, properties: {f: {type: string, format: "+format+"}}}")
		for i, want := range [][]string{{}, {"f: TypeInvalid"}} {
			for _, text := range cases[i] {
				require.Equal(t, want, texts(s.Validate(&metav1.Unstructured{Fields: map[string]any{"f": text}})), "%s %s", format, text)
			}
		}
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(website, `{spec: {host: a}}`)
	f.Add(ruled, `{spec: {min: 1}}`)
	f.Fuzz(func(t *testing.T, schema, object string) {
		p := &apiextensionsv1.JSONSchemaProps{}
		if _, err := codec.UnmarshalYAML([]byte(schema), p, codec.DecodeOptions{}); err != nil {
			return
		}
		_ = openapi.CheckSchema(p, validation.NewPath("s"))
		s, err := openapi.CompileSchema(p)
		if err != nil {
			return
		}
		u := &metav1.Unstructured{}
		if _, err := codec.UnmarshalYAML([]byte(object), u, codec.DecodeOptions{}); err != nil {
			return
		}
		s.Prune(u)
		s.SetDefaults(u)
		s.Validate(u)
	})
}

func BenchmarkValidateCustom(b *testing.B) {
	s := schemaOf(b, ruled)
	u := objectOf(b, `{apiVersion: a/v1, kind: W, metadata: {name: web}, spec: {min: 1, max: 2, kind: a, names: [a, b]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if errs := s.Validate(u); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

func ExampleValidate() {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	_, err := codec.UnmarshalYAML([]byte(`
metadata: {name: websites.example.com}
spec:
  group: example.com
  names: {plural: websites, kind: Website}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {replicas: {type: integer, maximum: 3}}
            x-kubernetes-validations: [{rule: "self.replicas != 2", message: never two}]
`), crd, codec.DecodeOptions{})
	if err != nil {
		fmt.Println(err)
	}
	for _, n := range []int64{1, 2, 9} {
		u := &metav1.Unstructured{Fields: map[string]any{"spec": map[string]any{"replicas": n}}}
		u.APIVersion, u.Kind = "example.com/v1", "Website"
		errs, err := openapi.Validate(crd, u)
		if err != nil {
			fmt.Println(err) // no object of this definition
		}
		fmt.Printf("%d: %v\n", n, errs.Err())
	}
	// Output:
	// 1: <nil>
	// 2: spec: Invalid value: never two
	// 9: spec.replicas: Invalid value: 9: spec.replicas in body should be less than or equal to 3
}
