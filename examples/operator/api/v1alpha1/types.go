// Package v1alpha1 is the first version of the kind Website, which is still served. Its objects are converted
// to and from version v1: the number of replicas had another name, and there was no environment.
package v1alpha1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	v1 "github.com/keelson-dev/keelson/examples/operator/api/v1"
)

// GroupVersion of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: v1.GroupVersion.Group, Version: "v1alpha1"}

// Website is served by replicas of one container image behind a service.
// +kubebuilder:deprecatedversion:warning="demo.keelson.dev/v1alpha1 Website is deprecated; use demo.keelson.dev/v1"
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.readyReplicas
// +kubebuilder:resource:path=websites,scope=Namespaced,shortName=site,categories=all
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	Spec WebsiteSpec `json:"spec"`
	// Status is the observed state.
	Status WebsiteStatus `json:"status,omitempty"`
}

// WebsiteSpec is the desired state.
type WebsiteSpec struct {
	// Image serves HTTP on the port.
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`
	// Size is how many pods serve the website.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Size *int32 `json:"size,omitempty"`
	// Port of the container and of the service.
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// Host is the name by which the website is listed.
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host,omitempty"`
}

// WebsiteStatus is the observed state.
type WebsiteStatus struct {
	// ObservedGeneration is the generation of the spec that the status reflects.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ReadyReplicas is the number of ready pods.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// URL of the website inside the cluster.
	URL string `json:"url,omitempty"`
	// Conditions has one of type Ready.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Register adds the kinds of this package to a scheme.
func Register(s *scheme.Scheme) error { return scheme.Add[*Website](s, GroupVersion, v1.Kind) }
