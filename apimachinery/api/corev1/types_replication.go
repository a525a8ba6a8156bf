package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// ReplicationController keeps a number of identical pods running. Prefer deployments.
type ReplicationController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the replication controller.
	Spec ReplicationControllerSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status ReplicationControllerStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ReplicationControllerCondition describes one aspect of the state of a replication controller.
type ReplicationControllerCondition struct {
	// Type of the condition, a CamelCase name.
	Type ReplicationControllerConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// ReplicationControllerSpec describes the desired behavior of a replication controller.
type ReplicationControllerSpec struct {
	// Number of desired pods; defaults to 1.
	Replicas *int32 `json:"replicas,omitempty" default:"1" protobuf:"varint,1,opt,name=replicas"`
	// Seconds a new pod must be ready, without any of its containers crashing, to be considered available;
	// defaults to 0.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,4,opt,name=minReadySeconds"`
	// Labels of the pods; those of the template if unset.
	Selector map[string]string `json:"selector,omitempty" mapType:"atomic" protobuf:"bytes,2,rep,name=selector"`
	// Template of new pods; a change does not affect existing pods.
	Template *PodTemplateSpec `json:"template,omitempty" protobuf:"bytes,3,opt,name=template"`
}

// ReplicationControllerStatus is the observed state of a replication controller.
type ReplicationControllerStatus struct {
	// Number of existing pods of the controller, not counting terminating pods.
	Replicas int32 `json:"replicas" protobuf:"varint,1,opt,name=replicas" openapi:"required"`
	// Number of pods that have all labels of the template.
	FullyLabeledReplicas int32 `json:"fullyLabeledReplicas,omitempty" protobuf:"varint,2,opt,name=fullyLabeledReplicas"`
	// Number of pods that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,4,opt,name=readyReplicas"`
	// Number of pods that have been ready for at least minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas,omitempty" protobuf:"varint,5,opt,name=availableReplicas"`
	// Generation of the spec that this status reflects.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,3,opt,name=observedGeneration"`
	// Conditions of the replication controller, such as ReplicaFailure.
	Conditions []ReplicationControllerCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,6,rep,name=conditions"`
}

// ReplicationControllerList is a list of ReplicationController objects.
type ReplicationControllerList = metav1.List[*ReplicationController]

// ReplicationControllerConditionType enumerates the values of ReplicationControllerCondition.Type.
type ReplicationControllerConditionType string

const (
	ReplicationControllerReplicaFailure ReplicationControllerConditionType = "ReplicaFailure"
)
