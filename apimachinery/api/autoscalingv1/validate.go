package autoscalingv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func at(name string, more ...string) *validation.Path { return validation.NewPath(name, more...) }

// ValidateHorizontalPodAutoscaler checks an autoscaler to be created.
func ValidateHorizontalPodAutoscaler(h *HorizontalPodAutoscaler) validation.ErrorList {
	return validateSpec(&h.Spec, nil)
}

// ValidateHorizontalPodAutoscalerUpdate checks a change of an autoscaler.
func ValidateHorizontalPodAutoscalerUpdate(h, old *HorizontalPodAutoscaler) validation.ErrorList {
	return validateSpec(&h.Spec, &old.Spec)
}

func validateSpec(s, old *HorizontalPodAutoscalerSpec) validation.ErrorList {
	var r check.Report
	p := at("spec")
	ref := autoscalingv2.CrossVersionObjectReference(s.ScaleTargetRef)
	var oldRef *autoscalingv2.CrossVersionObjectReference
	if old != nil {
		oldRef = new(autoscalingv2.CrossVersionObjectReference(old.ScaleTargetRef))
	}
	r.Add(autoscalingv2.ValidateScaling(s.MinReplicas, s.MaxReplicas, p))
	r.Add(autoscalingv2.ValidateScaleTarget(&ref, oldRef, p.Child("scaleTargetRef")))
	if t := s.TargetCPUUtilizationPercentage; t != nil && *t < 1 {
		// The field is the first metric of the stored form, and upstream reports that path.
		r.Invalid(p.Child("metrics").Index(0).Child("resource", "target", "averageUtilization"), *t, "must be greater than 0")
	}
	return r.List()
}

// ValidateHorizontalPodAutoscalerStatus checks a change of an autoscaler's status.
func ValidateHorizontalPodAutoscalerStatus(h, _ *HorizontalPodAutoscaler) validation.ErrorList {
	var r check.Report
	check.NonNegative(&r, at("status", "currentReplicas"), h.Status.CurrentReplicas)
	check.NonNegative(&r, at("status", "desiredReplicas"), h.Status.DesiredReplicas)
	return r.List()
}

// ValidateScale checks a change through the scale subresource.
func ValidateScale(s *Scale) validation.ErrorList {
	var r check.Report
	check.NonNegative(&r, at("spec", "replicas"), s.Spec.Replicas)
	return r.List()
}
