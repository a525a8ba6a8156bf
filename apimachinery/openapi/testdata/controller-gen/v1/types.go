// Package v1 has yards.
// +groupName=yard.example.com
// +versionName=v1
package v1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=yards,singular=yard,shortName=yd;y,categories=all;ships,scope=Namespaced
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.docks,statuspath=.status.docks,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Docks",type=integer,JSONPath=`.spec.docks`
// +kubebuilder:printcolumn:name="Grade",type=string,JSONPath=`.spec.grade`,priority=1
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.since`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:selectablefield:JSONPath=`.spec.grade`
// +kubebuilder:selectablefield:JSONPath=`.spec.docks`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40",message="the name is too long"
type Yard struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +required
	Spec   YardSpec   `json:"spec"`
	Status YardStatus `json:"status,omitempty"`
}

// Grade is shared.
// +kubebuilder:validation:Enum=A;B;C
type Grade string

// Code is a pattern of its own.
// +kubebuilder:validation:Pattern=`^[A-Z]{2}[0-9]+$`
// +kubebuilder:validation:MaxLength=10
type Code string

// +kubebuilder:validation:XValidation:rule="!has(self.least) || !has(self.most) || self.least <=
// self.most",message="least is over most",reason=FieldValueInvalid,fieldPath=".least"
// +kubebuilder:validation:XValidation:rule="self.docks >= oldSelf.docks",messageExpression="'not under
// %d'.format([oldSelf.docks])"
type YardSpec struct {
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=1
	Docks int32 `json:"docks"`
	// +kubebuilder:validation:MultipleOf=5
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Minimum=0
	Length int64 `json:"length,omitempty"`
	// +kubebuilder:default=A
	Grade Grade `json:"grade,omitempty"`
	// +optional
	Code *Code `json:"code,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// +kubebuilder:validation:Format=uri
	Home string `json:"home,omitempty"`
	// +kubebuilder:validation:Enum=red;green;blue
	Color string `json:"color,omitempty"`
	// +kubebuilder:validation:Enum=1;2;4
	Cranes int `json:"cranes,omitempty"`
	// +kubebuilder:validation:Enum=fast;slow
	// +nullable
	Mode *string `json:"mode,omitempty"`
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=20
	// +kubebuilder:validation:items:Pattern=`^[a-z]+$`
	Flags []string `json:"flags,omitempty"`
	// +listType=map
	// +listMapKey=name
	// +listMapKey=kind
	Ships []Ship `json:"ships,omitempty"`
	// +listType=atomic
	Order []int64 `json:"order,omitempty"`
	// +mapType=granular
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:MinProperties=1
	Notes map[string]string `json:"notes,omitempty"`
	// +mapType=atomic
	Rates map[string]Rate   `json:"rates,omitempty"`
	Deep  map[string][]Ship `json:"deep,omitempty"`
	// +structType=atomic
	Owner Owner `json:"owner,omitempty"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Free runtime.RawExtension `json:"free,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	Template runtime.RawExtension `json:"template,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Loose Owner `json:"loose,omitempty"`
	// +kubebuilder:validation:XIntOrString
	Port intstr.IntOrString `json:"port,omitempty"`
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^[0-9]+%?$`
	Share  *intstr.IntOrString          `json:"share,omitempty"`
	Weight resource.Quantity            `json:"weight,omitempty"`
	Limits map[string]resource.Quantity `json:"limits,omitempty"`
	Any    *apiextensionsv1.JSON        `json:"any,omitempty"`
	// +kubebuilder:default={a: 1, b: "x"}
	Defaults *Defaults `json:"defaults,omitempty"`
	// +kubebuilder:default={"one","two"}
	List []string `json:"list,omitempty"`
	// +kubebuilder:default=true
	Open bool `json:"open"`
	// +kubebuilder:validation:XValidation:rule="self < 1000",message="too much"
	// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || self >=
	// oldSelf.value()",optionalOldSelf=true,reason=FieldValueForbidden
	Most *int64 `json:"most,omitempty"`
	// +optional
	Least int64 `json:"least"`
	// +kubebuilder:validation:Type=string
	Odd   int64             `json:"odd,omitempty"`
	Data  []byte            `json:"data,omitempty"`
	When  *metav1.Time      `json:"when,omitempty"`
	Micro *metav1.MicroTime `json:"micro,omitempty"`
	Wait  *metav1.Duration  `json:"wait,omitempty"`
	// +kubebuilder:title="The title"
	// +kubebuilder:example="an example"
	Titled string `json:"titled,omitempty"`
	Inline `json:",inline"`
	// +required
	Must      *string                     `json:"must,omitempty"`
	Maybe     *string                     `json:"maybe"`
	Zero      Owner                       `json:"zero,omitzero"`
	Float     float64                     `json:"float,omitempty"`
	Single    float32                     `json:"single,omitempty"`
	Tiny      int8                        `json:"tiny,omitempty"`
	Unsigned  uint32                      `json:"unsigned,omitempty"`
	Hidden    string                      `json:"-"`
	Selector  *metav1.LabelSelector       `json:"selector,omitempty"`
	Env       []corev1.EnvVar             `json:"env,omitempty"`
	Ref       corev1.LocalObjectReference `json:"ref,omitempty"`
	Object    *corev1.ObjectReference     `json:"object,omitempty"`
	Key       *corev1.SecretKeySelector   `json:"key,omitempty"`
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	Protocol  corev1.Protocol             `json:"protocol,omitempty"`
	Taints    []corev1.Toleration         `json:"taints,omitempty"`
	Probe     *corev1.Probe               `json:"probe,omitempty"`
}

type Inline struct {
	// +kubebuilder:validation:Minimum=1
	Inner int32 `json:"inner,omitempty"`
}

type Ship struct {
	Name string `json:"name"`
	// +kubebuilder:default=tug
	Kind  string `json:"kind"`
	Codes []Code `json:"codes,omitempty"`
}

type Rate struct {
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMaximum=true
	// +kubebuilder:validation:Maximum=1
	Share float64 `json:"share"`
}

type Owner struct {
	Name string `json:"name,omitempty"`
}

type Defaults struct {
	A int32  `json:"a,omitempty"`
	B string `json:"b,omitempty"`
}

type YardStatus struct {
	Docks    int32        `json:"docks,omitempty"`
	Selector string       `json:"selector,omitempty"`
	Since    *metav1.Time `json:"since,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// +kubebuilder:object:root=true
type YardList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Yard `json:"items"`
}
