// Package website is a custom resource and its controller: a Website owns a Deployment and a Service. It is
// what an operator built with this library looks like: plain Go structs, nothing generated, and a reconciler
// that only says what should be.
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

// WebsiteSpec is what its owner wants.
type WebsiteSpec struct {
	// Image serves HTTP on Port.
	Image string `json:"image"`
	// Replicas is how many pods serve the website; the server defaults it to 1.
	Replicas *int32 `json:"replicas,omitempty"`
	// Port of the container and of the service; the server defaults it to 80.
	Port int32 `json:"port,omitempty"`
}

// WebsiteStatus is what the controller has seen.
type WebsiteStatus struct {
	// ObservedGeneration is the generation of the spec the rest is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ReadyReplicas is how many pods answer.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// URL of the website inside the cluster.
	URL string `json:"url,omitempty"`
	// Conditions has one of type Ready.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Register adds the kinds of this package to a scheme.
func Register(s *scheme.Scheme) error {
	return scheme.Add[*Website](s, GroupVersion, scheme.Kind{Resource: "websites", Namespaced: true, ShortNames: []string{"site"},
		Subresources: []scheme.Subresource{{Name: "status", Kind: "Website", Verbs: []string{"get", "patch", "update"}}}})
}
