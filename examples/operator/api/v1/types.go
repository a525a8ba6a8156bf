// Package v1 has the kind Website: the version in which objects are stored, and the hub of conversions. The
// definition of the custom resource is made of the types, comments and markers here and in package v1alpha1,
// which has the tests of conversions.
package v1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "demo.keelson.dev", Version: "v1"}

// Kind of Website, for both versions.
var Kind = scheme.Kind{Name: "Website", Resource: "websites", Namespaced: true, ShortNames: []string{"site"}, Categories: []string{"all"},
	Subresources: []scheme.Subresource{{Name: "status", Kind: "Website", Verbs: []string{"get", "patch", "update"}}}}

// Website is served by replicas of one container image behind a service.
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.readyReplicas
// +kubebuilder:resource:path=websites,scope=Namespaced,shortName=site,categories=all
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.host`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
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
	// Replicas is how many pods serve the website.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
	// Port of the container and of the service.
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// Host is the name by which the website is listed in the ConfigMap websites of its namespace, which no
	// other website there may have. It is set to NAME.NAMESPACE.DOMAIN when it is empty, with the operator's
	// domain.
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host,omitempty"`
	// Environment has variables of the container.
	Environment map[string]string `json:"environment,omitempty"`
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

// HostIn returns the host of the website, by default one in domain.
func (w *Website) HostIn(domain string) string {
	if w.Spec.Host != "" {
		return w.Spec.Host
	}
	return w.Name + "." + w.Namespace + "." + domain
}

// Register adds the kinds of this package to a scheme.
func Register(s *scheme.Scheme) error { return scheme.Add[*Website](s, GroupVersion, Kind) }
