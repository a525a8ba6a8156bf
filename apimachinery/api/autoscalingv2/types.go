// Package autoscalingv2 holds HorizontalPodAutoscaler with several metrics (autoscaling/v2).
package autoscalingv2

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// ContainerResourceMetricSource is cpu or memory of one container.
type ContainerResourceMetricSource struct {
	// Resource of the container: cpu or memory.
	Name corev1.ResourceName `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// What it should be.
	Target MetricTarget `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Name of the container.
	Container string `json:"container" protobuf:"bytes,3,opt,name=container" openapi:"required"`
}

// ContainerResourceMetricStatus is what cpu or memory of one container was.
type ContainerResourceMetricStatus struct {
	// cpu or memory.
	Name corev1.ResourceName `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// What was measured.
	Current MetricValueStatus `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Name of the container; the only one unless set.
	Container string `json:"container" protobuf:"bytes,3,opt,name=container" openapi:"required"`
}

// CrossVersionObjectReference names an object of any kind in the namespace.
type CrossVersionObjectReference struct {
	// Kind name in apiVersion, such as Deployment.
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	// Object of that kind in the autoscaler's namespace.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
	// Version of the kind.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,3,opt,name=apiVersion"`
}

// ExternalMetricSource is a metric from outside of the cluster.
type ExternalMetricSource struct {
	// Which metric, by name and labels.
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// What it should be.
	Target MetricTarget `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ExternalMetricStatus is what a metric from outside was.
type ExternalMetricStatus struct {
	// Which metric.
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// What was measured.
	Current MetricValueStatus `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// HPAScalingPolicy is one bound.
type HPAScalingPolicy struct {
	// Whether value counts pods (Pods) or percents of them (Percent).
	Type HPAScalingPolicyType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// How many pods, or percent of them.
	Value int32 `json:"value" protobuf:"varint,2,opt,name=value" openapi:"required"`
	// In how many seconds, at most 1800.
	PeriodSeconds int32 `json:"periodSeconds" protobuf:"varint,3,opt,name=periodSeconds" openapi:"required"`
}

// HPAScalingRules bounds scaling in one direction.
type HPAScalingRules struct {
	// Seconds to look back, so that short changes do not count; at most 3600.
	StabilizationWindowSeconds *int32 `json:"stabilizationWindowSeconds,omitempty" protobuf:"varint,3,opt,name=stabilizationWindowSeconds"`
	// Which policy counts: Max (the default), Min, or Disabled for none.
	SelectPolicy *ScalingPolicySelect `json:"selectPolicy,omitempty" protobuf:"bytes,1,opt,name=selectPolicy"`
	// Bounds on one change; selectPolicy says which of them counts.
	Policies []HPAScalingPolicy `json:"policies,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=policies"`
	// How far the metric may be off before anything is done, as a fraction.
	Tolerance *resource.Quantity `json:"tolerance,omitempty" protobuf:"bytes,4,opt,name=tolerance"`
}

// HorizontalPodAutoscaler sets the number of pods of a workload by what they use.
type HorizontalPodAutoscaler struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which workload, and by what.
	Spec HorizontalPodAutoscalerSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// What it did; written by the system.
	Status HorizontalPodAutoscalerStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// HorizontalPodAutoscalerBehavior is how fast to scale.
type HorizontalPodAutoscalerBehavior struct {
	// Upwards; by 4 pods or 100% in 15 seconds unless set.
	ScaleUp *HPAScalingRules `json:"scaleUp,omitempty" protobuf:"bytes,1,opt,name=scaleUp"`
	// Downwards; to the minimum after 5 steady minutes unless set.
	ScaleDown *HPAScalingRules `json:"scaleDown,omitempty" protobuf:"bytes,2,opt,name=scaleDown"`
}

// HorizontalPodAutoscalerCondition is one fact about an autoscaler.
type HorizontalPodAutoscalerCondition struct {
	// Name of the fact.
	Type HorizontalPodAutoscalerConditionType `json:"type" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// HorizontalPodAutoscalerSpec is how a workload is scaled.
type HorizontalPodAutoscalerSpec struct {
	// The workload, which must have a scale subresource.
	ScaleTargetRef CrossVersionObjectReference `json:"scaleTargetRef" protobuf:"bytes,1,opt,name=scaleTargetRef" openapi:"required"`
	// Fewest pods; 1 unless set.
	MinReplicas *int32 `json:"minReplicas,omitempty" protobuf:"varint,2,opt,name=minReplicas"`
	// Most pods it scales to; at least minReplicas.
	MaxReplicas int32 `json:"maxReplicas" protobuf:"varint,3,opt,name=maxReplicas" openapi:"required"`
	// What to look at; the largest result counts. 80% of requested cpu unless set.
	Metrics []MetricSpec `json:"metrics,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=metrics"`
	// How fast to go up and down.
	Behavior *HorizontalPodAutoscalerBehavior `json:"behavior,omitempty" protobuf:"bytes,5,opt,name=behavior"`
}

// HorizontalPodAutoscalerStatus is what an autoscaler did.
type HorizontalPodAutoscalerStatus struct {
	// Generation of the spec this is about.
	ObservedGeneration *int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// When it last changed the number.
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty" protobuf:"bytes,2,opt,name=lastScaleTime"`
	// How many pods there were.
	CurrentReplicas int32 `json:"currentReplicas,omitempty" protobuf:"varint,3,opt,name=currentReplicas"`
	// How many it wants.
	DesiredReplicas int32 `json:"desiredReplicas" protobuf:"varint,4,opt,name=desiredReplicas" openapi:"required"`
	// What the metrics were.
	CurrentMetrics []MetricStatus `json:"currentMetrics" listType:"atomic" protobuf:"bytes,5,rep,name=currentMetrics"`
	// Facts such as AbleToScale.
	Conditions []HorizontalPodAutoscalerCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,6,rep,name=conditions"`
}

// MetricIdentifier names a metric.
type MetricIdentifier struct {
	// Name of the metric at the metrics API.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Labels that narrow it.
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,2,opt,name="`
}

// MetricSpec is one thing to look at; the field of its type is set.
type MetricSpec struct {
	// Resource, ContainerResource, Pods, Object or External.
	Type MetricSourceType `json:"type" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// A metric of one object.
	Object *ObjectMetricSource `json:"object,omitempty" protobuf:"bytes,2,opt,name=object"`
	// A metric of each pod, averaged.
	Pods *PodsMetricSource `json:"pods,omitempty" protobuf:"bytes,3,opt,name=pods"`
	// Cpu or memory of the pods.
	Resource *ResourceMetricSource `json:"resource,omitempty" protobuf:"bytes,4,opt,name=resource"`
	// Cpu or memory of one container of the pods.
	ContainerResource *ContainerResourceMetricSource `json:"containerResource,omitempty" protobuf:"bytes,7,opt,name=containerResource"`
	// A metric from outside of the cluster.
	External *ExternalMetricSource `json:"external,omitempty" protobuf:"bytes,5,opt,name=external"`
}

// MetricStatus is what a metric was; the field of its type is set.
type MetricStatus struct {
	// ContainerResource, External, Object, Pods or Resource.
	Type MetricSourceType `json:"type" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// A metric of one object.
	Object *ObjectMetricStatus `json:"object,omitempty" protobuf:"bytes,2,opt,name=object"`
	// A metric averaged over the pods.
	Pods *PodsMetricStatus `json:"pods,omitempty" protobuf:"bytes,3,opt,name=pods"`
	// cpu or memory of whole pods.
	Resource *ResourceMetricStatus `json:"resource,omitempty" protobuf:"bytes,4,opt,name=resource"`
	// cpu or memory of one container of each pod.
	ContainerResource *ContainerResourceMetricStatus `json:"containerResource,omitempty" protobuf:"bytes,7,opt,name=containerResource"`
	// A metric that belongs to no object of the cluster.
	External *ExternalMetricStatus `json:"external,omitempty" protobuf:"bytes,5,opt,name=external"`
}

// MetricTarget is what a metric should be.
type MetricTarget struct {
	// Utilization, Value or AverageValue.
	Type MetricTargetType `json:"type" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Value to keep the metric at; of type Value.
	Value *resource.Quantity `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
	// The value for each pod.
	AverageValue *resource.Quantity `json:"averageValue,omitempty" protobuf:"bytes,3,opt,name=averageValue"`
	// Percentage of what the pods request.
	AverageUtilization *int32 `json:"averageUtilization,omitempty" protobuf:"varint,4,opt,name=averageUtilization"`
}

// MetricValueStatus is the value of a metric.
type MetricValueStatus struct {
	// The metric itself.
	Value *resource.Quantity `json:"value,omitempty" protobuf:"bytes,1,opt,name=value"`
	// The metric divided by the number of pods.
	AverageValue *resource.Quantity `json:"averageValue,omitempty" protobuf:"bytes,2,opt,name=averageValue"`
	// Average use in percent of what the pods request; for cpu and memory only.
	AverageUtilization *int32 `json:"averageUtilization,omitempty" protobuf:"varint,3,opt,name=averageUtilization"`
}

// ObjectMetricSource is a metric of one object.
type ObjectMetricSource struct {
	// Object that the metric is about, in the same namespace.
	DescribedObject CrossVersionObjectReference `json:"describedObject" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// What the metric should be.
	Target MetricTarget `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Which metric of the object, by name and labels.
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,3,opt,name=" openapi:"required"`
}

// ObjectMetricStatus is what a metric of one object was.
type ObjectMetricStatus struct {
	// Which metric.
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// What was measured.
	Current MetricValueStatus `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// The object it is a metric of.
	DescribedObject CrossVersionObjectReference `json:"describedObject" protobuf:"bytes,3,opt,name=" openapi:"required"`
}

// PodsMetricSource is a metric of each pod.
type PodsMetricSource struct {
	// Which metric of each pod, by name and labels.
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// What its average should be.
	Target MetricTarget `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// PodsMetricStatus is what a metric of the pods was.
type PodsMetricStatus struct {
	// Which metric.
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// What was measured.
	Current MetricValueStatus `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceMetricSource is cpu or memory of the pods.
type ResourceMetricSource struct {
	// Resource of the pods: cpu or memory.
	Name corev1.ResourceName `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// What it should be.
	Target MetricTarget `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceMetricStatus is what cpu or memory of the pods was.
type ResourceMetricStatus struct {
	// cpu or memory.
	Name corev1.ResourceName `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// What was measured.
	Current MetricValueStatus `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// HorizontalPodAutoscalerList is a list of HorizontalPodAutoscaler objects.
type HorizontalPodAutoscalerList = metav1.List[*HorizontalPodAutoscaler]

// HPAScalingPolicyType is what HPAScalingPolicy.Type can be.
type HPAScalingPolicyType string

// The values of HPAScalingPolicyType.
const (
	PercentScalingPolicy HPAScalingPolicyType = "Percent"
	PodsScalingPolicy    HPAScalingPolicyType = "Pods"
)

// HorizontalPodAutoscalerConditionType is what HorizontalPodAutoscalerCondition.Type can be.
type HorizontalPodAutoscalerConditionType string

// The values of HorizontalPodAutoscalerConditionType.
const (
	AbleToScale    HorizontalPodAutoscalerConditionType = "AbleToScale"
	ScaledToZero   HorizontalPodAutoscalerConditionType = "ScaledToZero"
	ScalingActive  HorizontalPodAutoscalerConditionType = "ScalingActive"
	ScalingLimited HorizontalPodAutoscalerConditionType = "ScalingLimited"
)

// MetricSourceType is what MetricSpec.Type and MetricStatus.Type can be.
type MetricSourceType string

// The values of MetricSourceType.
const (
	ContainerResourceMetricSourceType MetricSourceType = "ContainerResource"
	ExternalMetricSourceType          MetricSourceType = "External"
	ObjectMetricSourceType            MetricSourceType = "Object"
	PodsMetricSourceType              MetricSourceType = "Pods"
	ResourceMetricSourceType          MetricSourceType = "Resource"
)

// MetricTargetType is what MetricTarget.Type can be.
type MetricTargetType string

// The values of MetricTargetType.
const (
	AverageValueMetricType MetricTargetType = "AverageValue"
	UtilizationMetricType  MetricTargetType = "Utilization"
	ValueMetricType        MetricTargetType = "Value"
)

// ScalingPolicySelect is what HPAScalingRules.SelectPolicy can be.
type ScalingPolicySelect string

// The values of ScalingPolicySelect.
const (
	DisabledPolicySelect  ScalingPolicySelect = "Disabled"
	MaxChangePolicySelect ScalingPolicySelect = "Max"
	MinChangePolicySelect ScalingPolicySelect = "Min"
)
