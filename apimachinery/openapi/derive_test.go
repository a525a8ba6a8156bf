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
		`{host: a, mode: Other}`:    {"spec.mode: NotSupported"},
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

func TestDeriveRefusesUnknownOptions(t *testing.T) {
	_, err := openapi.Derive[*Misspelt](exampleGroup, scheme.Kind{Resource: "misspelt"}, openapi.DeriveOptions{})
	require.ErrorContains(t, err, `spec: a: the tag openapi does not know "maxlength"`)
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
