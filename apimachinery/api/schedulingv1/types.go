// Package schedulingv1 holds PriorityClass (scheduling.k8s.io/v1).
package schedulingv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// PriorityClass assigns a priority to the pods that name it.
type PriorityClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Priority of the pods; a higher value takes precedence. Cannot be changed.
	Value int32 `json:"value" protobuf:"varint,2,opt,name=value"`
	// Whether the class applies to pods that name no class. If several classes do, the one with the smallest
	// value applies.
	GlobalDefault bool `json:"globalDefault,omitempty" protobuf:"varint,3,opt,name=globalDefault"`
	// Human-readable description of when to use the class.
	Description string `json:"description,omitempty" protobuf:"bytes,4,opt,name=description"`
	// Whether pods of the class preempt pods of lower priority: PreemptLowerPriority (the default) or Never.
	// Cannot be changed.
	PreemptionPolicy *corev1.PreemptionPolicy `json:"preemptionPolicy,omitempty" protobuf:"bytes,5,opt,name=preemptionPolicy" openapi:"enum=Never|PreemptLowerPriority"`
}

// PriorityClassList is a list of PriorityClass objects.
type PriorityClassList = metav1.List[*PriorityClass]
