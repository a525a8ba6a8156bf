package openapi_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SiteSpec   `json:"spec"`
	Status            SiteStatus `json:"status,omitempty"`
}

type SiteSpec struct {
	Host     string                  `json:"host" pattern:"^[a-z.]+$" openapi:"maxLength=50" column:"Host"`
	Replicas int32                   `json:"replicas" default:"1" openapi:"minimum=0,maximum=9" column:"Wanted"`
	Mode     string                  `json:"mode,omitempty" openapi:"enum=Fast|Slow"`
	Size     *resource.Quantity      `json:"size,omitempty"`
	Port     *intstr.IntOrString     `json:"port,omitempty"`
	Min      int64                   `json:"min,omitempty"`
	Max      int64                   `json:"max,omitempty" rule:"self < 100" message:"must be under 100"`
	Labels   map[string]string       `json:"labels,omitempty"`
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
	Tags     []string                `json:"tags,omitempty" listType:"set"`
}

func (SiteSpec) ValidationRules() []apiextensionsv1.ValidationRule {
	return []apiextensionsv1.ValidationRule{{Rule: "!has(self.min) || !has(self.max) || self.min <= self.max", Message: "min is over max"}}
}

type SiteStatus struct {
	Ready      int32              `json:"ready,omitempty" column:"Ready,wide"`
	Since      *metav1.Time       `json:"since,omitempty" column:"Since"`
	Conditions []metav1.Condition `json:"conditions,omitempty" listType:"map" listMapKey:"type"`
}

var exampleGroup = schema.GroupVersion{Group: "example.com", Version: "v1"}

func TestDerive(t *testing.T) {
	d, err := openapi.Derive[*Site](exampleGroup, scheme.Kind{Resource: "sites", Namespaced: true, ShortNames: []string{"st"}}, openapi.DeriveOptions{})
	require.NoError(t, err)
	require.Equal(t, "sites.example.com", d.Name)
	v := d.Spec.Versions[0]
	require.NotNil(t, v.Subresources.Status)
	var columns []string
	for _, c := range v.AdditionalPrinterColumns {
		columns = append(columns, fmt.Sprint(c.Name, " ", c.Type, " ", c.JSONPath, " ", c.Priority))
	}
	require.Equal(t, []string{"Host string .spec.host 0", "Wanted integer .spec.replicas 0", "Ready integer .status.ready 1", "Since date .status.since 0", "Age date .metadata.creationTimestamp 0"}, columns)
	require.Empty(t, openapi.CheckSchema(v.Schema.OpenAPIV3Schema, validation.NewPath("schema")))
	require.Equal(t, []string{"spec"}, v.Schema.OpenAPIV3Schema.Required)
	require.Equal(t, []string{"host"}, v.Schema.OpenAPIV3Schema.Properties["spec"].Required)

	for spec, want := range map[string][]string{
		`{host: a.b, size: 1Gi, port: http, template: {spec: {containers: [{name: a, image: b}]}}}`: {},
		`{host: A}`:                 {"spec.host: Invalid"},
		`{host: a, replicas: 10}`:   {"spec.replicas: Invalid"},
		`{host: a, mode: Other}`:    {"spec.mode: NotSupported", "<nil>: Invalid"},
		`{host: a, max: 200}`:       {"spec.max: Invalid"},
		`{host: a, min: 5, max: 2}`: {"spec: Invalid"},
		`{host: a, tags: [q, q]}`:   {"spec.tags[1]: Duplicate"},
		`{host: a, size: big}`:      {"spec.size: Invalid"},
		`{}`:                        {"spec.host: Required", "<nil>: Invalid"},
	} {
		u := objectOf(t, "{apiVersion: example.com/v1, kind: Site, metadata: {name: x}, spec: "+spec+"}")
		errs, err := openapi.Validate(d, u)
		require.NoError(t, err)
		require.Equal(t, want, texts(errs), spec)
	}
	u := objectOf(t, "{apiVersion: example.com/v1, kind: Site, metadata: {name: x}, spec: {host: a}}")
	_, err = openapi.Validate(d, u)
	require.NoError(t, err)
	n, _ := u.Nested("spec", "replicas")
	require.Equal(t, int64(1), n)

	for head, want := range map[string]string{
		"apiVersion: example.com/v1, kind: Boat": `openapi: sites.example.com defines kind "Site" of group "example.com", the object is of kind "Boat" in "example.com/v1"`,
		"apiVersion: example.org/v1, kind: Site": `openapi: sites.example.com defines kind "Site" of group "example.com", the object is of kind "Site" in "example.org/v1"`,
		"apiVersion: v1, kind: Site":             `openapi: sites.example.com defines kind "Site" of group "example.com", the object is of kind "Site" in "v1"`,
		"apiVersion: example.com/v9, kind: Site": `openapi: sites.example.com has no version "v9"`,
	} {
		u := objectOf(t, "{"+head+", metadata: {name: x}, spec: {host: a, more: 1}}")
		errs, err := openapi.Validate(d, u)
		require.EqualError(t, err, want)
		require.Empty(t, errs)
		require.Equal(t, map[string]any{"host": "a", "more": int64(1)}, u.Fields["spec"], "an object of another kind stays as it is")
	}
}

