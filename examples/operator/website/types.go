// Package website is a custom resource and its controller: a Website owns a Deployment and a Service. It is
// an example of an operator built with this library: plain Go structs without generated code, and a
// reconciler that declares the desired state.
package website

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "demo.keelson.dev", Version: "v1"}

// Website is served by replicas of one container image behind a service. Its definition is in config/crd.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WebsiteSpec   `json:"spec"`
	Status WebsiteStatus `json:"status,omitempty"`
}

// WebsiteSpec is the desired state.
type WebsiteSpec struct {
	// Image serves HTTP on Port.
	Image string `json:"image"`
	// Replicas is how many pods serve the website; the server defaults it to 1.
	Replicas *int32 `json:"replicas,omitempty"`
	// Port of the container and of the service; the server defaults it to 80.
	Port int32 `json:"port,omitempty"`
}

// WebsiteStatus is the observed state.
type WebsiteStatus struct {
	// ObservedGeneration is the generation of the spec that the status reflects.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ReadyReplicas is the number of ready pods.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// URL of the website inside the cluster.
	URL string `json:"url,omitempty"`
	// Conditions has a condition of type Ready.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Register adds the kinds of this package to a scheme.
func Register(s *scheme.Scheme) error {
	return scheme.Add[*Website](s, GroupVersion, scheme.Kind{Resource: "websites", Namespaced: true, ShortNames: []string{"site"},
		Subresources: []scheme.Subresource{{Name: "status", Kind: "Website", Verbs: []string{"get", "patch", "update"}}}})
}
