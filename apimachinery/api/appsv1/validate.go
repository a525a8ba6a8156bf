package appsv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

// validateSelector checks the selector of a workload and compiles it; ok is false when it cannot be.
func validateSelector(r *check.Report, s *metav1.LabelSelector, p *path, required bool) (sel labels.Selector, ok bool) {
	if s == nil {
		if required {
			r.Required(p, "")
		}
		return labels.Nothing(), true
	}
	r.Add(metav1.ValidateLabelSelector(s, metav1.SelectorRule{}, p))
	r.If(len(s.MatchLabels)+len(s.MatchExpressions) == 0, p, s, "an empty selector is invalid for this kind")
	sel, err := s.Selector()
	r.If(err != nil, p, s, "invalid label selector")
	return sel, err == nil
}

// validateTemplate checks a template whose pods the selector must find and that never end.
func validateTemplate(r *check.Report, t *corev1.PodTemplateSpec, sel labels.Selector, p *path) {
	if !sel.Empty() {
		r.Add(corev1.TemplateSelected(t, func(l map[string]string) bool { return sel.Matches(labels.Set(l)) }, p))
	}
	r.Add(corev1.ValidatePodTemplate(t, p))
	r.Add(corev1.RunsForever(t, p))
}

// validateShare checks a count or a percentage, at most 100 % if bounded.
func validateShare(r *check.Report, v *intstr.IntOrString, bounded bool, p *path) {
	if v == nil {
		return
	}
	if v.Type == intstr.Int {
		check.NonNegative(r, p, v.IntVal)
		return
	}
	bad := validation.IsPercent(v.StrVal)
	r.Each(p, v.StrVal, bad)
	if n, err := intstr.ScaledValue(*v, 100, true); bounded && bad == nil {
		r.If(err != nil || n > 100, p, v.StrVal, "must not be greater than 100%")
	}
}

// sharePods reports whether a share is not zero; a string that is not a percentage counts as zero.
func sharePods(v *intstr.IntOrString) bool {
	if v == nil {
		return false
	}
	n, err := intstr.ScaledValue(*v, 100, true)
	return err == nil && n != 0
}

// shareIsZero reports whether a share is absent or zero.
func shareIsZero(v *intstr.IntOrString) bool {
	if v == nil {
		return true
	}
	n, err := intstr.ScaledValue(*v, 100, true)
	return err == nil && n == 0
}

// ValidateDeployment checks a deployment to be created.
func ValidateDeployment(d *Deployment) validation.ErrorList {
	var r check.Report
	s, p := &d.Spec, at("spec")
	check.NonNegativeOpt(&r, p.Child("replicas"), s.Replicas)
	if sel, ok := validateSelector(&r, s.Selector, p.Child("selector"), true); ok {
		validateTemplate(&r, &s.Template, sel, p.Child("template"))
	}
	validateDeploymentStrategy(&r, &s.Strategy, p.Child("strategy"))
	check.NonNegative(&r, p.Child("minReadySeconds"), s.MinReadySeconds)
	check.NonNegativeOpt(&r, p.Child("revisionHistoryLimit"), s.RevisionHistoryLimit)
	if t := s.ProgressDeadlineSeconds; t != nil {
		check.NonNegative(&r, p.Child("progressDeadlineSeconds"), *t)
		r.If(*t <= s.MinReadySeconds, p.Child("progressDeadlineSeconds"), *t, "must be greater than minReadySeconds")
	}
	return r.List()
}

func validateDeploymentStrategy(r *check.Report, s *DeploymentStrategy, p *path) {
	rolling := p.Child("rollingUpdate")
	switch u := s.RollingUpdate; s.Type {
	case RecreateDeploymentStrategyType:
		r.ForbidIf(u != nil, rolling, "may not be specified when strategy `type` is 'Recreate'")
	case RollingUpdateDeploymentStrategyType:
		if u == nil {
			r.Required(rolling, "this should be defaulted and never be nil")
			return
		}
		validateShare(r, u.MaxUnavailable, true, rolling.Child("maxUnavailable"))
		validateShare(r, u.MaxSurge, false, rolling.Child("maxSurge"))
		r.If(!sharePods(u.MaxUnavailable) && !sharePods(u.MaxSurge), rolling.Child("maxUnavailable"), u.MaxUnavailable, "may not be 0 when `maxSurge` is 0")
	default:
		// The finding is about the strategy, not its type.
		check.OneOf(r, p, s.Type, RecreateDeploymentStrategyType, RollingUpdateDeploymentStrategyType)
	}
}

