// Package autoscalingv1 holds Scale and the first version of HorizontalPodAutoscaler (autoscaling/v1).
package autoscalingv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// CrossVersionObjectReference identifies an object of any kind in the namespace of the referrer.
type CrossVersionObjectReference struct {
	// Kind of the object, such as Deployment.
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	// Name of the object.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
	// API version of the object.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,3,opt,name=apiVersion"`
}

// HorizontalPodAutoscaler adjusts the number of pods of a workload to their CPU utilization.
type HorizontalPodAutoscaler struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Workload to scale, and its limits and target.
	Spec HorizontalPodAutoscalerSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Most recently observed state; populated by the system and read-only for users.
	Status HorizontalPodAutoscalerStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// HorizontalPodAutoscalerSpec describes how a workload is scaled.
type HorizontalPodAutoscalerSpec struct {
	// Workload to scale; its resource must have a scale subresource.
	ScaleTargetRef CrossVersionObjectReference `json:"scaleTargetRef" protobuf:"bytes,1,opt,name=scaleTargetRef" openapi:"required"`
	// Minimum number of pods; defaults to 1.
	MinReplicas *int32 `json:"minReplicas,omitempty" protobuf:"varint,2,opt,name=minReplicas"`
	// Maximum number of pods; must not be less than minReplicas.
	MaxReplicas int32 `json:"maxReplicas" protobuf:"varint,3,opt,name=maxReplicas" openapi:"required"`
	// Target for the average CPU utilization of the pods, as a percentage of their requests.
	TargetCPUUtilizationPercentage *int32 `json:"targetCPUUtilizationPercentage,omitempty" protobuf:"varint,4,opt,name=targetCPUUtilizationPercentage"`
}

// HorizontalPodAutoscalerStatus is the observed state of an autoscaler.
type HorizontalPodAutoscalerStatus struct {
	// Generation of the spec that this status reflects.
	ObservedGeneration *int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// When the autoscaler last changed the number of pods.
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty" protobuf:"bytes,2,opt,name=lastScaleTime"`
	// Number of pods last observed.
	CurrentReplicas int32 `json:"currentReplicas" protobuf:"varint,3,opt,name=currentReplicas" openapi:"required"`
	// Number of pods last computed.
	DesiredReplicas int32 `json:"desiredReplicas" protobuf:"varint,4,opt,name=desiredReplicas" openapi:"required"`
	// Observed average CPU utilization of the pods, as a percentage of their requests.
	CurrentCPUUtilizationPercentage *int32 `json:"currentCPUUtilizationPercentage,omitempty" protobuf:"varint,5,opt,name=currentCPUUtilizationPercentage"`
}

// Scale is the common representation of the number of replicas of a scalable resource.
type Scale struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired number of replicas.
	Spec ScaleSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status ScaleStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ScaleSpec is the desired state of a scalable resource.
type ScaleSpec struct {
	// Desired number of replicas.
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
}

// ScaleStatus is the observed state of a scalable resource.
type ScaleStatus struct {
	// Observed number of replicas.
	Replicas int32 `json:"replicas" protobuf:"varint,1,opt,name=replicas" openapi:"required"`
	// Label selector of the pods, in string form.
	Selector string `json:"selector,omitempty" protobuf:"bytes,2,opt,name=selector"`
}

// HorizontalPodAutoscalerList is a list of HorizontalPodAutoscaler objects.
type HorizontalPodAutoscalerList = metav1.List[*HorizontalPodAutoscaler]

// HorizontalPodAutoscalerConditionType enumerates the types of the conditions of an autoscaler.
type HorizontalPodAutoscalerConditionType string

const (
	AbleToScale    HorizontalPodAutoscalerConditionType = "AbleToScale"
	ScaledToZero   HorizontalPodAutoscalerConditionType = "ScaledToZero"
	ScalingActive  HorizontalPodAutoscalerConditionType = "ScalingActive"
	ScalingLimited HorizontalPodAutoscalerConditionType = "ScalingLimited"
)

// MetricSourceType enumerates the types of metric sources.
type MetricSourceType string

const (
	ContainerResourceMetricSourceType MetricSourceType = "ContainerResource"
	ExternalMetricSourceType          MetricSourceType = "External"
	ObjectMetricSourceType            MetricSourceType = "Object"
	PodsMetricSourceType              MetricSourceType = "Pods"
	ResourceMetricSourceType          MetricSourceType = "Resource"
)
