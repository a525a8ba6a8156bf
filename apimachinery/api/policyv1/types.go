// Package policyv1 holds PodDisruptionBudget and Eviction (policy/v1).
package policyv1

import (
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type Eviction struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	DeleteOptions     *metav1.DeleteOptions `json:"deleteOptions,omitempty" protobuf:"bytes,2,opt,name=deleteOptions"`
}

type PodDisruptionBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              PodDisruptionBudgetSpec   `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	Status            PodDisruptionBudgetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type PodDisruptionBudgetSpec struct {
	MinAvailable               *intstr.IntOrString             `json:"minAvailable,omitempty" protobuf:"bytes,1,opt,name=minAvailable"`
	Selector                   *metav1.LabelSelector           `json:"selector,omitempty" patchStrategy:"replace" protobuf:"bytes,2,opt,name=selector"`
	MaxUnavailable             *intstr.IntOrString             `json:"maxUnavailable,omitempty" protobuf:"bytes,3,opt,name=maxUnavailable"`
	UnhealthyPodEvictionPolicy *UnhealthyPodEvictionPolicyType `json:"unhealthyPodEvictionPolicy,omitempty" protobuf:"bytes,4,opt,name=unhealthyPodEvictionPolicy" openapi:"enum=AlwaysAllow|IfHealthyBudget"`
}

type PodDisruptionBudgetStatus struct {
	ObservedGeneration int64                  `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	DisruptedPods      map[string]metav1.Time `json:"disruptedPods,omitempty" protobuf:"bytes,2,rep,name=disruptedPods"`
	DisruptionsAllowed int32                  `json:"disruptionsAllowed" protobuf:"varint,3,opt,name=disruptionsAllowed"`
	CurrentHealthy     int32                  `json:"currentHealthy" protobuf:"varint,4,opt,name=currentHealthy"`
	DesiredHealthy     int32                  `json:"desiredHealthy" protobuf:"varint,5,opt,name=desiredHealthy"`
	ExpectedPods       int32                  `json:"expectedPods" protobuf:"varint,6,opt,name=expectedPods"`
	Conditions         []metav1.Condition     `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,7,rep,name=conditions"`
}

// PodDisruptionBudgetList is a list of PodDisruptionBudget objects.
type PodDisruptionBudgetList = metav1.List[*PodDisruptionBudget]

type UnhealthyPodEvictionPolicyType string

// The values of UnhealthyPodEvictionPolicyType.
const (
	AlwaysAllow     UnhealthyPodEvictionPolicyType = "AlwaysAllow"
	IfHealthyBudget UnhealthyPodEvictionPolicyType = "IfHealthyBudget"
)

// Well-known names and values of this group.
const (
	DisruptionAllowedCondition                  = "DisruptionAllowed"
	InsufficientPodsReason                      = "InsufficientPods"
	SufficientPodsReason                        = "SufficientPods"
	SyncFailedReason                            = "SyncFailed"
	DisruptionBudgetCause      metav1.CauseType = "DisruptionBudget"
)