// ValidateDeploymentUpdate checks a change of a deployment; the selector stays.
func ValidateDeploymentUpdate(d, old *Deployment) validation.ErrorList {
	var r check.Report
	r.Add(ValidateDeployment(d))
	check.Immutable(&r, at("spec", "selector"), d.Spec.Selector, old.Spec.Selector)
	return r.List()
}

// counts checks that numbers of pods are not negative and none exceeds the total.
func counts(r *check.Report, p *path, total int32, parts []count) {
	check.NonNegative(r, p.Child("replicas"), total)
	for _, c := range parts {
		check.NonNegative(r, p.Child(c.field), c.n)
		r.If(c.n > total, p.Child(c.field), c.n, "cannot be greater than status.replicas")
	}
}

type count struct {
	field string
	n     int32
}

// collisions checks that the collision count only grows.
func collisions(r *check.Report, now, was *int32, p *path) {
	check.NonNegativeOpt(r, p, now)
	r.If(was != nil && (now == nil || *now < *was), p, now, "cannot be decremented")
}

// ValidateDeploymentStatus checks a change of a deployment's status.
func ValidateDeploymentStatus(d, old *Deployment) validation.ErrorList {
	var r check.Report
	s, p := &d.Status, at("status")
	check.NonNegative(&r, p.Child("observedGeneration"), s.ObservedGeneration)
	counts(&r, p, s.Replicas, []count{
		{"updatedReplicas", s.UpdatedReplicas}, {"readyReplicas", s.ReadyReplicas}, {"availableReplicas", s.AvailableReplicas},
	})
	check.NonNegative(&r, p.Child("unavailableReplicas"), s.UnavailableReplicas)
	check.NonNegativeOpt(&r, p.Child("terminatingReplicas"), s.TerminatingReplicas)
	r.If(s.AvailableReplicas > s.ReadyReplicas, p.Child("availableReplicas"), s.AvailableReplicas, "cannot be greater than readyReplicas")
	collisions(&r, s.CollisionCount, old.Status.CollisionCount, p.Child("collisionCount"))
	return r.List()
}

// ValidateReplicaSet checks a replica set to be created.
func ValidateReplicaSet(rs *ReplicaSet) validation.ErrorList {
	var r check.Report
	s, p := &rs.Spec, at("spec")
	check.NonNegativeOpt(&r, p.Child("replicas"), s.Replicas)
	check.NonNegative(&r, p.Child("minReadySeconds"), s.MinReadySeconds)
	if sel, ok := validateSelector(&r, s.Selector, p.Child("selector"), true); ok {
		validateTemplate(&r, &s.Template, sel, p.Child("template"))
	}
	return r.List()
}

// ValidateReplicaSetUpdate checks a change of a replica set; the selector stays.
func ValidateReplicaSetUpdate(rs, old *ReplicaSet) validation.ErrorList {
	var r check.Report
	r.Add(ValidateReplicaSet(rs))
	check.Immutable(&r, at("spec", "selector"), rs.Spec.Selector, old.Spec.Selector)
	return r.List()
}

// ValidateReplicaSetStatus checks a change of a replica set's status.
func ValidateReplicaSetStatus(rs, _ *ReplicaSet) validation.ErrorList {
	var r check.Report
	s, p := &rs.Status, at("status")
	counts(&r, p, s.Replicas, []count{
		{"fullyLabeledReplicas", s.FullyLabeledReplicas}, {"readyReplicas", s.ReadyReplicas}, {"availableReplicas", s.AvailableReplicas},
	})
	check.NonNegative(&r, p.Child("observedGeneration"), s.ObservedGeneration)
	check.NonNegativeOpt(&r, p.Child("terminatingReplicas"), s.TerminatingReplicas)
	r.If(s.AvailableReplicas > s.ReadyReplicas, p.Child("availableReplicas"), s.AvailableReplicas, "cannot be greater than readyReplicas")
	return r.List()
}
