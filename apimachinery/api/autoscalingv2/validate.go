package autoscalingv2

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

const (
	maxStabilization = 3600
	maxPolicyPeriod  = 1800
)

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
	var oldTarget *CrossVersionObjectReference
	lenientMetrics := false
	if old != nil {
		oldTarget = &old.ScaleTargetRef
		// One malformed version that was once accepted in a metric lets all of them stay.
		lenientMetrics = slices.ContainsFunc(old.Metrics, func(m MetricSpec) bool {
			return m.Type == ObjectMetricSourceType && m.Object != nil && checkAPIVersion(m.Object.DescribedObject.APIVersion, false) != ""
		})
	}
	r.Add(ValidateScaling(s.MinReplicas, s.MaxReplicas, p))
	r.Add(ValidateScaleTarget(&s.ScaleTargetRef, oldTarget, p.Child("scaleTargetRef")))
	r.Add(validateMetrics(s, lenientMetrics, p.Child("metrics")))
	if b := s.Behavior; b != nil {
		r.Add(validateRules(b.ScaleUp, p.Child("behavior", "scaleUp")))
		r.Add(validateRules(b.ScaleDown, p.Child("behavior", "scaleDown")))
	}
	return r.List()
}

// ValidateScaling checks the bounds of an autoscaler whose spec is at p.
func ValidateScaling(low *int32, high int32, p *path) validation.ErrorList {
	var r check.Report
	r.If(low != nil && *low < 1, p.Child("minReplicas"), low, "must be greater than or equal to 1")
	if high == 0 {
		r.Required(p.Child("maxReplicas"), "must be set and greater than 0")
	}
	r.If(high < 0, p.Child("maxReplicas"), high, "must be greater than 0")
	r.If(low != nil && high < *low, p.Child("maxReplicas"), high, "must be greater than or equal to `minReplicas`")
	return r.List()
}

// ValidateScaleTarget checks the reference at p to what an autoscaler scales. old is the previous reference,
// nil for a new autoscaler: a version that stays with its kind is not checked.
func ValidateScaleTarget(ref, old *CrossVersionObjectReference, p *path) validation.ErrorList {
	var r check.Report
	r.Add(validateNames(ref, p))
	if old == nil || old.Kind != ref.Kind || old.APIVersion != ref.APIVersion {
		// ReplicationController is the only kind of the core group that can be scaled.
		problem := checkAPIVersion(ref.APIVersion, ref.Kind != "ReplicationController")
		r.If(problem != "", p.Child("apiVersion"), ref.APIVersion, problem)
	}
	return r.List()
}

// validateNames checks the kind and the name of a reference.
func validateNames(ref *CrossVersionObjectReference, p *path) validation.ErrorList {
	var r check.Report
	r.Name(p.Child("kind"), ref.Kind, validation.NameIsPathSegment)
	r.Name(p.Child("name"), ref.Name, validation.NameIsPathSegment)
	return r.List()
}

// checkAPIVersion returns what is wrong with the version of a reference, or "".
func checkAPIVersion(apiVersion string, needGroup bool) string {
	switch group, version, grouped := strings.Cut(apiVersion, "/"); {
	case strings.Contains(version, "/"):
		return "unexpected GroupVersion string: " + apiVersion
	case needGroup && (!grouped || group == ""):
		return "apiVersion must specify API group"
	}
	return ""
}

func validateMetrics(s *HorizontalPodAutoscalerSpec, lenient bool, p *path) validation.ErrorList {
	var r check.Report
	for i := range s.Metrics {
		r.Add(validateMetric(&s.Metrics[i], lenient, p.Index(i)))
	}
	if s.MinReplicas != nil && *s.MinReplicas == 0 {
		external := slices.ContainsFunc(s.Metrics, func(m MetricSpec) bool {
			return m.Type == ObjectMetricSourceType || m.Type == ExternalMetricSourceType
		})
		r.ForbidIf(!external, p, "must specify at least one Object or External metric to support scaling to zero replicas")
	}
	return r.List()
}