type Loop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              LoopSpec `json:"spec"`
}

type LoopSpec struct {
	Next *LoopSpec `json:"next,omitempty"`
}

func TestDeriveRefusesCycles(t *testing.T) {
	_, err := openapi.Derive[*Loop](exampleGroup, scheme.Kind{Resource: "loops"}, openapi.DeriveOptions{})
	require.ErrorContains(t, err, "spec: next: the type contains itself")
}

type Wrapper struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WrapperSpec `json:"spec"`
}

type WrapperSpec struct {
	Object metav1.RawExtension `json:"object" openapi:"embedded"`
	Free   struct{}            `json:"free,omitempty" openapi:"preserve,nullable"`
	Level  int64               `json:"level,omitempty" rule:"!oldSelf.hasValue() || self >= oldSelf.value()" optionalOldSelf:"true" reason:"FieldValueForbidden" messageExpression:"'at least %d'.format([oldSelf.value()])" message:"not lower"`
}

func TestDeriveRefinesRulesAndKeepsUnknownFields(t *testing.T) {
	d, err := openapi.Derive[*Wrapper](exampleGroup, scheme.Kind{Resource: "wrappers"}, openapi.DeriveOptions{})
	require.NoError(t, err)
	require.Empty(t, openapi.CheckSchema(d.Spec.Versions[0].Schema.OpenAPIV3Schema, validation.NewPath("schema")))
	s, err := openapi.CompileSchema(d.Spec.Versions[0].Schema.OpenAPIV3Schema)
	require.NoError(t, err)
	object := func(spec string) *metav1.Unstructured {
		return objectOf(t, "{apiVersion: example.com/v1, kind: Wrapper, metadata: {name: x}, spec: "+spec+"}")
	}
	const inner = `{apiVersion: v1, kind: Pod, metadata: {name: a}, anything: 1}`
	u := object(`{object: ` + inner + `, free: {any: 1}, level: 5}`)
	require.Empty(t, s.Prune(u))
	require.Empty(t, s.Validate(u))
	require.Equal(t, []string{"spec.object.kind: Required"}, texts(s.Validate(object(`{object: {apiVersion: v1}}`)))[:1])
	lower := s.ValidateUpdate(object(`{object: `+inner+`, free: null, level: 4}`), u)
	require.Equal(t, "spec.level: Forbidden: at least 5", lower.String())
}

type Misspelt struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		A string `json:"a" openapi:"maxlength=5"`
	} `json:"spec"`
}

// Class shares its enumeration and a rule among all its fields.
type Class string

