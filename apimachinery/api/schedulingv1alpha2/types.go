// Package schedulingv1alpha2 holds PodGroup and Workload (scheduling.k8s.io/v1alpha2). Being alpha, they are
// no part of api.Scheme(): a server that is to serve them, and a client that is to use them, add them to a
// scheme of their own.
package schedulingv1alpha2

import "github.com/keelson-dev/keelson/apimachinery/metav1"

// PodGroup is a group of pods that are scheduled together. Pods belong to it by spec.schedulingGroup.
type PodGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// How the pods of the group are scheduled.
	Spec PodGroupSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// What the scheduler has done; populated by the system.
	Status PodGroupStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PodGroupList is a list of PodGroup objects.
type PodGroupList = metav1.List[*PodGroup]

// Finalizer keeps a PodGroup while pods of it exist.
const Finalizer = "scheduling.k8s.io/podgroup-protection"

// PodGroupSpec specifies how the pods of a group are scheduled. It cannot be changed.
type PodGroupSpec struct {
	// Template that the group was created from.
	PodGroupTemplateRef *PodGroupTemplateReference `json:"podGroupTemplateRef" protobuf:"bytes,1,opt,name=podGroupTemplateRef"`
	// Policy of the group. Exactly one of its members is set.
	SchedulingPolicy PodGroupSchedulingPolicy `json:"schedulingPolicy" protobuf:"bytes,2,opt,name=schedulingPolicy" openapi:"required"`
	// What the nodes of the group must have in common. A server has the field only with the feature
	// TopologyAwareWorkloadScheduling.
	SchedulingConstraints *PodGroupSchedulingConstraints `json:"schedulingConstraints,omitempty" protobuf:"bytes,3,opt,name=schedulingConstraints"`
	// Resource claims that the pods of the group share; no server of this module has the field.
	ResourceClaims []PodGroupResourceClaim `json:"resourceClaims,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,4,rep,name=resourceClaims"`
	// Whether pods of the group are preempted singly or together. A server has this and the following fields
	// only with the feature WorkloadAwarePreemption; otherwise it is Pod.
	DisruptionMode *DisruptionMode `json:"disruptionMode,omitempty" default:"Pod" protobuf:"bytes,5,opt,name=disruptionMode" openapi:"enum=Pod|PodGroup"`
	// Priority class of the group.
	PriorityClassName string `json:"priorityClassName,omitempty" protobuf:"bytes,6,opt,name=priorityClassName"`
	// Priority of the group, which the server sets from its class.
	Priority *int32 `json:"priority,omitempty" protobuf:"varint,7,opt,name=priority"`
}

// PodGroupStatus is what the scheduler has done with a group.
type PodGroupStatus struct {
	// Conditions of the group, of the types PodGroupScheduled and DisruptionTarget.
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// Claims that were created for the group.
	ResourceClaimStatuses []PodGroupResourceClaimStatus `json:"resourceClaimStatuses,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,2,rep,name=resourceClaimStatuses"`
}

// Types of conditions of a PodGroup, and their reasons.
const (
	// PodGroupScheduled says whether as many pods of the group as its policy demands have nodes.
	PodGroupScheduled = "PodGroupScheduled"
	// ReasonScheduled, ReasonUnschedulable and ReasonSchedulerError are the reasons of PodGroupScheduled.
	ReasonScheduled      = "Scheduled"
	ReasonUnschedulable  = "Unschedulable"
	ReasonSchedulerError = "SchedulerError"
	// DisruptionTarget says that the group is about to be preempted.
	DisruptionTarget = "DisruptionTarget"
)

// PodGroupSchedulingPolicy is a policy of scheduling. Exactly one member is set.
type PodGroupSchedulingPolicy struct {
	// Pods are scheduled one by one, as pods without a group are.
	Basic *BasicSchedulingPolicy `json:"basic,omitempty" protobuf:"bytes,1,opt,name=basic"`
	// Pods are scheduled all or nothing.
	Gang *GangSchedulingPolicy `json:"gang,omitempty" protobuf:"bytes,2,opt,name=gang"`
}

// BasicSchedulingPolicy is the policy of pods that are scheduled one by one.
type BasicSchedulingPolicy struct{}

// GangSchedulingPolicy is the policy of pods that are scheduled all or nothing.
type GangSchedulingPolicy struct {
	// Number of pods that must have nodes before any of them is bound; at least 1.
	MinCount int32 `json:"minCount" protobuf:"varint,1,opt,name=minCount" openapi:"required"`
}

// PodGroupSchedulingConstraints are what the nodes of a group must have in common.
type PodGroupSchedulingConstraints struct {
	// At most one constraint.
	Topology []TopologyConstraint `json:"topology,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=topology"`
}

