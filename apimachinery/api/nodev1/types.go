// Package nodev1 holds RuntimeClass (node.k8s.io/v1).
package nodev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type Overhead struct {
	PodFixed corev1.ResourceList `json:"podFixed,omitempty" protobuf:"bytes,1,rep,name=podFixed"`
}

type RuntimeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Handler           string      `json:"handler" protobuf:"bytes,2,opt,name=handler" openapi:"required"`
	Overhead          *Overhead   `json:"overhead,omitempty" protobuf:"bytes,3,opt,name=overhead"`
	Scheduling        *Scheduling `json:"scheduling,omitempty" protobuf:"bytes,4,opt,name=scheduling"`
}

type Scheduling struct {
	NodeSelector map[string]string   `json:"nodeSelector,omitempty" mapType:"atomic" protobuf:"bytes,1,rep,name=nodeSelector"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=tolerations"`
}

// RuntimeClassList is a list of RuntimeClass objects.
type RuntimeClassList = metav1.List[*RuntimeClass]
