// Package autoscalingv2 holds HorizontalPodAutoscaler with several metrics (autoscaling/v2).
package autoscalingv2

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

type ContainerResourceMetricSource struct {
	Name      corev1.ResourceName `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Target    MetricTarget        `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
	Container string              `json:"container" protobuf:"bytes,3,opt,name=container" openapi:"required"`
}

type ContainerResourceMetricStatus struct {
	Name      corev1.ResourceName `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Current   MetricValueStatus   `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
	Container string              `json:"container" protobuf:"bytes,3,opt,name=container" openapi:"required"`
}

type CrossVersionObjectReference struct {
	Kind       string `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	Name       string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,3,opt,name=apiVersion"`
}

type ExternalMetricSource struct {
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Target MetricTarget     `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

type ExternalMetricStatus struct {
	Metric  MetricIdentifier  `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Current MetricValueStatus `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

type HPAScalingPolicy struct {
	Type          HPAScalingPolicyType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	Value         int32                `json:"value" protobuf:"varint,2,opt,name=value" openapi:"required"`
	PeriodSeconds int32                `json:"periodSeconds" protobuf:"varint,3,opt,name=periodSeconds" openapi:"required"`
}

type HPAScalingRules struct {
	StabilizationWindowSeconds *int32               `json:"stabilizationWindowSeconds,omitempty" protobuf:"varint,3,opt,name=stabilizationWindowSeconds"`
	SelectPolicy               *ScalingPolicySelect `json:"selectPolicy,omitempty" protobuf:"bytes,1,opt,name=selectPolicy"`
	Policies                   []HPAScalingPolicy   `json:"policies,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=policies"`
	Tolerance                  *resource.Quantity   `json:"tolerance,omitempty" protobuf:"bytes,4,opt,name=tolerance"`
}

type HorizontalPodAutoscaler struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              HorizontalPodAutoscalerSpec   `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	Status            HorizontalPodAutoscalerStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type HorizontalPodAutoscalerBehavior struct {
	ScaleUp   *HPAScalingRules `json:"scaleUp,omitempty" protobuf:"bytes,1,opt,name=scaleUp"`
	ScaleDown *HPAScalingRules `json:"scaleDown,omitempty" protobuf:"bytes,2,opt,name=scaleDown"`
}

type HorizontalPodAutoscalerCondition struct {
	Type               HorizontalPodAutoscalerConditionType `json:"type" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Status             corev1.ConditionStatus               `json:"status" protobuf:"bytes,2,opt,name=" openapi:"required"`
	LastTransitionTime metav1.Time                          `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	Reason             string                               `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	Message            string                               `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

type HorizontalPodAutoscalerSpec struct {
	ScaleTargetRef CrossVersionObjectReference      `json:"scaleTargetRef" protobuf:"bytes,1,opt,name=scaleTargetRef" openapi:"required"`
	MinReplicas    *int32                           `json:"minReplicas,omitempty" protobuf:"varint,2,opt,name=minReplicas"`
	MaxReplicas    int32                            `json:"maxReplicas" protobuf:"varint,3,opt,name=maxReplicas" openapi:"required"`
	Metrics        []MetricSpec                     `json:"metrics,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=metrics"`
	Behavior       *HorizontalPodAutoscalerBehavior `json:"behavior,omitempty" protobuf:"bytes,5,opt,name=behavior"`
}

type HorizontalPodAutoscalerStatus struct {
	ObservedGeneration *int64                             `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	LastScaleTime      *metav1.Time                       `json:"lastScaleTime,omitempty" protobuf:"bytes,2,opt,name=lastScaleTime"`
	CurrentReplicas    int32                              `json:"currentReplicas,omitempty" protobuf:"varint,3,opt,name=currentReplicas"`
	DesiredReplicas    int32                              `json:"desiredReplicas" protobuf:"varint,4,opt,name=desiredReplicas" openapi:"required"`
	CurrentMetrics     []MetricStatus                     `json:"currentMetrics" listType:"atomic" protobuf:"bytes,5,rep,name=currentMetrics"`
	Conditions         []HorizontalPodAutoscalerCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,6,rep,name=conditions"`
}

type MetricIdentifier struct {
	Name     string                `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,2,opt,name="`
}

type MetricSpec struct {
	Type              MetricSourceType               `json:"type" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Object            *ObjectMetricSource            `json:"object,omitempty" protobuf:"bytes,2,opt,name=object"`
	Pods              *PodsMetricSource              `json:"pods,omitempty" protobuf:"bytes,3,opt,name=pods"`
	Resource          *ResourceMetricSource          `json:"resource,omitempty" protobuf:"bytes,4,opt,name=resource"`
	ContainerResource *ContainerResourceMetricSource `json:"containerResource,omitempty" protobuf:"bytes,7,opt,name=containerResource"`
	External          *ExternalMetricSource          `json:"external,omitempty" protobuf:"bytes,5,opt,name=external"`
}

type MetricStatus struct {
	Type              MetricSourceType               `json:"type" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Object            *ObjectMetricStatus            `json:"object,omitempty" protobuf:"bytes,2,opt,name=object"`
	Pods              *PodsMetricStatus              `json:"pods,omitempty" protobuf:"bytes,3,opt,name=pods"`
	Resource          *ResourceMetricStatus          `json:"resource,omitempty" protobuf:"bytes,4,opt,name=resource"`
	ContainerResource *ContainerResourceMetricStatus `json:"containerResource,omitempty" protobuf:"bytes,7,opt,name=containerResource"`
	External          *ExternalMetricStatus          `json:"external,omitempty" protobuf:"bytes,5,opt,name=external"`
}

type MetricTarget struct {
	Type               MetricTargetType   `json:"type" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Value              *resource.Quantity `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
	AverageValue       *resource.Quantity `json:"averageValue,omitempty" protobuf:"bytes,3,opt,name=averageValue"`
	AverageUtilization *int32             `json:"averageUtilization,omitempty" protobuf:"varint,4,opt,name=averageUtilization"`
}

type MetricValueStatus struct {
	Value              *resource.Quantity `json:"value,omitempty" protobuf:"bytes,1,opt,name=value"`
	AverageValue       *resource.Quantity `json:"averageValue,omitempty" protobuf:"bytes,2,opt,name=averageValue"`
	AverageUtilization *int32             `json:"averageUtilization,omitempty" protobuf:"varint,3,opt,name=averageUtilization"`
}

type ObjectMetricSource struct {
	DescribedObject CrossVersionObjectReference `json:"describedObject" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Target          MetricTarget                `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
	Metric          MetricIdentifier            `json:"metric" protobuf:"bytes,3,opt,name=" openapi:"required"`
}

type ObjectMetricStatus struct {
	Metric          MetricIdentifier            `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Current         MetricValueStatus           `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
	DescribedObject CrossVersionObjectReference `json:"describedObject" protobuf:"bytes,3,opt,name=" openapi:"required"`
}

type PodsMetricSource struct {
	Metric MetricIdentifier `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Target MetricTarget     `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

type PodsMetricStatus struct {
	Metric  MetricIdentifier  `json:"metric" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Current MetricValueStatus `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

type ResourceMetricSource struct {
	Name   corev1.ResourceName `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Target MetricTarget        `json:"target" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

type ResourceMetricStatus struct {
	Name    corev1.ResourceName `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Current MetricValueStatus   `json:"current" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// HorizontalPodAutoscalerList is a list of HorizontalPodAutoscaler objects.
type HorizontalPodAutoscalerList = metav1.List[*HorizontalPodAutoscaler]

type HPAScalingPolicyType string

// The values of HPAScalingPolicyType.
const (
	PercentScalingPolicy HPAScalingPolicyType = "Percent"
	PodsScalingPolicy    HPAScalingPolicyType = "Pods"
)

type HorizontalPodAutoscalerConditionType string

// The values of HorizontalPodAutoscalerConditionType.
const (
	AbleToScale    HorizontalPodAutoscalerConditionType = "AbleToScale"
	ScaledToZero   HorizontalPodAutoscalerConditionType = "ScaledToZero"
	ScalingActive  HorizontalPodAutoscalerConditionType = "ScalingActive"
	ScalingLimited HorizontalPodAutoscalerConditionType = "ScalingLimited"
)

type MetricSourceType string

// The values of MetricSourceType.
const (
	ContainerResourceMetricSourceType MetricSourceType = "ContainerResource"
	ExternalMetricSourceType          MetricSourceType = "External"
	ObjectMetricSourceType            MetricSourceType = "Object"
	PodsMetricSourceType              MetricSourceType = "Pods"
	ResourceMetricSourceType          MetricSourceType = "Resource"
)

type MetricTargetType string

// The values of MetricTargetType.
const (
	AverageValueMetricType MetricTargetType = "AverageValue"
	UtilizationMetricType  MetricTargetType = "Utilization"
	ValueMetricType        MetricTargetType = "Value"
)

type ScalingPolicySelect string

// The values of ScalingPolicySelect.
const (
	DisabledPolicySelect  ScalingPolicySelect = "Disabled"
	MaxChangePolicySelect ScalingPolicySelect = "Max"
	MinChangePolicySelect ScalingPolicySelect = "Min"
)