// TopologyConstraint demands that the pods of a group are on nodes with one value of a label.
type TopologyConstraint struct {
	// Key of the label.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
}

// DisruptionMode enumerates the values of PodGroupSpec.DisruptionMode.
type DisruptionMode string

// The values of DisruptionMode.
const (
	DisruptionModePod      DisruptionMode = "Pod"
	DisruptionModePodGroup DisruptionMode = "PodGroup"
)

// PodGroupResourceClaim is a resource claim that the pods of a group share. Exactly one of the names of a
// claim and of a template is set.
type PodGroupResourceClaim struct {
	// Name of the entry, unique in the group.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Name of a ResourceClaim in the namespace of the group.
	ResourceClaimName *string `json:"resourceClaimName,omitempty" protobuf:"bytes,2,opt,name=resourceClaimName"`
	// Name of a ResourceClaimTemplate in the namespace of the group.
	ResourceClaimTemplateName *string `json:"resourceClaimTemplateName,omitempty" protobuf:"bytes,3,opt,name=resourceClaimTemplateName"`
}

// PodGroupResourceClaimStatus is the claim that was created for an entry of a group's resourceClaims.
type PodGroupResourceClaimStatus struct {
	// Name of the entry.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Name of the claim; unset if none was needed.
	ResourceClaimName *string `json:"resourceClaimName,omitempty" protobuf:"bytes,2,opt,name=resourceClaimName"`
}

// PodGroupTemplateReference is the template that a group was created from. Exactly one member is set.
type PodGroupTemplateReference struct {
	// Template in a Workload.
	Workload *WorkloadPodGroupTemplateReference `json:"workload" protobuf:"bytes,1,opt,name=workload"`
}

// WorkloadPodGroupTemplateReference is a template in a Workload.
type WorkloadPodGroupTemplateReference struct {
	// Name of the Workload, in the namespace of the group.
	WorkloadName string `json:"workloadName" protobuf:"bytes,1,opt,name=workloadName" openapi:"required"`
	// Name of the template in the Workload.
	PodGroupTemplateName string `json:"podGroupTemplateName" protobuf:"bytes,2,opt,name=podGroupTemplateName" openapi:"required"`
}

// Workload has templates of groups of pods for a controller that creates PodGroups and pods.
type Workload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The templates.
	Spec WorkloadSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

// WorkloadList is a list of Workload objects.
type WorkloadList = metav1.List[*Workload]

// WorkloadSpec has templates of groups of pods. It cannot be changed.
type WorkloadSpec struct {
	// Object whose pods these are, such as a Job; for display.
	ControllerRef *TypedLocalObjectReference `json:"controllerRef,omitempty" protobuf:"bytes,1,opt,name=controllerRef"`
	// One to 8 templates with different names.
	PodGroupTemplates []PodGroupTemplate `json:"podGroupTemplates" listType:"map" listMapKey:"name" protobuf:"bytes,2,rep,name=podGroupTemplates" openapi:"required"`
}

// TypedLocalObjectReference is an object of any kind in the same namespace.
type TypedLocalObjectReference struct {
	// Group of the kind; empty for the core group.
	APIGroup string `json:"apiGroup,omitempty" protobuf:"bytes,1,opt,name=apiGroup"`
	// Kind of the object.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
	// Name of the object.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
}

// PodGroupTemplate is a template of PodGroups.
type PodGroupTemplate struct {
	// Name of the template, a DNS label, unique in the Workload.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Policy of the groups.
	SchedulingPolicy PodGroupSchedulingPolicy `json:"schedulingPolicy" protobuf:"bytes,2,opt,name=schedulingPolicy" openapi:"required"`
	// What the nodes of a group must have in common; see PodGroupSpec.
	SchedulingConstraints *PodGroupSchedulingConstraints `json:"schedulingConstraints" protobuf:"bytes,3,opt,name=schedulingConstraints"`
	// Resource claims that the pods of a group share; no server of this module has the field.
	ResourceClaims []PodGroupResourceClaim `json:"resourceClaims,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,4,rep,name=resourceClaims"`
	// Whether pods of a group are preempted singly or together; see PodGroupSpec.
	DisruptionMode *DisruptionMode `json:"disruptionMode,omitempty" protobuf:"bytes,5,opt,name=disruptionMode" openapi:"enum=Pod|PodGroup"`
	// Priority class of the groups; see PodGroupSpec.
	PriorityClassName string `json:"priorityClassName,omitempty" protobuf:"bytes,6,opt,name=priorityClassName"`
	// Priority of the groups; see PodGroupSpec.
	Priority *int32 `json:"priority,omitempty" protobuf:"varint,7,opt,name=priority"`
}

// MaxTemplates is the greatest number of templates of a Workload.
const MaxTemplates = 8
