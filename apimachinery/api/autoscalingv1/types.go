// Package autoscalingv1 holds Scale and the first version of HorizontalPodAutoscaler (autoscaling/v1).
package autoscalingv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// CrossVersionObjectReference names an object of any kind in the namespace.
type CrossVersionObjectReference struct {
	// Kind name in apiVersion, such as Deployment.
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	// Object of that kind in the autoscaler's namespace.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
	// Version of the kind.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,3,opt,name=apiVersion"`
}

// HorizontalPodAutoscaler sets the number of pods of a workload by their cpu.
type HorizontalPodAutoscaler struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What is scaled, between which numbers of pods.
	Spec HorizontalPodAutoscalerSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// What there is; written by the system.
	Status HorizontalPodAutoscalerStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// HorizontalPodAutoscalerSpec is how a workload is scaled.
type HorizontalPodAutoscalerSpec struct {
	// The workload, which must have a scale subresource.
	ScaleTargetRef CrossVersionObjectReference `json:"scaleTargetRef" protobuf:"bytes,1,opt,name=scaleTargetRef" openapi:"required"`
	// Fewest pods; 1 unless set.
	MinReplicas *int32 `json:"minReplicas,omitempty" protobuf:"varint,2,opt,name=minReplicas"`
	// Most pods it scales to; at least minReplicas.
	MaxReplicas int32 `json:"maxReplicas" protobuf:"varint,3,opt,name=maxReplicas" openapi:"required"`
	// Cpu the pods should use, in percent of what they request.
	TargetCPUUtilizationPercentage *int32 `json:"targetCPUUtilizationPercentage,omitempty" protobuf:"varint,4,opt,name=targetCPUUtilizationPercentage"`
}

// HorizontalPodAutoscalerStatus is what an autoscaler did.
type HorizontalPodAutoscalerStatus struct {
	// Generation of the spec this is about.
	ObservedGeneration *int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// When it last changed the number.
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty" protobuf:"bytes,2,opt,name=lastScaleTime"`
	// How many pods there were.
	CurrentReplicas int32 `json:"currentReplicas" protobuf:"varint,3,opt,name=currentReplicas" openapi:"required"`
	// How many it wants.
	DesiredReplicas int32 `json:"desiredReplicas" protobuf:"varint,4,opt,name=desiredReplicas" openapi:"required"`
	// Cpu the pods used, in percent of what they request.
	CurrentCPUUtilizationPercentage *int32 `json:"currentCPUUtilizationPercentage,omitempty" protobuf:"varint,5,opt,name=currentCPUUtilizationPercentage"`
}

// Scale is the number of pods of a workload, read and written alike for all kinds.
type Scale struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// How many pods there should be.
	Spec ScaleSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What there is; written by the system.
	Status ScaleStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ScaleSpec is how many pods are wanted.
type ScaleSpec struct {
	// Pods wanted.
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
}

// ScaleStatus is how many pods there are.
type ScaleStatus struct {
	// Pods that exist.
	Replicas int32 `json:"replicas" protobuf:"varint,1,opt,name=replicas" openapi:"required"`
	// Selector of the pods, as text.
	Selector string `json:"selector,omitempty" protobuf:"bytes,2,opt,name=selector"`
}

// HorizontalPodAutoscalerList is a list of HorizontalPodAutoscaler objects.
type HorizontalPodAutoscalerList = metav1.List[*HorizontalPodAutoscaler]

// HorizontalPodAutoscalerConditionType is a name that programs use beside the fields here.
type HorizontalPodAutoscalerConditionType string

// The values of HorizontalPodAutoscalerConditionType.
const (
	AbleToScale    HorizontalPodAutoscalerConditionType = "AbleToScale"
	ScaledToZero   HorizontalPodAutoscalerConditionType = "ScaledToZero"
	ScalingActive  HorizontalPodAutoscalerConditionType = "ScalingActive"
	ScalingLimited HorizontalPodAutoscalerConditionType = "ScalingLimited"
)

// MetricSourceType is a name that programs use beside the fields here.
type MetricSourceType string

// The values of MetricSourceType.
const (
	ContainerResourceMetricSourceType MetricSourceType = "ContainerResource"
	ExternalMetricSourceType          MetricSourceType = "External"
	ObjectMetricSourceType            MetricSourceType = "Object"
	PodsMetricSourceType              MetricSourceType = "Pods"
	ResourceMetricSourceType          MetricSourceType = "Resource"
)
