// Package appsv1 holds the workload kinds: Deployment, ReplicaSet, StatefulSet, DaemonSet and
// ControllerRevision (apps/v1).
package appsv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// ControllerRevision is an immutable snapshot of the state of a stateful set or daemon set, kept for updates
// and rollback.
type ControllerRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Serialized state. Cannot be changed.
	Data metav1.RawExtension `json:"data,omitempty" protobuf:"bytes,2,opt,name=data"`
	// Number of the revision; a higher number is more recent.
	Revision int64 `json:"revision" protobuf:"varint,3,opt,name=revision" openapi:"required"`
}

// DaemonSet runs one pod on every node that matches its template.
type DaemonSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the daemon set.
	Spec DaemonSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status DaemonSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// DaemonSetCondition describes one aspect of the state of a daemon set.
type DaemonSetCondition struct {
	// Type of the condition, a CamelCase name.
	Type DaemonSetConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// DaemonSetSpec describes the desired behavior of a daemon set.
type DaemonSetSpec struct {
	// Selector of the pods; must match the labels of the template and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,1,opt,name=selector" openapi:"required"`
	// Template of the pods; its node selector and node affinity determine the nodes, all nodes if there are
	// none.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,2,opt,name=template" openapi:"required"`
	// How existing pods are replaced when the template changes.
	UpdateStrategy DaemonSetUpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,3,opt,name=updateStrategy"`
	// Seconds a new pod must be ready, without any of its containers crashing, to be considered available;
	// defaults to 0.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,4,opt,name=minReadySeconds"`
	// Number of earlier revisions to retain for rollback; defaults to 10.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,6,opt,name=revisionHistoryLimit"`
}

// DaemonSetStatus is the observed state of a daemon set.
type DaemonSetStatus struct {
	// Number of nodes that run a pod of the set and are supposed to.
	CurrentNumberScheduled int32 `json:"currentNumberScheduled" protobuf:"varint,1,opt,name=currentNumberScheduled" openapi:"required"`
	// Number of nodes that run a pod of the set and are not supposed to.
	NumberMisscheduled int32 `json:"numberMisscheduled" protobuf:"varint,2,opt,name=numberMisscheduled" openapi:"required"`
	// Number of nodes that should run a pod of the set.
	DesiredNumberScheduled int32 `json:"desiredNumberScheduled" protobuf:"varint,3,opt,name=desiredNumberScheduled" openapi:"required"`
	// Number of nodes that should run a pod of the set and have one that is ready.
	NumberReady int32 `json:"numberReady" protobuf:"varint,4,opt,name=numberReady" openapi:"required"`
	// Generation of the spec that this status reflects.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,5,opt,name=observedGeneration"`
	// Number of nodes that run a pod of the current template.
	UpdatedNumberScheduled int32 `json:"updatedNumberScheduled,omitempty" protobuf:"varint,6,opt,name=updatedNumberScheduled"`
	// Number of nodes that should run a pod of the set and have one that is available.
	NumberAvailable int32 `json:"numberAvailable,omitempty" protobuf:"varint,7,opt,name=numberAvailable"`
	// Number of nodes that should run a pod of the set and have none that is available.
	NumberUnavailable int32 `json:"numberUnavailable,omitempty" protobuf:"varint,8,opt,name=numberUnavailable"`
	// Number of hash collisions so far; it varies the names of new controller revisions.
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,9,opt,name=collisionCount"`
	// Conditions of the set; the built-in controller reports none.
	Conditions []DaemonSetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,10,rep,name=conditions"`
}

// DaemonSetUpdateStrategy describes how the pods of a daemon set are replaced.
type DaemonSetUpdateStrategy struct {
	// RollingUpdate (the default), or OnDelete to replace a pod only when it has been deleted manually.
	Type DaemonSetUpdateStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type" openapi:"enum=OnDelete|RollingUpdate"`
	// Parameters of a rolling update; only if type is RollingUpdate.
	RollingUpdate *RollingUpdateDaemonSet `json:"rollingUpdate,omitempty" protobuf:"bytes,2,opt,name=rollingUpdate"`
}

// Deployment keeps a number of identical pods running and replaces them gradually when their template
// changes.
type Deployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the deployment.
	Spec DeploymentSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status DeploymentStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// DeploymentCondition describes one aspect of the state of a deployment.
type DeploymentCondition struct {
	// Type of the condition: Available, Progressing or ReplicaFailure.
	Type DeploymentConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Time the condition was last updated.
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty" protobuf:"bytes,6,opt,name=lastUpdateTime"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,7,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// DeploymentSpec describes the desired behavior of a deployment.
type DeploymentSpec struct {
	// Number of desired pods; defaults to 1.
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
	// Selector of the pods; must match the labels of the template and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,2,opt,name=selector" openapi:"required"`
	// Template of the pods; a change of it starts a rollout. restartPolicy must be Always.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,3,opt,name=template" openapi:"required"`
	// How existing pods are replaced by new ones.
	Strategy DeploymentStrategy `json:"strategy,omitempty" patchStrategy:"retainKeys" protobuf:"bytes,4,opt,name=strategy"`
	// Seconds a new pod must be ready, without any of its containers crashing, to be considered available;
	// defaults to 0.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,5,opt,name=minReadySeconds"`
	// Number of earlier replica sets to retain for rollback; defaults to 10.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,6,opt,name=revisionHistoryLimit"`
	// Whether rollouts are paused: changes of the template then do not start one.
	Paused bool `json:"paused,omitempty" protobuf:"varint,7,opt,name=paused"`
	// Seconds a rollout may go without progress before it is reported as failed, in the Progressing
	// condition; defaults to 600.
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty" protobuf:"varint,9,opt,name=progressDeadlineSeconds"`
}

// DeploymentStatus is the observed state of a deployment.
type DeploymentStatus struct {
	// Generation of the spec that this status reflects.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// Number of existing pods of all replica sets of the deployment, not counting terminating pods.
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`
	// Number of pods of the current template, not counting terminating pods.
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty" protobuf:"varint,3,opt,name=updatedReplicas"`
	// Number of pods that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,7,opt,name=readyReplicas"`
	// Number of pods that have been ready for at least minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas,omitempty" protobuf:"varint,4,opt,name=availableReplicas"`
	// Number of pods still required for full availability: not yet created, or not yet available.
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty" protobuf:"varint,5,opt,name=unavailableReplicas"`
	// Number of pods that are terminating: their deletionTimestamp is set and they have not ended. Unset if
	// not reported.
	TerminatingReplicas *int32 `json:"terminatingReplicas,omitempty" protobuf:"varint,9,opt,name=terminatingReplicas"`
	// Conditions of the deployment, such as Available and Progressing.
	Conditions []DeploymentCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,6,rep,name=conditions"`
	// Number of hash collisions so far; it varies the names of new replica sets.
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,8,opt,name=collisionCount"`
}

// DeploymentStrategy describes how the pods of a deployment are replaced.
type DeploymentStrategy struct {
	// RollingUpdate (the default), or Recreate to end all old pods before new ones are created.
	Type DeploymentStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type" openapi:"enum=Recreate|RollingUpdate"`
	// Parameters of a rolling update; only if type is RollingUpdate.
	RollingUpdate *RollingUpdateDeployment `json:"rollingUpdate,omitempty" protobuf:"bytes,2,opt,name=rollingUpdate"`
}

// ReplicaSet keeps a number of identical pods running. It is usually managed by a deployment.
type ReplicaSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the replica set.
	Spec ReplicaSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status ReplicaSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ReplicaSetCondition describes one aspect of the state of a replica set.
type ReplicaSetCondition struct {
	// Type of the condition, a CamelCase name.
	Type ReplicaSetConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// ReplicaSetSpec describes the desired behavior of a replica set.
type ReplicaSetSpec struct {
	// Number of desired pods; defaults to 1.
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
	// Seconds a new pod must be ready, without any of its containers crashing, to be considered available;
	// defaults to 0.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,4,opt,name=minReadySeconds"`
	// Selector of the pods; must match the labels of the template and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,2,opt,name=selector" openapi:"required"`
	// Template of new pods; a change does not affect existing pods.
	Template corev1.PodTemplateSpec `json:"template,omitempty" protobuf:"bytes,3,opt,name=template"`
}

// ReplicaSetStatus is the observed state of a replica set.
type ReplicaSetStatus struct {
	// Number of existing pods of the replica set, not counting terminating pods.
	Replicas int32 `json:"replicas" protobuf:"varint,1,opt,name=replicas" openapi:"required"`
	// Number of pods that have all labels of the template.
	FullyLabeledReplicas int32 `json:"fullyLabeledReplicas,omitempty" protobuf:"varint,2,opt,name=fullyLabeledReplicas"`
	// Number of pods that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,4,opt,name=readyReplicas"`
	// Number of pods that have been ready for at least minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas,omitempty" protobuf:"varint,5,opt,name=availableReplicas"`
	// Number of pods that are terminating: their deletionTimestamp is set and they have not ended. Unset if
	// not reported.
	TerminatingReplicas *int32 `json:"terminatingReplicas,omitempty" protobuf:"varint,7,opt,name=terminatingReplicas"`
	// Generation of the spec that this status reflects.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,3,opt,name=observedGeneration"`
	// Conditions of the replica set, such as ReplicaFailure.
	Conditions []ReplicaSetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,6,rep,name=conditions"`
}

// RollingUpdateDaemonSet limits the rolling update of a daemon set; exactly one of the two limits must be
// above zero.
type RollingUpdateDaemonSet struct {
	// Maximum number or percentage of nodes whose pod may be unavailable during the update; percentages are
	// rounded up. Defaults to 1.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,1,opt,name=maxUnavailable"`
	// Maximum number or percentage of nodes that may run an old and a new pod together during the update;
	// percentages are rounded up. Defaults to 0.
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty" protobuf:"bytes,2,opt,name=maxSurge"`
}

// RollingUpdateDeployment limits the rolling update of a deployment.
type RollingUpdateDeployment struct {
	// Maximum number or percentage of pods that may be unavailable during the update; percentages are rounded
	// down. Defaults to 25%.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,1,opt,name=maxUnavailable"`
	// Maximum number or percentage of pods above the desired number during the update; percentages are
	// rounded up. Defaults to 25%.
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty" protobuf:"bytes,2,opt,name=maxSurge"`
}

// RollingUpdateStatefulSetStrategy limits the rolling update of a stateful set.
type RollingUpdateStatefulSetStrategy struct {
	// Ordinal from which on pods are updated; pods with a lower ordinal keep the old revision. Defaults to 0.
	Partition *int32 `json:"partition,omitempty" protobuf:"varint,1,opt,name=partition"`
	// Maximum number or percentage of pods that may be unavailable during the update; percentages are rounded
	// up. Defaults to 1.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,2,opt,name=maxUnavailable"`
}

// StatefulSet runs pods with stable identities: each has its own name, ordinal and storage.
type StatefulSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired identities and behavior of the pods.
	Spec StatefulSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status StatefulSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// StatefulSetCondition describes one aspect of the state of a stateful set.
type StatefulSetCondition struct {
	// Type of the condition, a CamelCase name.
	Type StatefulSetConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// StatefulSetOrdinals describes how the pods of a stateful set are numbered.
type StatefulSetOrdinals struct {
	// Ordinal of the first pod; defaults to 0.
	Start int32 `json:"start" protobuf:"varint,1,opt,name=start"`
}

// StatefulSetPersistentVolumeClaimRetentionPolicy describes when claims made from volumeClaimTemplates are
// deleted.
type StatefulSetPersistentVolumeClaimRetentionPolicy struct {
	// What happens to the claims when the stateful set is deleted: Retain (the default) or Delete.
	WhenDeleted PersistentVolumeClaimRetentionPolicyType `json:"whenDeleted,omitempty" protobuf:"bytes,1,opt,name=whenDeleted"`
	// What happens to the claims of pods removed by scaling down: Retain (the default) or Delete.
	WhenScaled PersistentVolumeClaimRetentionPolicyType `json:"whenScaled,omitempty" protobuf:"bytes,2,opt,name=whenScaled"`
}

// StatefulSetSpec describes the desired behavior of a stateful set.
type StatefulSetSpec struct {
	// Number of desired pods; defaults to 1.
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
	// Selector of the pods; must match the labels of the template and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector" protobuf:"bytes,2,opt,name=selector" openapi:"required"`
	// Template of the pods; each is named after the set and its ordinal, such as web-0.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,3,opt,name=template" openapi:"required"`
	// Claims to create for each pod. By default they are retained when the pod is deleted.
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=volumeClaimTemplates"`
	// Name of the headless service that provides the DNS names of the pods. It must exist before the stateful
	// set.
	ServiceName string `json:"serviceName" protobuf:"bytes,5,opt,name=serviceName"`
	// OrderedReady (the default) creates and ends pods one at a time in order when scaling, Parallel all at
	// once. Cannot be changed.
	PodManagementPolicy PodManagementPolicyType `json:"podManagementPolicy,omitempty" protobuf:"bytes,6,opt,name=podManagementPolicy" openapi:"enum=OrderedReady|Parallel"`
	// How existing pods are replaced when the template changes.
	UpdateStrategy StatefulSetUpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,7,opt,name=updateStrategy"`
	// Number of earlier revisions to retain for rollback; defaults to 10.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,8,opt,name=revisionHistoryLimit"`
	// Seconds a new pod must be ready, without any of its containers crashing, to be considered available;
	// defaults to 0.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,9,opt,name=minReadySeconds"`
	// Whether claims are deleted when the set is scaled down or deleted.
	PersistentVolumeClaimRetentionPolicy *StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty" protobuf:"bytes,10,opt,name=persistentVolumeClaimRetentionPolicy"`
	// How the pods are numbered; from 0 if unset.
	Ordinals *StatefulSetOrdinals `json:"ordinals,omitempty" protobuf:"bytes,11,opt,name=ordinals"`
}

// StatefulSetStatus is the observed state of a stateful set.
type StatefulSetStatus struct {
	// Generation of the spec that this status reflects.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// Number of existing pods of the set.
	Replicas int32 `json:"replicas" protobuf:"varint,2,opt,name=replicas" openapi:"required"`
	// Number of pods that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,3,opt,name=readyReplicas"`
	// Number of pods of the revision currentRevision.
	CurrentReplicas int32 `json:"currentReplicas,omitempty" protobuf:"varint,4,opt,name=currentReplicas"`
	// Number of pods of the revision updateRevision.
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty" protobuf:"varint,5,opt,name=updatedReplicas"`
	// Name of the revision of the pods that have not been updated.
	CurrentRevision string `json:"currentRevision,omitempty" protobuf:"bytes,6,opt,name=currentRevision"`
	// Name of the revision that the pods are being updated to.
	UpdateRevision string `json:"updateRevision,omitempty" protobuf:"bytes,7,opt,name=updateRevision"`
	// Number of hash collisions so far; it varies the names of new controller revisions.
	CollisionCount *int32 `json:"collisionCount,omitempty" protobuf:"varint,9,opt,name=collisionCount"`
	// Conditions of the set; the built-in controller reports none.
	Conditions []StatefulSetCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,10,rep,name=conditions"`
	// Number of pods that have been ready for at least minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas" protobuf:"varint,11,opt,name=availableReplicas"`
}

// StatefulSetUpdateStrategy describes how the pods of a stateful set are replaced.
type StatefulSetUpdateStrategy struct {
	// RollingUpdate (the default), or OnDelete to replace a pod only when it has been deleted manually.
	Type StatefulSetUpdateStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type" openapi:"enum=OnDelete|RollingUpdate"`
	// Parameters of a rolling update; only if type is RollingUpdate.
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

// DaemonSetConditionType is the type of DaemonSetCondition.Type.
type DaemonSetConditionType string

// DaemonSetUpdateStrategyType enumerates the values of DaemonSetUpdateStrategy.Type.
type DaemonSetUpdateStrategyType string

const (
	OnDeleteDaemonSetStrategyType      DaemonSetUpdateStrategyType = "OnDelete"
	RollingUpdateDaemonSetStrategyType DaemonSetUpdateStrategyType = "RollingUpdate"
)

// DeploymentConditionType enumerates the values of DeploymentCondition.Type.
type DeploymentConditionType string

const (
	DeploymentAvailable      DeploymentConditionType = "Available"
	DeploymentProgressing    DeploymentConditionType = "Progressing"
	DeploymentReplicaFailure DeploymentConditionType = "ReplicaFailure"
)

// DeploymentStrategyType enumerates the values of DeploymentStrategy.Type.
type DeploymentStrategyType string

const (
	RecreateDeploymentStrategyType      DeploymentStrategyType = "Recreate"
	RollingUpdateDeploymentStrategyType DeploymentStrategyType = "RollingUpdate"
)

// PersistentVolumeClaimRetentionPolicyType enumerates the values of
// StatefulSetPersistentVolumeClaimRetentionPolicy.WhenDeleted and
// StatefulSetPersistentVolumeClaimRetentionPolicy.WhenScaled.
type PersistentVolumeClaimRetentionPolicyType string

const (
	DeletePersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Delete"
	RetainPersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Retain"
)

// PodManagementPolicyType enumerates the values of StatefulSetSpec.PodManagementPolicy.
type PodManagementPolicyType string

const (
	OrderedReadyPodManagement PodManagementPolicyType = "OrderedReady"
	ParallelPodManagement     PodManagementPolicyType = "Parallel"
)

// ReplicaSetConditionType enumerates the values of ReplicaSetCondition.Type.
type ReplicaSetConditionType string

const (
	ReplicaSetReplicaFailure ReplicaSetConditionType = "ReplicaFailure"
)

// StatefulSetConditionType is the type of StatefulSetCondition.Type.
type StatefulSetConditionType string

// StatefulSetUpdateStrategyType enumerates the values of StatefulSetUpdateStrategy.Type.
type StatefulSetUpdateStrategyType string

const (
	OnDeleteStatefulSetStrategyType      StatefulSetUpdateStrategyType = "OnDelete"
	RollingUpdateStatefulSetStrategyType StatefulSetUpdateStrategyType = "RollingUpdate"
)

// Well-known names and values.
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
