package policyv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func at(name string, more ...string) *validation.Path { return validation.NewPath(name, more...) }

// ValidatePodDisruptionBudget checks a budget to be stored.
func ValidatePodDisruptionBudget(b *PodDisruptionBudget) validation.ErrorList {
	var r check.Report
	s, p := &b.Spec, at("spec")
	r.If(s.MinAvailable != nil && s.MaxUnavailable != nil, p, s, "minAvailable and maxUnavailable cannot be both set")
	r.Add(validateShare(s.MinAvailable, p.Child("minAvailable")))
	r.Add(validateShare(s.MaxUnavailable, p.Child("maxUnavailable")))
	r.Add(metav1.ValidateLabelSelector(s.Selector, metav1.SelectorRule{}, p.Child("selector")))
	check.OneOfOpt(&r, p.Child("unhealthyPodEvictionPolicy"), s.UnhealthyPodEvictionPolicy, IfHealthyBudget, AlwaysAllow)
	return r.List()
}

// validateShare checks a count or a percentage of at most 100 %.
func validateShare(v *intstr.IntOrString, p *validation.Path) validation.ErrorList {
	var r check.Report
	if v == nil {
		return nil
	}
	if v.Type == intstr.Int {
		check.NonNegative(&r, p, v.IntVal)
		return r.List()
	}
	bad := validation.IsPercent(v.StrVal)
	r.Each(p, v.StrVal, bad)
	if n, err := intstr.ScaledValue(*v, 100, true); bad == nil {
		r.If(err != nil || n > 100, p, v.StrVal, "must not be greater than 100%")
	}
	return r.List()
}

// ValidatePodDisruptionBudgetStatus checks a change of a budget's status.
func ValidatePodDisruptionBudgetStatus(b, _ *PodDisruptionBudget) validation.ErrorList {
	var r check.Report
	s, p := &b.Status, at("status")
	r.Add(metav1.ValidateConditions(s.Conditions, p.Child("conditions")))
	check.NonNegative(&r, p.Child("disruptionsAllowed"), s.DisruptionsAllowed)
	check.NonNegative(&r, p.Child("currentHealthy"), s.CurrentHealthy)
	check.NonNegative(&r, p.Child("desiredHealthy"), s.DesiredHealthy)
	check.NonNegative(&r, p.Child("expectedPods"), s.ExpectedPods)
	return r.List()
}
