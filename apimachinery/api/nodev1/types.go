// Package nodev1 holds RuntimeClass (node.k8s.io/v1).
package nodev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Overhead is what a runtime needs for each pod.
type Overhead struct {
	// Resources for each pod.
	PodFixed corev1.ResourceList `json:"podFixed,omitempty" protobuf:"bytes,1,rep,name=podFixed"`
}

// RuntimeClass is a way to run pods that nodes offer.
type RuntimeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Name of it at the nodes' container runtime; cannot change.
	Handler string `json:"handler" protobuf:"bytes,2,opt,name=handler" openapi:"required"`
	// What it needs for each pod beside the containers.
	Overhead *Overhead `json:"overhead,omitempty" protobuf:"bytes,3,opt,name=overhead"`
	// Which nodes offer it.
	Scheduling *Scheduling `json:"scheduling,omitempty" protobuf:"bytes,4,opt,name=scheduling"`
}

// Scheduling is which nodes offer a runtime.
type Scheduling struct {
	// Labels of the nodes, added to the pods' own.
	NodeSelector map[string]string `json:"nodeSelector,omitempty" mapType:"atomic" protobuf:"bytes,1,rep,name=nodeSelector"`
	// Tolerations added to the pods' own.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=tolerations"`
}

// RuntimeClassList is a list of RuntimeClass objects.
type RuntimeClassList = metav1.List[*RuntimeClass]
