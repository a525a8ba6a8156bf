// Package nodev1 holds RuntimeClass (node.k8s.io/v1).
package nodev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Overhead is the resource overhead of pods that use a runtime class.
type Overhead struct {
	// Resources that each pod uses in addition to those of its containers.
	PodFixed corev1.ResourceList `json:"podFixed,omitempty" protobuf:"bytes,1,rep,name=podFixed"`
}

// RuntimeClass is a configuration of the container runtime that pods can select.
type RuntimeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Name of the configuration at the container runtime of the nodes, a DNS label. It must mean the same on
	// every node. Cannot be changed.
	Handler string `json:"handler" protobuf:"bytes,2,opt,name=handler" openapi:"required"`
	// Resource overhead of the pods of this class.
	Overhead *Overhead `json:"overhead,omitempty" protobuf:"bytes,3,opt,name=overhead"`
	// Constraints on the nodes that pods of this class are scheduled to; all nodes support the class if
	// unset.
	Scheduling *Scheduling `json:"scheduling,omitempty" protobuf:"bytes,4,opt,name=scheduling"`
}

// Scheduling describes the nodes that support a runtime class.
type Scheduling struct {
	// Labels of the nodes that support the class; merged into the node selector of the pods. A pod whose own
	// node selector contradicts them is rejected.
	NodeSelector map[string]string `json:"nodeSelector,omitempty" mapType:"atomic" protobuf:"bytes,1,rep,name=nodeSelector"`
	// Tolerations added to those of the pods, except for duplicates.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=tolerations"`
}

// RuntimeClassList is a list of RuntimeClass objects.
type RuntimeClassList = metav1.List[*RuntimeClass]
