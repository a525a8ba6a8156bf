// Package schedulingv1 holds PriorityClass (scheduling.k8s.io/v1).
package schedulingv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// PriorityClass is a name for a priority of pods.
type PriorityClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The priority; higher goes first. Cannot change.
	Value int32 `json:"value" protobuf:"varint,2,opt,name=value"`
	// For pods that name no class; for one class at most.
	GlobalDefault bool `json:"globalDefault,omitempty" protobuf:"varint,3,opt,name=globalDefault"`
	// When to use it, for people.
	Description string `json:"description,omitempty" protobuf:"bytes,4,opt,name=description"`
	// Whether its pods push out others: PreemptLowerPriority (the default) or Never. Cannot change.
	PreemptionPolicy *corev1.PreemptionPolicy `json:"preemptionPolicy,omitempty" protobuf:"bytes,5,opt,name=preemptionPolicy" openapi:"enum=Never|PreemptLowerPriority"`
}

// PriorityClassList is a list of PriorityClass objects.
type PriorityClassList = metav1.List[*PriorityClass]
