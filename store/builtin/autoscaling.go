package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// autoscaling returns the kinds of the group autoscaling.
func autoscaling(s *scheme.Scheme) []registry.Definition {
	v2 := kind[*autoscalingv2.HorizontalPodAutoscaler](s, autoscalingv2.GroupVersion)
	return []registry.Definition{
		{Info: v2, Table: autoscalerV2Table},
		{
			Info: kind[*autoscalingv1.HorizontalPodAutoscaler](s, autoscalingv1.GroupVersion), Stored: v2,
			FromStored: convert(scalerFromV2), ToStored: convert(scalerToV2), Table: autoscalerV1Table,
		},
	}
}

// Version 1 of HorizontalPodAutoscaler has one metric, the CPU utilization. The other metrics, conditions and
// behavior of version 2 are kept in these annotations.
const (
	scalerMetrics    = "autoscaling.alpha.kubernetes.io/metrics"
	scalerCurrent    = "autoscaling.alpha.kubernetes.io/current-metrics"
	scalerConditions = "autoscaling.alpha.kubernetes.io/conditions"
	scalerBehavior   = "autoscaling.alpha.kubernetes.io/behavior"
)

func scalerFromV2(in *autoscalingv2.HorizontalPodAutoscaler) (*autoscalingv1.HorizontalPodAutoscaler, error) {
	out := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: in.ObjectMeta}
	out.Spec = autoscalingv1.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
		MinReplicas:    in.Spec.MinReplicas, MaxReplicas: in.Spec.MaxReplicas,
	}
	out.Status = autoscalingv1.HorizontalPodAutoscalerStatus{
		ObservedGeneration: in.Status.ObservedGeneration, LastScaleTime: in.Status.LastScaleTime,
		CurrentReplicas: in.Status.CurrentReplicas, DesiredReplicas: in.Status.DesiredReplicas,
	}
	var others []autoscalingv2.MetricSpec
	for _, m := range in.Spec.Metrics {
		if isCPU(m.Type, m.Resource) && m.Resource.Target.AverageUtilization != nil && out.Spec.TargetCPUUtilizationPercentage == nil {
			out.Spec.TargetCPUUtilizationPercentage = m.Resource.Target.AverageUtilization
			continue
		}
		others = append(others, m)
	}
	var current []autoscalingv2.MetricStatus
	for _, m := range in.Status.CurrentMetrics {
		if m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU &&
			m.Resource.Current.AverageUtilization != nil && out.Status.CurrentCPUUtilizationPercentage == nil {
			out.Status.CurrentCPUUtilizationPercentage = m.Resource.Current.AverageUtilization
		}
		current = append(current, m)
	}
	notes := map[string]any{}
	if len(others) > 0 {
		notes[scalerMetrics] = others
	}
	if len(current) > 0 {
		notes[scalerCurrent] = current
	}
	if len(in.Status.Conditions) > 0 {
		notes[scalerConditions] = in.Status.Conditions
	}
	if in.Spec.Behavior != nil {
		notes[scalerBehavior] = in.Spec.Behavior
	}
	if len(notes) == 0 {
		return out, nil
	}
	annotations := make(map[string]string, len(in.Annotations)+len(notes))
	for k, v := range in.Annotations {
		annotations[k] = v
	}
	for k, v := range notes {
		b, err := codec.Marshal(v)
		if err != nil {
			return nil, err
		}
		annotations[k] = string(b)
	}
	out.Annotations = annotations
	return out, nil
}

func isCPU(t autoscalingv2.MetricSourceType, m *autoscalingv2.ResourceMetricSource) bool {
	return t == autoscalingv2.ResourceMetricSourceType && m != nil && m.Name == corev1.ResourceCPU
}

func scalerToV2(in *autoscalingv1.HorizontalPodAutoscaler) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	out := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: in.ObjectMeta}
	out.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
		MinReplicas:    in.Spec.MinReplicas, MaxReplicas: in.Spec.MaxReplicas,
	}
	out.Status = autoscalingv2.HorizontalPodAutoscalerStatus{
		ObservedGeneration: in.Status.ObservedGeneration, LastScaleTime: in.Status.LastScaleTime,
		CurrentReplicas: in.Status.CurrentReplicas, DesiredReplicas: in.Status.DesiredReplicas,
	}
	if target := in.Spec.TargetCPUUtilizationPercentage; target != nil {
		out.Spec.Metrics = append(out.Spec.Metrics, autoscalingv2.MetricSpec{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: target}},
		})
	}
	var others []autoscalingv2.MetricSpec
	var behavior autoscalingv2.HorizontalPodAutoscalerBehavior
	annotations := make(map[string]string, len(in.Annotations))
	for k, v := range in.Annotations {
		annotations[k] = v
	}
	// An annotation that cannot be decoded is the user's own and is kept.
	take := func(name string, into any) bool {
		text, ok := annotations[name]
		if !ok || codec.Unmarshal([]byte(text), into) != nil {
			return false
		}
		delete(annotations, name)
		return true
	}
	if take(scalerMetrics, &others) {
		out.Spec.Metrics = append(out.Spec.Metrics, others...)
	}
	take(scalerCurrent, &out.Status.CurrentMetrics)
	take(scalerConditions, &out.Status.Conditions)
	if take(scalerBehavior, &behavior) {
		out.Spec.Behavior = &behavior
	}
	out.Annotations = annotations
	if len(annotations) == 0 {
		out.Annotations = nil
	}
	return out, nil
}
