// Package policyv1 holds PodDisruptionBudget and Eviction (policy/v1).
package policyv1

import (
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Eviction asks to delete a pod if its budgets allow it.
type Eviction struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Options of the deletion.
	DeleteOptions *metav1.DeleteOptions `json:"deleteOptions,omitempty" protobuf:"bytes,2,opt,name=deleteOptions"`
}

// PodDisruptionBudget bounds how many pods may be taken away at a time on purpose.
type PodDisruptionBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which pods, and how many.
	Spec PodDisruptionBudgetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// How many now; written by the system.
	Status PodDisruptionBudgetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PodDisruptionBudgetSpec is a bound; one of the two is set.
type PodDisruptionBudgetSpec struct {
	// How many pods must stay, as a number or a percentage.
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty" protobuf:"bytes,1,opt,name=minAvailable"`
	// Which pods; all of the namespace if empty, none if unset.
	Selector *metav1.LabelSelector `json:"selector,omitempty" patchStrategy:"replace" protobuf:"bytes,2,opt,name=selector"`
	// How many pods may be missing, as a number or a percentage.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,3,opt,name=maxUnavailable"`
	// Whether pods that are not ready may always go: IfHealthyBudget (the default) or AlwaysAllow.
	UnhealthyPodEvictionPolicy *UnhealthyPodEvictionPolicyType `json:"unhealthyPodEvictionPolicy,omitempty" protobuf:"bytes,4,opt,name=unhealthyPodEvictionPolicy" openapi:"enum=AlwaysAllow|IfHealthyBudget"`
}

// PodDisruptionBudgetStatus is how many pods may be taken away now.
type PodDisruptionBudgetStatus struct {
	// Generation of the spec this is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// Pods being taken away, with the time it was allowed.
	DisruptedPods map[string]metav1.Time `json:"disruptedPods,omitempty" protobuf:"bytes,2,rep,name=disruptedPods"`
	// How many more may go.
	DisruptionsAllowed int32 `json:"disruptionsAllowed" protobuf:"varint,3,opt,name=disruptionsAllowed"`
	// How many are healthy.
	CurrentHealthy int32 `json:"currentHealthy" protobuf:"varint,4,opt,name=currentHealthy"`
	// Pods that must be healthy.
	DesiredHealthy int32 `json:"desiredHealthy" protobuf:"varint,5,opt,name=desiredHealthy"`
	// How many there should be.
	ExpectedPods int32 `json:"expectedPods" protobuf:"varint,6,opt,name=expectedPods"`
	// Facts about the budget; DisruptionAllowed says whether a pod can be evicted now.
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,7,rep,name=conditions"`
}

// PodDisruptionBudgetList is a list of PodDisruptionBudget objects.
type PodDisruptionBudgetList = metav1.List[*PodDisruptionBudget]

// UnhealthyPodEvictionPolicyType is what PodDisruptionBudgetSpec.UnhealthyPodEvictionPolicy can be.
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