// validateMetric checks a metric at p; if lenient, not the version of the object that it describes.
func validateMetric(m *MetricSpec, lenient bool, p *path) validation.ErrorList {
	var r check.Report
	types := []MetricSourceType{
		ObjectMetricSourceType, PodsMetricSourceType, ResourceMetricSourceType, ExternalMetricSourceType, ContainerResourceMetricSourceType,
	}
	if m.Type == "" {
		r.Required(p.Child("type"), "must specify a metric source type")
	}
	check.OneOf(&r, p.Child("type"), m.Type, types...)
	// If several sources are set, only the first one is checked.
	var sources []string
	present := func(field string, set bool, body func(q *path)) {
		if set {
			if sources = append(sources, field); len(sources) == 1 {
				body(p.Child(field))
			}
		}
	}
	present("object", m.Object != nil, func(q *path) {
		ref := &m.Object.DescribedObject
		r.Add(validateNames(ref, q.Child("describedObject")))
		if problem := checkAPIVersion(ref.APIVersion, false); !lenient {
			r.If(problem != "", q.Child("describedObject", "apiVersion"), ref.APIVersion, problem)
		}
		r.Add(validateIdentifier(&m.Object.Metric, q.Child("metric")))
		r.Add(validateTarget(&m.Object.Target, q.Child("target")))
		if m.Object.Target.Value == nil && m.Object.Target.AverageValue == nil {
			r.Required(q.Child("target", "averageValue"), "must set either a target value or averageValue")
		}
	})
	present("external", m.External != nil, func(q *path) {
		r.Add(validateIdentifier(&m.External.Metric, q.Child("metric")))
		r.Add(validateTarget(&m.External.Target, q.Child("target")))
		v, a := m.External.Target.Value, m.External.Target.AverageValue
		if v == nil && a == nil {
			r.Required(q.Child("target", "averageValue"), "must set either a target value for metric or a per-pod target")
		}
		r.ForbidIf(v != nil && a != nil, q.Child("target", "value"), "may not set both a target value for metric and a per-pod target")
	})
	present("pods", m.Pods != nil, func(q *path) {
		r.Add(validateIdentifier(&m.Pods.Metric, q.Child("metric")))
		r.Add(validateTarget(&m.Pods.Target, q.Child("target")))
		if a := m.Pods.Target.AverageValue; a == nil || a.Sign() != 1 {
			r.Required(q.Child("target", "averageValue"), "must specify a positive target averageValue")
		}
	})
	present("resource", m.Resource != nil, func(q *path) {
		r.Add(validateResourceTarget(string(m.Resource.Name), &m.Resource.Target, q))
	})
	present("containerResource", m.ContainerResource != nil, func(q *path) {
		r.Name(q.Child("container"), m.ContainerResource.Container, validation.NameIsLabel)
		r.Add(validateResourceTarget(string(m.ContainerResource.Name), &m.ContainerResource.Target, q))
	})
	expected := ""
	if slices.Contains(types, m.Type) {
		expected = strings.ToLower(string(m.Type[:1])) + string(m.Type[1:])
		if !slices.Contains(sources, expected) {
			r.Required(p.Child(expected), "must populate information for the given metric source")
		}
	} else {
		check.OneOf(&r, p.Child("type"), m.Type, types...) // what is expected is not known either
	}
	for _, field := range sources {
		r.ForbidIf(len(sources) > 1 && field != expected, p.Child(field), "must populate the given metric source only")
	}
	return r.List()
}

func validateResourceTarget(name string, t *MetricTarget, p *path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("name"), name)
	r.Add(validateTarget(t, p.Child("target")))
	if t.AverageUtilization == nil && t.AverageValue == nil {
		r.Required(p.Child("target", "averageUtilization"), "must set either a target raw value or a target utilization")
	}
	r.ForbidIf(t.AverageUtilization != nil && t.AverageValue != nil, p.Child("target", "averageValue"), "may not set both a target raw value and a target utilization")
	return r.List()
}

func validateIdentifier(m *MetricIdentifier, p *path) validation.ErrorList {
	var r check.Report
	r.Name(p.Child("name"), m.Name, validation.NameIsPathSegment)
	return r.List()
}

func validateTarget(t *MetricTarget, p *path) validation.ErrorList {
	var r check.Report
	if t.Type == "" {
		r.Required(p.Child("type"), "must specify a metric target type")
	}
	switch t.Type {
	case UtilizationMetricType, ValueMetricType, AverageValueMetricType:
	default:
		r.Invalid(p.Child("type"), t.Type, "must be either Utilization, Value, or AverageValue")
	}
	for _, f := range []struct {
		name string
		q    *resource.Quantity
	}{{"value", t.Value}, {"averageValue", t.AverageValue}} {
		r.If(f.q != nil && f.q.Sign() != 1, p.Child(f.name), f.q, "must be positive")
	}
	r.If(t.AverageUtilization != nil && *t.AverageUtilization < 1, p.Child("averageUtilization"), t.AverageUtilization, "must be greater than 0")
	return r.List()
}

func validateRules(s *HPAScalingRules, p *path) validation.ErrorList {
	var r check.Report
	if s == nil {
		return nil
	}
	if w := s.StabilizationWindowSeconds; w != nil {
		q := p.Child("stabilizationWindowSeconds")
		r.If(*w < 0, q, *w, "must be greater than or equal to zero")
		r.If(*w > maxStabilization, q, *w, "must be less than or equal to 3600")
	}
	check.OneOfOpt(&r, p.Child("selectPolicy"), s.SelectPolicy, MaxChangePolicySelect, MinChangePolicySelect, DisabledPolicySelect)
	r.If(s.Tolerance != nil && s.Tolerance.Sign() < 0, p.Child("tolerance"), s.Tolerance, "must be greater than or equal to 0")
	if len(s.Policies) == 0 {
		r.Required(p.Child("policies"), "must specify at least one Policy")
	}
	for i, policy := range s.Policies {
		q := p.Child("policies").Index(i)
		check.OneOf(&r, q.Child("type"), policy.Type, PodsScalingPolicy, PercentScalingPolicy)
		r.If(policy.Value <= 0, q.Child("value"), policy.Value, "must be greater than zero")
		r.If(policy.PeriodSeconds <= 0, q.Child("periodSeconds"), policy.PeriodSeconds, "must be greater than zero")
		r.If(policy.PeriodSeconds > maxPolicyPeriod, q.Child("periodSeconds"), policy.PeriodSeconds, "must be less than or equal to 1800")
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
