package openapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Yard and what is below it are the types of testdata/controller-gen, which say with comments what these say
// with tags.
type Yard struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              YardSpec   `json:"spec"`
	Status            YardStatus `json:"status,omitempty"`
}

func (Yard) ValidationRules() []apiextensionsv1.ValidationRule {
	return []apiextensionsv1.ValidationRule{{Rule: "self.metadata.name.size() <= 40", Message: "the name is too long"}}
}

type YardGrade string

func (YardGrade) RefineSchema(s *apiextensionsv1.JSONSchemaProps) {
	s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"A"`)}, {Raw: []byte(`"B"`)}, {Raw: []byte(`"C"`)}}
}

type YardCode string

func (YardCode) RefineSchema(s *apiextensionsv1.JSONSchemaProps) {
	s.Pattern, s.MaxLength = `^[A-Z]{2}[0-9]+$`, new(int64(10))
}

type YardSpec struct {
	Docks      int32                        `json:"docks" openapi:"minimum=0,maximum=100" default:"1" column:"Docks" selectable:"true"`
	Length     int64                        `json:"length,omitempty" openapi:"multipleOf=5,exclusiveMinimum,minimum=0"`
	Grade      YardGrade                    `json:"grade,omitempty" default:"A" column:"Grade,wide" selectable:"true"`
	Code       *YardCode                    `json:"code,omitempty"`
	Name       string                       `json:"name" openapi:"minLength=1,maxLength=63" pattern:"^[a-z]([-a-z0-9]*[a-z0-9])?$"`
	Home       string                       `json:"home,omitempty" openapi:"format=uri"`
	Color      string                       `json:"color,omitempty" openapi:"enum=red|green|blue"`
	Cranes     int                          `json:"cranes,omitempty" openapi:"enum=1|2|4"`
	Mode       *string                      `json:"mode,omitempty" openapi:"enum=fast|slow,nullable"`
	Flags      []string                     `json:"flags,omitempty" listType:"set" openapi:"minItems=1,maxItems=8" items:"maxLength=20" itemPattern:"^[a-z]+$"`
	Ships      []YardShip                   `json:"ships,omitempty" listType:"map" listMapKey:"name,kind"`
	Order      []int64                      `json:"order,omitempty" listType:"atomic"`
	Notes      map[string]string            `json:"notes,omitempty" mapType:"granular" openapi:"minProperties=1,maxProperties=16"`
	Rates      map[string]YardRate          `json:"rates,omitempty" mapType:"atomic"`
	Deep       map[string][]YardShip        `json:"deep,omitempty"`
	Owner      YardOwner                    `json:"owner,omitempty" mapType:"atomic"`
	Free       metav1.RawExtension          `json:"free,omitempty" openapi:"schemaless"`
	Template   metav1.RawExtension          `json:"template,omitempty" openapi:"preserve,embedded"`
	Loose      YardOwner                    `json:"loose,omitempty" openapi:"preserve"`
	Port       intstr.IntOrString           `json:"port,omitempty"`
	Share      *intstr.IntOrString          `json:"share,omitempty" pattern:"^[0-9]+%?$"`
	Weight     resource.Quantity            `json:"weight,omitempty"`
	Limits     map[string]resource.Quantity `json:"limits,omitempty"`
	Any        *apiextensionsv1.JSON        `json:"any,omitempty"`
	Defaults   *YardDefaults                `json:"defaults,omitempty" default:"{\"a\":1,\"b\":\"x\"}"`
	List       []string                     `json:"list,omitempty" default:"[\"one\",\"two\"]"`
	Open       bool                         `json:"open" default:"true"`
	Most       *YardMost                    `json:"most,omitempty"`
	Least      int64                        `json:"least" openapi:"optional"`
	Odd        YardOdd                      `json:"odd,omitempty"`
	Data       []byte                       `json:"data,omitempty"`
	When       *metav1.Time                 `json:"when,omitempty"`
	Micro      *metav1.MicroTime            `json:"micro,omitempty"`
	Wait       *metav1.Duration             `json:"wait,omitempty"`
	Titled     string                       `json:"titled,omitempty" title:"The title" example:"an example"`
	YardInline `json:",inline"`
	Must       *string                     `json:"must,omitempty" openapi:"required"`
	Maybe      *string                     `json:"maybe"`
	Zero       YardOwner                   `json:"zero,omitzero"`
	Float      float64                     `json:"float,omitempty"`
	Single     float32                     `json:"single,omitempty"`
	Tiny       int8                        `json:"tiny,omitempty"`
	Unsigned   uint32                      `json:"unsigned,omitempty"`
	Hidden     string                      `json:"-"`
	Selector   *metav1.LabelSelector       `json:"selector,omitempty"`
	Env        []corev1.EnvVar             `json:"env,omitempty"`
	Ref        corev1.LocalObjectReference `json:"ref,omitempty"`
	Object     *corev1.ObjectReference     `json:"object,omitempty"`
	Key        *corev1.SecretKeySelector   `json:"key,omitempty"`
	Resources  corev1.ResourceRequirements `json:"resources,omitempty"`
	Protocol   corev1.Protocol             `json:"protocol,omitempty"`
	Taints     []corev1.Toleration         `json:"taints,omitempty"`
	Probe      *corev1.Probe               `json:"probe,omitempty"`
}

func (YardSpec) ValidationRules() []apiextensionsv1.ValidationRule {
	return []apiextensionsv1.ValidationRule{
		{Rule: "!has(self.least) || !has(self.most) || self.least <= self.most", Message: "least is over most", Reason: new(apiextensionsv1.FieldValueInvalid), FieldPath: ".least"},
		{Rule: "self.docks >= oldSelf.docks", MessageExpression: "'not under %d'.format([oldSelf.docks])"},
	}
}

type YardMost int64

func (YardMost) ValidationRules() []apiextensionsv1.ValidationRule {
	return []apiextensionsv1.ValidationRule{
		{Rule: "self < 1000", Message: "too much"},
		{Rule: "!oldSelf.hasValue() || self >= oldSelf.value()", OptionalOldSelf: new(true), Reason: new(apiextensionsv1.FieldValueForbidden)},
	}
}

// YardOdd is a number to the program and a text on the wire.
type YardOdd int64

func (YardOdd) RefineSchema(s *apiextensionsv1.JSONSchemaProps) { s.Type = "string" }

type YardInline struct {
	Inner int32 `json:"inner,omitempty" openapi:"minimum=1"`
}

type YardShip struct {
	Name  string     `json:"name"`
	Kind  string     `json:"kind" default:"tug"`
	Codes []YardCode `json:"codes,omitempty"`
}

type YardRate struct {
	Share float64 `json:"share" openapi:"minimum=0,exclusiveMaximum,maximum=1"`
}

type YardOwner struct {
	Name string `json:"name,omitempty"`
}

type YardDefaults struct {
	A int32  `json:"a,omitempty"`
	B string `json:"b,omitempty"`
}

type YardStatus struct {
	Docks      int32              `json:"docks,omitempty"`
	Selector   string             `json:"selector,omitempty"`
	Since      *metav1.Time       `json:"since,omitempty" column:"Since"`
	Conditions []metav1.Condition `json:"conditions,omitempty" listType:"map" listMapKey:"type" patchStrategy:"merge" patchMergeKey:"type"`
}

type YardV1beta1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Docks int32  `json:"docks,omitempty" column:"Docks"`
		Old   string `json:"old,omitempty"`
	} `json:"spec,omitempty"`
}

// differs is where the derived definition says something else than controller-gen's, and why. Paths are below
// the spec's properties.
var differs = map[string]string{
	"tiny.format":     "fits 32 bits, which controller-gen does not say",
	"unsigned.format": "a uint32 does not fit the int32 controller-gen writes",
	"float.format":    "controller-gen leaves the precision out",
	"single.format":   "as above",
	"rates.additionalProperties.properties.share.format": "as above",
	"wait.format":                   "a text that is no duration is refused by the server, not by the program that reads it",
	"required has docks":            "a field with a default need not be sent, and is there when the schema is checked",
	"required has open":             "as above",
	"ships.items.required has kind": "as above",
	"deep.additionalProperties.items.required has kind": "as above",
	"required has maybe":       "a nil pointer is sent as null, which a required field that is not nullable refuses",
	"required has zero":        "omitzero leaves the field out",
	"versions[1].subresources": "none is none",
}

// What is derived from tags is what controller-gen makes of comments, but for what differs says. Descriptions
// are left out on both sides: a program has no comments of its own source.
func TestDeriveAsControllerGen(t *testing.T) {
	text, err := os.ReadFile("testdata/controller-gen/yard.example.com_yards.yaml")
	require.NoError(t, err)
	want := &apiextensionsv1.CustomResourceDefinition{}
	_, err = codec.UnmarshalYAML(text, want, codec.DecodeOptions{Strict: true})
	require.NoError(t, err)
	kind := scheme.Kind{Name: "Yard", Resource: "yards", Namespaced: true, ShortNames: []string{"yd", "y"}, Categories: []string{"all", "ships"}}
	got, err := openapi.DeriveVersions("yard.example.com", kind, openapi.DefinitionOptions{Annotations: want.Annotations},
		openapi.VersionOf[*Yard]("v1", openapi.DeriveOptions{Stored: true, Scale: &apiextensionsv1.CustomResourceSubresourceScale{
			SpecReplicasPath: ".spec.docks", StatusReplicasPath: ".status.docks", LabelSelectorPath: new(".status.selector"),
		}}),
		openapi.VersionOf[*YardV1beta1]("v1beta1", openapi.DeriveOptions{DeprecationWarning: "yard.example.com/v1beta1 is old; use v1"}),
	)
	require.NoError(t, err)
	reasons := maps.Clone(differs)
	theirs, ours := flattened(t, want), flattened(t, got)
	paths := maps.Clone(theirs)
	maps.Copy(paths, ours)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		short := strings.TrimPrefix(strings.TrimPrefix(path, "spec."), "versions[0].schema.openAPIV3Schema.properties.spec.")
		short = strings.TrimPrefix(short, "properties.")
		if theirs[path] == ours[path] {
			continue
		}
		if _, ok := reasons[short]; !ok {
			t.Errorf("%s: controller-gen %q, derived %q", path, theirs[path], ours[path])
		}
		delete(reasons, short)
	}
	require.Empty(t, reasons, "these do not differ")
}

// flattened is a definition as the JSON of its leaves by path. What has no order is sorted.
func flattened(t *testing.T, d *apiextensionsv1.CustomResourceDefinition) map[string]string {
	text, err := codec.Marshal(d)
	require.NoError(t, err)
	var tree any
	require.NoError(t, json.Unmarshal(text, &tree))
	out := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch x := v.(type) {
		case map[string]any:
			for k, inner := range x {
				walk(strings.TrimPrefix(path+"."+k, "."), inner)
			}
			if len(x) > 0 {
				return
			}
		case []any:
			if strings.HasSuffix(path, ".required") || strings.HasSuffix(path, ".selectableFields") {
				for _, inner := range x {
					leaf, _ := json.Marshal(inner)
					out[path+" has "+strings.Trim(string(leaf), `"`)] = "yes"
				}
				return
			}
			for i, inner := range x {
				walk(fmt.Sprintf("%s[%d]", path, i), inner)
			}
			return
		}
		leaf, err := json.Marshal(v)
		require.NoError(t, err)
		out[path] = string(leaf)
	}
	walk("", tree)
	return out
}
