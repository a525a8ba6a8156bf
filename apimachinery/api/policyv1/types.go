// Package policyv1 holds PodDisruptionBudget and Eviction (policy/v1).
package policyv1

import (
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Eviction requests the deletion of a pod, subject to the pod disruption budgets that select it.
type Eviction struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Options of the deletion.
	DeleteOptions *metav1.DeleteOptions `json:"deleteOptions,omitempty" protobuf:"bytes,2,opt,name=deleteOptions"`
}

// PodDisruptionBudget limits how many pods of an application may be disrupted voluntarily at the same time.
type PodDisruptionBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired limit and the pods it applies to.
	Spec PodDisruptionBudgetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status PodDisruptionBudgetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PodDisruptionBudgetSpec describes a limit; at most one of minAvailable and maxUnavailable is set.
type PodDisruptionBudgetSpec struct {
	// Number or percentage of the selected pods that must remain available after an eviction; percentages are
	// rounded up.
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty" protobuf:"bytes,1,opt,name=minAvailable"`
	// Selects the pods in the namespace of the budget; an empty selector selects all of them, an unset one
	// selects none.
	Selector *metav1.LabelSelector `json:"selector,omitempty" patchStrategy:"replace" protobuf:"bytes,2,opt,name=selector"`
	// Maximum number or percentage of the selected pods that may be unavailable after an eviction;
	// percentages are rounded up.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,3,opt,name=maxUnavailable"`
	// When running pods that are not ready can be evicted: IfHealthyBudget (the default) only if
	// desiredHealthy pods are healthy, or else as the budget allows, AlwaysAllow regardless of the budget.
	UnhealthyPodEvictionPolicy *UnhealthyPodEvictionPolicyType `json:"unhealthyPodEvictionPolicy,omitempty" protobuf:"bytes,4,opt,name=unhealthyPodEvictionPolicy" openapi:"enum=AlwaysAllow|IfHealthyBudget"`
}

// PodDisruptionBudgetStatus is the observed state of a budget.
type PodDisruptionBudgetStatus struct {
	// Generation of the spec that this status reflects; no eviction is allowed while it is outdated.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// Pods whose eviction has been allowed but whose deletion has not been observed yet, with the time of the
	// eviction.
	DisruptedPods map[string]metav1.Time `json:"disruptedPods,omitempty" protobuf:"bytes,2,rep,name=disruptedPods"`
	// Number of pods that may be evicted now.
	DisruptionsAllowed int32 `json:"disruptionsAllowed" protobuf:"varint,3,opt,name=disruptionsAllowed"`
	// Number of pods that are healthy.
	CurrentHealthy int32 `json:"currentHealthy" protobuf:"varint,4,opt,name=currentHealthy"`
	// Minimum number of pods that must be healthy.
	DesiredHealthy int32 `json:"desiredHealthy" protobuf:"varint,5,opt,name=desiredHealthy"`
	// Number of pods that the budget counts.
	ExpectedPods int32 `json:"expectedPods" protobuf:"varint,6,opt,name=expectedPods"`
	// Conditions of the budget; DisruptionAllowed is true if pods can be evicted now.
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,7,rep,name=conditions"`
}

// PodDisruptionBudgetList is a list of PodDisruptionBudget objects.
type PodDisruptionBudgetList = metav1.List[*PodDisruptionBudget]

// UnhealthyPodEvictionPolicyType enumerates the values of PodDisruptionBudgetSpec.UnhealthyPodEvictionPolicy.
type UnhealthyPodEvictionPolicyType string

const (
	AlwaysAllow     UnhealthyPodEvictionPolicyType = "AlwaysAllow"
	IfHealthyBudget UnhealthyPodEvictionPolicyType = "IfHealthyBudget"
)

// Well-known names and values.
const (
	DisruptionAllowedCondition                  = "DisruptionAllowed"
	InsufficientPodsReason                      = "InsufficientPods"
	SufficientPodsReason                        = "SufficientPods"
	SyncFailedReason                            = "SyncFailed"
	DisruptionBudgetCause      metav1.CauseType = "DisruptionBudget"
)
