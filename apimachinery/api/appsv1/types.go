// Package appsv1 holds the workload kinds: Deployment, ReplicaSet, StatefulSet, DaemonSet and
// ControllerRevision (apps/v1).
package appsv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// ControllerRevision is an old state of a stateful or daemon set, kept to go back to.
type ControllerRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The state; cannot change.
	Data metav1.RawExtension `json:"data,omitempty" protobuf:"bytes,2,opt,name=data"`
	// Number of the state; higher is newer.
	Revision int64 `json:"revision" protobuf:"varint,3,opt,name=revision" openapi:"required"`
}

// DaemonSet runs one pod on every node, or on those that fit.
type DaemonSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What the pods run, and how they are replaced.
	Spec DaemonSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What there is; written by the system.
	Status DaemonSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// DaemonSetCondition is one fact about a daemon set.
type DaemonSetCondition struct {
	// Name of the fact.
	Type DaemonSetConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// DaemonSetSpec is what a daemon set should look like.
type DaemonSetSpec struct {
	// Labels of its pods; must match the template, and cannot change.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,1,opt,name=selector" openapi:"required"`
	// What pods look like; its node selector and affinity choose the nodes.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,2,opt,name=template" openapi:"required"`
	// How pods are replaced when the template changes.
	UpdateStrategy DaemonSetUpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,3,opt,name=updateStrategy"`
	// Seconds a pod must be ready before it counts as available.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,4,opt,name=minReadySeconds"`
	// How many old revisions are kept to go back to; 10 unless set.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,6,opt,name=revisionHistoryLimit"`
}

// DaemonSetStatus is on which nodes a daemon set runs.
type DaemonSetStatus struct {
	// Nodes that run the pod and should.
	CurrentNumberScheduled int32 `json:"currentNumberScheduled" protobuf:"varint,1,opt,name=currentNumberScheduled" openapi:"required"`
	// Nodes that run the pod and should not.
	NumberMisscheduled int32 `json:"numberMisscheduled" protobuf:"varint,2,opt,name=numberMisscheduled" openapi:"required"`
	// Nodes that should run the pod.
	DesiredNumberScheduled int32 `json:"desiredNumberScheduled" protobuf:"varint,3,opt,name=desiredNumberScheduled" openapi:"required"`
	// Nodes where it is ready.
	NumberReady int32 `json:"numberReady" protobuf:"varint,4,opt,name=numberReady" openapi:"required"`
	// Generation of the spec this is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,5,opt,name=observedGeneration"`
	// Nodes that run the pod of the present template.
	UpdatedNumberScheduled int32 `json:"updatedNumberScheduled,omitempty" protobuf:"varint,6,opt,name=updatedNumberScheduled"`
	// Nodes where it has been ready for minReadySeconds.
	NumberAvailable int32 `json:"numberAvailable,omitempty" protobuf:"varint,7,opt,name=numberAvailable"`
	// Nodes where it is missing or not available.
	NumberUnavailable int32 `json:"numberUnavailable,omitempty" protobuf:"varint,8,opt,name=numberUnavailable"`
	// How often a name for a revision was taken already.
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,9,opt,name=collisionCount"`
	// Facts about the set, by type; no built-in controller reports any.
	Conditions []DaemonSetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,10,rep,name=conditions"`
}

// DaemonSetUpdateStrategy is how pods are replaced.
type DaemonSetUpdateStrategy struct {
	// RollingUpdate (the default), or OnDelete to wait until somebody deletes them.
	Type DaemonSetUpdateStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type" openapi:"enum=OnDelete|RollingUpdate"`
	// Bounds of a rolling update.
	RollingUpdate *RollingUpdateDaemonSet `json:"rollingUpdate,omitempty" protobuf:"bytes,2,opt,name=rollingUpdate"`
}

// Deployment keeps a number of equal pods running and replaces them step by step when their template changes.
type Deployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// How many pods, what they run, and how they are replaced.
	Spec DeploymentSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What there is; written by the system.
	Status DeploymentStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// DeploymentCondition is one fact about a deployment.
type DeploymentCondition struct {
	// Available, Progressing or ReplicaFailure.
	Type DeploymentConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// When it was last written.
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty" protobuf:"bytes,6,opt,name=lastUpdateTime"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,7,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// DeploymentSpec is what a deployment should look like.
type DeploymentSpec struct {
	// How many pods; 1 unless set.
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
	// Labels of its pods; must match the template, and cannot change.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,2,opt,name=selector" openapi:"required"`
	// What new pods look like; a change of it starts a rollout.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,3,opt,name=template" openapi:"required"`
	// How old pods are replaced by new ones.
	Strategy DeploymentStrategy `json:"strategy,omitempty" patchStrategy:"retainKeys" protobuf:"bytes,4,opt,name=strategy"`
	// Seconds a pod must be ready before it counts as available.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,5,opt,name=minReadySeconds"`
	// How many old replica sets are kept to go back to; 10 unless set.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,6,opt,name=revisionHistoryLimit"`
	// Changes of the template do not start a rollout.
	Paused bool `json:"paused,omitempty" protobuf:"varint,7,opt,name=paused"`
	// Seconds without progress after which the rollout is reported as failed; 600 unless set.
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty" protobuf:"varint,9,opt,name=progressDeadlineSeconds"`
}

// DeploymentStatus is what pods a deployment has.
type DeploymentStatus struct {
	// Generation of the spec this is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// Pods that exist, of old and new replica sets, ending ones excluded.
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`
	// Those made from the present template.
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty" protobuf:"varint,3,opt,name=updatedReplicas"`
	// Those that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,7,opt,name=readyReplicas"`
	// Those ready for at least minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas,omitempty" protobuf:"varint,4,opt,name=availableReplicas"`
	// How many are still missing.
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty" protobuf:"varint,5,opt,name=unavailableReplicas"`
	// Those that are ending.
	TerminatingReplicas *int32 `json:"terminatingReplicas,omitempty" protobuf:"varint,9,opt,name=terminatingReplicas"`
	// Facts such as Available and Progressing.
	Conditions []DeploymentCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,6,rep,name=conditions"`
	// How often a name for a replica set was taken already.
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,8,opt,name=collisionCount"`
}

// DeploymentStrategy is how pods are replaced.
type DeploymentStrategy struct {
	// RollingUpdate (the default), or Recreate to end all old pods first.
	Type DeploymentStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type" openapi:"enum=Recreate|RollingUpdate"`
	// Bounds of a rolling update.
	RollingUpdate *RollingUpdateDeployment `json:"rollingUpdate,omitempty" protobuf:"bytes,2,opt,name=rollingUpdate"`
}

// ReplicaSet keeps a number of equal pods running; normally a deployment makes it.
type ReplicaSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// How many pods, and what they run.
	Spec ReplicaSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What there is; written by the system.
	Status ReplicaSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ReplicaSetCondition is one fact about a replica set.
type ReplicaSetCondition struct {
	// Name of the fact.
	Type ReplicaSetConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// ReplicaSetSpec is what a replica set should look like.
type ReplicaSetSpec struct {
	// How many pods; 1 unless set.
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
	// Seconds a pod must be ready before it counts as available.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,4,opt,name=minReadySeconds"`
	// Labels of its pods; must match the template, and cannot change.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,2,opt,name=selector" openapi:"required"`
	// What new pods look like; existing ones stay.
	Template corev1.PodTemplateSpec `json:"template,omitempty" protobuf:"bytes,3,opt,name=template"`
}

// ReplicaSetStatus is what pods a replica set has.
type ReplicaSetStatus struct {
	// Pods of the set that exist, ending ones excluded.
	Replicas int32 `json:"replicas" protobuf:"varint,1,opt,name=replicas" openapi:"required"`
	// Those with all labels of the template.
	FullyLabeledReplicas int32 `json:"fullyLabeledReplicas,omitempty" protobuf:"varint,2,opt,name=fullyLabeledReplicas"`
	// Those that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,4,opt,name=readyReplicas"`
	// Those ready for at least minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas,omitempty" protobuf:"varint,5,opt,name=availableReplicas"`
	// Those that are ending.
	TerminatingReplicas *int32 `json:"terminatingReplicas,omitempty" protobuf:"varint,7,opt,name=terminatingReplicas"`
	// Generation of the spec this is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,3,opt,name=observedGeneration"`
	// Facts about the set, such as ReplicaFailure.
	Conditions []ReplicaSetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,6,rep,name=conditions"`
}

// RollingUpdateDaemonSet bounds a rolling update; exactly one of the two is above zero.
type RollingUpdateDaemonSet struct {
	// On how many nodes the pod may be missing, as a number or a percentage; 1 unless set.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,1,opt,name=maxUnavailable"`
	// On how many nodes old and new pod may run together, as a number or a percentage; 0 unless set.
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty" protobuf:"bytes,2,opt,name=maxSurge"`
}

// RollingUpdateDeployment bounds a rolling update.
type RollingUpdateDeployment struct {
	// How many pods may be missing, as a number or a percentage rounded down; 25% unless set.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,1,opt,name=maxUnavailable"`
	// How many pods there may be too many, as a number or a percentage rounded up; 25% unless set.
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty" protobuf:"bytes,2,opt,name=maxSurge"`
}

// RollingUpdateStatefulSetStrategy bounds a rolling update.
type RollingUpdateStatefulSetStrategy struct {
	// Pods with lower numbers are left as they are; 0 unless set.
	Partition *int32 `json:"partition,omitempty" protobuf:"varint,1,opt,name=partition"`
	// How many pods may be missing, as a number or a percentage; 1 unless set.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,2,opt,name=maxUnavailable"`
}

// StatefulSet keeps pods running that are not alike: each has a name, a number and storage of its own.
type StatefulSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// How many pods, what they run and what they store.
	Spec StatefulSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What there is; written by the system.
	Status StatefulSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// StatefulSetCondition is one fact about a stateful set.
type StatefulSetCondition struct {
	// Name of the fact.
	Type StatefulSetConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// StatefulSetOrdinals is how pods are numbered.
type StatefulSetOrdinals struct {
	// The first number; 0 unless set.
	Start int32 `json:"start" protobuf:"varint,1,opt,name=start"`
}

// StatefulSetPersistentVolumeClaimRetentionPolicy is what becomes of claims.
type StatefulSetPersistentVolumeClaimRetentionPolicy struct {
	// When the set is deleted: Retain (the default) or Delete.
	WhenDeleted PersistentVolumeClaimRetentionPolicyType `json:"whenDeleted,omitempty" protobuf:"bytes,1,opt,name=whenDeleted"`
	// When the set shrinks: Retain (the default) or Delete.
	WhenScaled PersistentVolumeClaimRetentionPolicyType `json:"whenScaled,omitempty" protobuf:"bytes,2,opt,name=whenScaled"`
}

// StatefulSetSpec is what a stateful set should look like.
type StatefulSetSpec struct {
	// How many pods; 1 unless set.
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
	// Labels of its pods; must match the template, and cannot change.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,2,opt,name=selector" openapi:"required"`
	// What pods look like; they are named after the set with a number behind.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,3,opt,name=template" openapi:"required"`
	// Claims made for each pod; they outlive it.
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=volumeClaimTemplates"`
	// Headless service that gives each pod a DNS name.
	ServiceName string `json:"serviceName" protobuf:"bytes,5,opt,name=serviceName"`
	// OrderedReady (the default) makes and ends pods one by one, Parallel all at once.
	PodManagementPolicy PodManagementPolicyType `json:"podManagementPolicy,omitempty" protobuf:"bytes,6,opt,name=podManagementPolicy" openapi:"enum=OrderedReady|Parallel"`
	// How pods are replaced when the template changes.
	UpdateStrategy StatefulSetUpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,7,opt,name=updateStrategy"`
	// How many old revisions are kept to go back to; 10 unless set.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,8,opt,name=revisionHistoryLimit"`
	// Seconds a pod must be ready before it counts as available.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,9,opt,name=minReadySeconds"`
	// What becomes of claims when the set shrinks or is deleted.
	PersistentVolumeClaimRetentionPolicy *StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty" protobuf:"bytes,10,opt,name=persistentVolumeClaimRetentionPolicy"`
	// Where numbering begins.
	Ordinals *StatefulSetOrdinals `json:"ordinals,omitempty" protobuf:"bytes,11,opt,name=ordinals"`
}

// StatefulSetStatus is what pods a stateful set has.
type StatefulSetStatus struct {
	// Generation of the spec this is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// Pods of the set that exist.
	Replicas int32 `json:"replicas" protobuf:"varint,2,opt,name=replicas" openapi:"required"`
	// Those that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,3,opt,name=readyReplicas"`
	// Those of the current revision.
	CurrentReplicas int32 `json:"currentReplicas,omitempty" protobuf:"varint,4,opt,name=currentReplicas"`
	// Those of the update revision.
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty" protobuf:"varint,5,opt,name=updatedReplicas"`
	// Revision of the pods not yet updated.
	CurrentRevision string `json:"currentRevision,omitempty" protobuf:"bytes,6,opt,name=currentRevision"`
	// Revision the pods are updated to.
	UpdateRevision string `json:"updateRevision,omitempty" protobuf:"bytes,7,opt,name=updateRevision"`
	// How often a name for a revision was taken already.
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,9,opt,name=collisionCount"`
	// Facts about the set, by type; no built-in controller reports any.
	Conditions []StatefulSetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,10,rep,name=conditions"`
	// Those ready for at least minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas" protobuf:"varint,11,opt,name=availableReplicas"`
}

// StatefulSetUpdateStrategy is how pods are replaced.
type StatefulSetUpdateStrategy struct {
	// RollingUpdate (the default), or OnDelete to wait until somebody deletes them.
	Type StatefulSetUpdateStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type" openapi:"enum=OnDelete|RollingUpdate"`
	// Bounds of a rolling update.
	RollingUpdate *RollingUpdateStatefulSetStrategy `json:"rollingUpdate,omitempty" protobuf:"bytes,2,opt,name=rollingUpdate"`
}

// ControllerRevisionList is a list of ControllerRevision objects.
type ControllerRevisionList = metav1.List[*ControllerRevision]

// DaemonSetList is a list of DaemonSet objects.
type DaemonSetList = metav1.List[*DaemonSet]

// DeploymentList is a list of Deployment objects.
type DeploymentList = metav1.List[*Deployment]

// ReplicaSetList is a list of ReplicaSet objects.
type ReplicaSetList = metav1.List[*ReplicaSet]

// StatefulSetList is a list of StatefulSet objects.
type StatefulSetList = metav1.List[*StatefulSet]

// DaemonSetConditionType is what DaemonSetCondition.Type can be.
type DaemonSetConditionType string

// DaemonSetUpdateStrategyType is what DaemonSetUpdateStrategy.Type can be.
type DaemonSetUpdateStrategyType string

// The values of DaemonSetUpdateStrategyType.
const (
	OnDeleteDaemonSetStrategyType      DaemonSetUpdateStrategyType = "OnDelete"
	RollingUpdateDaemonSetStrategyType DaemonSetUpdateStrategyType = "RollingUpdate"
)

// DeploymentConditionType is what DeploymentCondition.Type can be.
type DeploymentConditionType string

// The values of DeploymentConditionType.
const (
	DeploymentAvailable      DeploymentConditionType = "Available"
	DeploymentProgressing    DeploymentConditionType = "Progressing"
	DeploymentReplicaFailure DeploymentConditionType = "ReplicaFailure"
)

// DeploymentStrategyType is what DeploymentStrategy.Type can be.
type DeploymentStrategyType string

// The values of DeploymentStrategyType.
const (
	RecreateDeploymentStrategyType      DeploymentStrategyType = "Recreate"
	RollingUpdateDeploymentStrategyType DeploymentStrategyType = "RollingUpdate"
)

// PersistentVolumeClaimRetentionPolicyType is what
// StatefulSetPersistentVolumeClaimRetentionPolicy.WhenDeleted and
// StatefulSetPersistentVolumeClaimRetentionPolicy.WhenScaled can be.
type PersistentVolumeClaimRetentionPolicyType string

// The values of PersistentVolumeClaimRetentionPolicyType.
const (
	DeletePersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Delete"
	RetainPersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Retain"
)

// PodManagementPolicyType is what StatefulSetSpec.PodManagementPolicy can be.
type PodManagementPolicyType string

// The values of PodManagementPolicyType.
const (
	OrderedReadyPodManagement PodManagementPolicyType = "OrderedReady"
	ParallelPodManagement     PodManagementPolicyType = "Parallel"
)

// ReplicaSetConditionType is what ReplicaSetCondition.Type can be.
type ReplicaSetConditionType string

// The values of ReplicaSetConditionType.
const (
	ReplicaSetReplicaFailure ReplicaSetConditionType = "ReplicaFailure"
)

// StatefulSetConditionType is what StatefulSetCondition.Type can be.
type StatefulSetConditionType string

// StatefulSetUpdateStrategyType is what StatefulSetUpdateStrategy.Type can be.
type StatefulSetUpdateStrategyType string

// The values of StatefulSetUpdateStrategyType.
const (
	OnDeleteStatefulSetStrategyType      StatefulSetUpdateStrategyType = "OnDelete"
	RollingUpdateStatefulSetStrategyType StatefulSetUpdateStrategyType = "RollingUpdate"
)

// Well-known names and values of this group.
const (
	DefaultDeploymentUniqueLabelKey = "pod-template-hash"
	ControllerRevisionHashLabelKey  = "controller-revision-hash"
	DefaultDaemonSetUniqueLabelKey  = "controller-revision-hash"
	DeprecatedRollbackTo            = "deprecated.deployment.rollback.to"
	DeprecatedTemplateGeneration    = "deprecated.daemonset.template.generation"
	PodIndexLabel                   = "apps.kubernetes.io/pod-index"
	StatefulSetPodNameLabel         = "statefulset.kubernetes.io/pod-name"
	StatefulSetRevisionLabel        = "controller-revision-hash"
)