func (Class) RefineSchema(s *apiextensionsv1.JSONSchemaProps) {
	s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"gold"`)}, {Raw: []byte(`"iron"`)}}
}

func (*Class) ValidationRules() []apiextensionsv1.ValidationRule {
	return []apiextensionsv1.ValidationRule{{Rule: "self == oldSelf", Message: "class is immutable"}}
}

type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ShopSpec `json:"spec"`
}

func (Shop) RefineSchema(s *apiextensionsv1.JSONSchemaProps) {
	s.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"name": {Type: "string", MaxLength: new(int64(5))},
	}}
}

type ShopSpec struct {
	Class Class             `json:"class" selectable:"true"`
	Other Class             `json:"other,omitempty"`
	Tags  []string          `json:"tags,omitempty" items:"maxLength=3,minLength=1" itemPattern:"^[a-z,]+$"`
	Sizes map[string]int32  `json:"sizes,omitempty" items:"minimum=0,exclusiveMinimum,maximum=9"`
	Port  string            `json:"port,omitempty" openapi:"intOrString"`
	Child *ShopSpec         `json:"child,omitempty" openapi:"schemaless"`
	Title string            `json:"title,omitempty" title:"What it is called" example:"Corner" default:"none"`
	Parts []ShopPart        `json:"parts,omitempty" listType:"map" listMapKey:"name"`
	Notes map[string]string `json:"notes,omitempty" mapType:"atomic"`
}

type ShopPart struct {
	Name string `json:"name" openapi:"maxLength=9" column:"nowhere"`
}

func TestDeriveSaysWhatMarkersSay(t *testing.T) {
	columns := []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Parts", Type: "string", JSONPath: ".spec.parts[*].name"}}
	d, err := openapi.Derive[*Shop](exampleGroup, scheme.Kind{Resource: "shops", Categories: []string{"all"}}, openapi.DeriveOptions{Columns: columns})
	require.NoError(t, err)
	v := d.Spec.Versions[0]
	require.Equal(t, []string{"all"}, d.Spec.Names.Categories)
	require.Equal(t, []apiextensionsv1.SelectableField{{JSONPath: ".spec.class"}}, v.SelectableFields)
	require.Equal(t, []string{"Parts", "Age"}, []string{v.AdditionalPrinterColumns[0].Name, v.AdditionalPrinterColumns[1].Name})
	require.Empty(t, openapi.CheckSchema(v.Schema.OpenAPIV3Schema, validation.NewPath("schema")))
	spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
	require.Equal(t, "What it is called", spec.Properties["title"].Title)
	require.JSONEq(t, `"Corner"`, string(spec.Properties["title"].Example.Raw))
	s, err := openapi.CompileSchema(v.Schema.OpenAPIV3Schema)
	require.NoError(t, err)
	object := func(name, spec string) *metav1.Unstructured {
		return objectOf(t, "{apiVersion: example.com/v1, kind: Shop, metadata: {name: "+name+"}, spec: "+spec+"}")
	}
	for spec, want := range map[string][]string{
		`{class: gold, tags: [a], sizes: {a: 9}, port: 5, child: {any: [1]}}`: {},
		`{class: lead}`:                     {"spec.class: NotSupported", "<nil>: Invalid"},
		`{class: gold, other: lead}`:        {"spec.other: NotSupported", "<nil>: Invalid"},
		`{class: gold, tags: [abcd]}`:       {"spec.tags[0]: TooLong", "<nil>: Invalid"},
		`{class: gold, tags: [A]}`:          {"spec.tags[0]: Invalid"},
		`{class: gold, sizes: {a: 0}}`:      {"spec.sizes.a: Invalid"},
		`{class: gold, port: http}`:         {},
		`{class: gold, parts: [{name: a}]}`: {},
	} {
		require.Equal(t, want, texts(s.Validate(object("x", spec))), spec)
	}
	require.Equal(t, []string{"metadata.name: TooLong", "<nil>: Invalid"}, texts(s.Validate(object("longer", `{class: gold}`))))
	changed := s.ValidateUpdate(object("x", `{class: iron}`), object("x", `{class: gold}`))
	require.Contains(t, changed.String(), "class is immutable")
}

type Buried struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Parts []struct {
			A string `json:"a" selectable:"true"`
		} `json:"parts"`
	} `json:"spec"`
}

type Unitemized struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		A string `json:"a" items:"maxLength=5"`
	} `json:"spec"`
}

func TestDeriveRefusesTagsInVain(t *testing.T) {
	_, err := openapi.Derive[*Buried](exampleGroup, scheme.Kind{Resource: "buried"}, openapi.DeriveOptions{})
	require.ErrorContains(t, err, "spec: parts: a: a field in a list or map cannot be selectable")
	_, err = openapi.Derive[*Unitemized](exampleGroup, scheme.Kind{Resource: "unitemized"}, openapi.DeriveOptions{})
	require.ErrorContains(t, err, "spec: a: the tag items is for lists and maps")
}

func TestDeriveRefusesUnknownOptions(t *testing.T) {
	_, err := openapi.Derive[*Misspelt](exampleGroup, scheme.Kind{Resource: "misspelt"}, openapi.DeriveOptions{})
	require.ErrorContains(t, err, `spec: a: the tag openapi has no option "maxlength"`)
}

func ExampleDerive() {
	d, err := openapi.Derive[*Site](exampleGroup, scheme.Kind{Resource: "sites", Namespaced: true}, openapi.DeriveOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	host := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["host"]
	text, _ := codec.Marshal(host)
	fmt.Println(d.Name, string(text))
	// Output: sites.example.com {"type":"string","maxLength":50,"pattern":"^[a-z.]+$"}
}

// A definition is printed as one writes it: without a status, and without null.
func TestDerivedDefinitionsHaveNoStatus(t *testing.T) {
	d, err := openapi.Derive[*Site](exampleGroup, scheme.Kind{Resource: "sites"}, openapi.DeriveOptions{})
	require.NoError(t, err)
	text, err := codec.MarshalYAML(d)
	require.NoError(t, err)
	require.NotContains(t, string(text), "null")
	require.NotContains(t, "\n"+string(text), "\nstatus:")
	require.Contains(t, string(text), "status: {}", "the subresource is there")
}
