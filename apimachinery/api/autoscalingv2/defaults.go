package autoscalingv2

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/defaults"
)

// DefaultHorizontalPodAutoscaler fills the unset fields of an autoscaler: one replica at least, 80 %
// CPU as the target if there is no metric, and both scaling rules if behavior is given at all.
func DefaultHorizontalPodAutoscaler(h *HorizontalPodAutoscaler) {
	s := &h.Spec
	defaults.IfNil(&s.MinReplicas, 1)
	if len(s.Metrics) == 0 {
		s.Metrics = []MetricSpec{{
			Type: ResourceMetricSourceType,
			Resource: &ResourceMetricSource{
				Name:   corev1.ResourceCPU,
				Target: MetricTarget{Type: UtilizationMetricType, AverageUtilization: new(int32(80))},
			},
		}}
	}
	if s.Behavior == nil {
		return
	}
	defaults.IfNil(&s.Behavior.ScaleUp, HPAScalingRules{})
	defaults.IfNil(&s.Behavior.ScaleDown, HPAScalingRules{})
	up, down := s.Behavior.ScaleUp, s.Behavior.ScaleDown
	defaults.IfNil(&up.StabilizationWindowSeconds, 0)
	defaults.IfNil(&up.SelectPolicy, MaxChangePolicySelect)
	defaults.IfNil(&down.SelectPolicy, MaxChangePolicySelect)
	if up.Policies == nil {
		up.Policies = []HPAScalingPolicy{
			{Type: PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
			{Type: PercentScalingPolicy, Value: 100, PeriodSeconds: 15},
		}
	}
	if down.Policies == nil {
		down.Policies = []HPAScalingPolicy{{Type: PercentScalingPolicy, Value: 100, PeriodSeconds: 15}}
	}
}
