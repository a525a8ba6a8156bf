package autoscalingv1

// metricsAnnotation carries, in this version, the metrics that only autoscaling/v2 has fields for.
const metricsAnnotation = "autoscaling.alpha.kubernetes.io/metrics"

// DefaultHorizontalPodAutoscaler fills the unset fields of an autoscaler: one replica at least, and
// 80 % CPU as the target if no other metric is given.
func DefaultHorizontalPodAutoscaler(h *HorizontalPodAutoscaler) {
	if h.Spec.MinReplicas == nil {
		h.Spec.MinReplicas = new(int32(1))
	}
	if h.Spec.TargetCPUUtilizationPercentage == nil && h.Annotations[metricsAnnotation] == "" {
		h.Spec.TargetCPUUtilizationPercentage = new(int32(80))
	}
}
