// Package autoscalingv2 holds HorizontalPodAutoscaler with several metrics (autoscaling/v2).
package autoscalingv2

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// ContainerResourceMetricSource is a metric of the usage of a resource by one container of each pod.
type ContainerResourceMetricSource struct {
	// Name of the resource, such as cpu or memory.
	Name corev1.ResourceName `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Target of the metric.
	Target MetricTarget `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Name of the container.
	Container string `json:"container" protobuf:"bytes,3,opt,name=container" openapi:"required"`
}

// ContainerResourceMetricStatus is the observed usage of a resource by one container of each pod.
type ContainerResourceMetricStatus struct {
	// Name of the resource, such as cpu or memory.
	Name corev1.ResourceName `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Last observed value of the metric.
	Current MetricValueStatus `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Name of the container.
	Container string `json:"container" protobuf:"bytes,3,opt,name=container" openapi:"required"`
}

// CrossVersionObjectReference identifies an object of any kind in the namespace of the autoscaler.
type CrossVersionObjectReference struct {
	// Kind of the object, such as Deployment.
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	// Name of the object.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
	// API version of the object.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,3,opt,name=apiVersion"`
}

// ExternalMetricSource is a metric that is not associated with any object of the cluster.
type ExternalMetricSource struct {
	// Identifies the metric by name and labels.
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Target of the metric.
	Target MetricTarget `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ExternalMetricStatus is the observed value of an external metric.
type ExternalMetricStatus struct {
	// Identifies the metric.
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Last observed value of the metric.
	Current MetricValueStatus `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// HPAScalingPolicy limits a change in a period of time.
type HPAScalingPolicy struct {
	// Unit of value: Pods, or Percent of the current number of pods.
	Type HPAScalingPolicyType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Maximum change in the period; must be greater than 0.
	Value int32 `json:"value" protobuf:"varint,2,opt,name=value" openapi:"required"`
	// Length of the period in seconds; at most 1800.
	PeriodSeconds int32 `json:"periodSeconds" protobuf:"varint,3,opt,name=periodSeconds" openapi:"required"`
}

// HPAScalingRules limits scaling in one direction.
type HPAScalingRules struct {
	// Seconds for which earlier recommendations are considered, to prevent flapping; at most 3600. Defaults
	// to 0 for scaling up and 300 for scaling down.
	StabilizationWindowSeconds *int32 `json:"stabilizationWindowSeconds,omitempty" protobuf:"varint,3,opt,name=stabilizationWindowSeconds"`
	// Which policy applies: Max (the default) the one that allows the largest change, Min the smallest,
	// Disabled turns off scaling in this direction.
	SelectPolicy *ScalingPolicySelect `json:"selectPolicy,omitempty" protobuf:"bytes,1,opt,name=selectPolicy"`
	// Limits on the rate of change; selectPolicy chooses among them.
	Policies []HPAScalingPolicy `json:"policies,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=policies"`
	// Deviation from the target, as a fraction, up to which no action is taken; a cluster-wide value if
	// unset.
	Tolerance *resource.Quantity `json:"tolerance,omitempty" protobuf:"bytes,4,opt,name=tolerance"`
}

// HorizontalPodAutoscaler adjusts the number of pods of a workload to observed metrics.
type HorizontalPodAutoscaler struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Workload to scale, and its limits and metrics.
	Spec HorizontalPodAutoscalerSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Most recently observed state; populated by the system and read-only for users.
	Status HorizontalPodAutoscalerStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// HorizontalPodAutoscalerBehavior limits how fast a workload is scaled.
type HorizontalPodAutoscalerBehavior struct {
	// Rules for scaling up. By default by 4 pods or 100%, whichever is more, per 15 seconds.
	ScaleUp *HPAScalingRules `json:"scaleUp,omitempty" protobuf:"bytes,1,opt,name=scaleUp"`
	// Rules for scaling down. By default down to minReplicas, considering the recommendations of the last 300
	// seconds.
	ScaleDown *HPAScalingRules `json:"scaleDown,omitempty" protobuf:"bytes,2,opt,name=scaleDown"`
}

// HorizontalPodAutoscalerCondition describes one aspect of the state of an autoscaler.
type HorizontalPodAutoscalerCondition struct {
	// Type of the condition, such as AbleToScale, ScalingActive or ScalingLimited.
	Type HorizontalPodAutoscalerConditionType `json:"type" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// HorizontalPodAutoscalerSpec describes how a workload is scaled.
type HorizontalPodAutoscalerSpec struct {
	// Workload to scale; its resource must have a scale subresource.
	ScaleTargetRef CrossVersionObjectReference `json:"scaleTargetRef" protobuf:"bytes,1,opt,name=scaleTargetRef" openapi:"required"`
	// Minimum number of pods; defaults to 1.
	MinReplicas *int32 `json:"minReplicas,omitempty" protobuf:"varint,2,opt,name=minReplicas"`
	// Maximum number of pods; must not be less than minReplicas.
	MaxReplicas int32 `json:"maxReplicas" protobuf:"varint,3,opt,name=maxReplicas" openapi:"required"`
	// Metrics to scale by; the one that requires the most pods determines their number. Defaults to 80%
	// average CPU utilization.
	Metrics []MetricSpec `json:"metrics,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=metrics"`
	// Limits on how fast the workload is scaled up and down.
	Behavior *HorizontalPodAutoscalerBehavior `json:"behavior,omitempty" protobuf:"bytes,5,opt,name=behavior"`
}

// HorizontalPodAutoscalerStatus is the observed state of an autoscaler.
type HorizontalPodAutoscalerStatus struct {
	// Generation of the spec that this status reflects.
	ObservedGeneration *int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// When the autoscaler last changed the number of pods.
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty" protobuf:"bytes,2,opt,name=lastScaleTime"`
	// Number of pods last observed.
	CurrentReplicas int32 `json:"currentReplicas,omitempty" protobuf:"varint,3,opt,name=currentReplicas"`
	// Number of pods last computed.
	DesiredReplicas int32 `json:"desiredReplicas" protobuf:"varint,4,opt,name=desiredReplicas" openapi:"required"`
	// Last observed values of the metrics.
	CurrentMetrics []MetricStatus `json:"currentMetrics" listType:"atomic" protobuf:"bytes,5,rep,name=currentMetrics"`
	// Conditions of the autoscaler, such as AbleToScale.
	Conditions []HorizontalPodAutoscalerCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,6,rep,name=conditions"`
}

// MetricIdentifier identifies a metric.
type MetricIdentifier struct {
	// Name of the metric in the metrics API.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Label selector that restricts the metric; only the name matters if unset.
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,2,opt,name="`
}

// MetricSpec is a metric to scale by; the field that corresponds to its type is set.
type MetricSpec struct {
	// Type of the metric source: Resource, ContainerResource, Pods, Object or External.
	Type MetricSourceType `json:"type" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Metric of a single object.
	Object *ObjectMetricSource `json:"object,omitempty" protobuf:"bytes,2,opt,name=object"`
	// Metric of each pod, averaged over the pods.
	Pods *PodsMetricSource `json:"pods,omitempty" protobuf:"bytes,3,opt,name=pods"`
	// Usage of a resource, such as cpu or memory, by the pods.
	Resource *ResourceMetricSource `json:"resource,omitempty" protobuf:"bytes,4,opt,name=resource"`
	// Usage of a resource, such as cpu or memory, by one container of each pod.
	ContainerResource *ContainerResourceMetricSource `json:"containerResource,omitempty" protobuf:"bytes,7,opt,name=containerResource"`
	// Metric that is not associated with any object of the cluster.
	External *ExternalMetricSource `json:"external,omitempty" protobuf:"bytes,5,opt,name=external"`
}

// MetricStatus is the observed value of a metric; the field that corresponds to its type is set.
type MetricStatus struct {
	// Type of the metric source: Resource, ContainerResource, Pods, Object or External.
	Type MetricSourceType `json:"type" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Metric of a single object.
	Object *ObjectMetricStatus `json:"object,omitempty" protobuf:"bytes,2,opt,name=object"`
	// Metric of each pod, averaged over the pods.
	Pods *PodsMetricStatus `json:"pods,omitempty" protobuf:"bytes,3,opt,name=pods"`
	// Usage of a resource, such as cpu or memory, by the pods.
	Resource *ResourceMetricStatus `json:"resource,omitempty" protobuf:"bytes,4,opt,name=resource"`
	// Usage of a resource, such as cpu or memory, by one container of each pod.
	ContainerResource *ContainerResourceMetricStatus `json:"containerResource,omitempty" protobuf:"bytes,7,opt,name=containerResource"`
	// Metric that is not associated with any object of the cluster.
	External *ExternalMetricStatus `json:"external,omitempty" protobuf:"bytes,5,opt,name=external"`
}

// MetricTarget is the target of a metric; the field that corresponds to its type is set.
type MetricTarget struct {
	// Type of the target: Utilization, Value or AverageValue.
	Type MetricTargetType `json:"type" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Target of the metric itself.
	Value *resource.Quantity `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
	// Target of the metric's average over the pods.
	AverageValue *resource.Quantity `json:"averageValue,omitempty" protobuf:"bytes,3,opt,name=averageValue"`
	// Target of the average utilization of a resource, as a percentage of the pods' requests; for resource
	// metrics only.
	AverageUtilization *int32 `json:"averageUtilization,omitempty" protobuf:"varint,4,opt,name=averageUtilization"`
}

// MetricValueStatus is an observed value of a metric.
type MetricValueStatus struct {
	// Value of the metric itself.
	Value *resource.Quantity `json:"value,omitempty" protobuf:"bytes,1,opt,name=value"`
	// Average of the metric over the pods.
	AverageValue *resource.Quantity `json:"averageValue,omitempty" protobuf:"bytes,2,opt,name=averageValue"`
	// Average utilization of a resource, as a percentage of the pods' requests; for resource metrics only.
	AverageUtilization *int32 `json:"averageUtilization,omitempty" protobuf:"varint,3,opt,name=averageUtilization"`
}

// ObjectMetricSource is a metric of a single object.
type ObjectMetricSource struct {
	// Object that the metric describes, in the namespace of the autoscaler.
	DescribedObject CrossVersionObjectReference `json:"describedObject" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Target of the metric.
	Target MetricTarget `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Identifies the metric by name and labels.
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,3,opt,name=" openapi:"required"`
}

// ObjectMetricStatus is the observed value of a metric of a single object.
type ObjectMetricStatus struct {
	// Identifies the metric.
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Last observed value of the metric.
	Current MetricValueStatus `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Object that the metric describes.
	DescribedObject CrossVersionObjectReference `json:"describedObject" protobuf:"bytes,3,opt,name=" openapi:"required"`
}

// PodsMetricSource is a metric of each pod, averaged over the pods.
type PodsMetricSource struct {
	// Identifies the metric by name and labels.
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Target of the average; of type AverageValue.
	Target MetricTarget `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// PodsMetricStatus is the observed average of a metric of the pods.
type PodsMetricStatus struct {
	// Identifies the metric.
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Last observed value of the metric.
	Current MetricValueStatus `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceMetricSource is a metric of the usage of a resource by the pods.
type ResourceMetricSource struct {
	// Name of the resource, such as cpu or memory.
	Name corev1.ResourceName `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Target of the metric.
	Target MetricTarget `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceMetricStatus is the observed usage of a resource by the pods.
type ResourceMetricStatus struct {
	// Name of the resource, such as cpu or memory.
	Name corev1.ResourceName `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Last observed value of the metric.
	Current MetricValueStatus `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// HorizontalPodAutoscalerList is a list of HorizontalPodAutoscaler objects.
type HorizontalPodAutoscalerList = metav1.List[*HorizontalPodAutoscaler]

// HPAScalingPolicyType enumerates the values of HPAScalingPolicy.Type.
type HPAScalingPolicyType string

const (
	PercentScalingPolicy HPAScalingPolicyType = "Percent"
	PodsScalingPolicy    HPAScalingPolicyType = "Pods"
)

// HorizontalPodAutoscalerConditionType enumerates the values of HorizontalPodAutoscalerCondition.Type.
type HorizontalPodAutoscalerConditionType string

const (
	AbleToScale    HorizontalPodAutoscalerConditionType = "AbleToScale"
	ScaledToZero   HorizontalPodAutoscalerConditionType = "ScaledToZero"
	ScalingActive  HorizontalPodAutoscalerConditionType = "ScalingActive"
	ScalingLimited HorizontalPodAutoscalerConditionType = "ScalingLimited"
)

// MetricSourceType enumerates the values of MetricSpec.Type and MetricStatus.Type.
type MetricSourceType string

const (
	ContainerResourceMetricSourceType MetricSourceType = "ContainerResource"
	ExternalMetricSourceType          MetricSourceType = "External"
	ObjectMetricSourceType            MetricSourceType = "Object"
	PodsMetricSourceType              MetricSourceType = "Pods"
	ResourceMetricSourceType          MetricSourceType = "Resource"
)

// MetricTargetType enumerates the values of MetricTarget.Type.
type MetricTargetType string

const (
	AverageValueMetricType MetricTargetType = "AverageValue"
	UtilizationMetricType  MetricTargetType = "Utilization"
	ValueMetricType        MetricTargetType = "Value"
)

// ScalingPolicySelect enumerates the values of HPAScalingRules.SelectPolicy.
type ScalingPolicySelect string

const (
	DisabledPolicySelect  ScalingPolicySelect = "Disabled"
	MaxChangePolicySelect ScalingPolicySelect = "Max"
	MinChangePolicySelect ScalingPolicySelect = "Min"
)
