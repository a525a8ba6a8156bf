package appsv1

import (
	"encoding/json"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidateStatefulSet checks a stateful set to be created.
func ValidateStatefulSet(set *StatefulSet) validation.ErrorList {
	var r check.Report
	s, p := &set.Spec, at("spec")
	switch s.PodManagementPolicy {
	case "":
		r.Required(p.Child("podManagementPolicy"), "")
	case OrderedReadyPodManagement, ParallelPodManagement:
	default:
		r.Invalid(p.Child("podManagementPolicy"), s.PodManagementPolicy, "must be 'OrderedReady' or 'Parallel'")
	}
	u, q := &s.UpdateStrategy, p.Child("updateStrategy")
	switch u.Type {
	case "":
		r.Required(q, "")
	case OnDeleteStatefulSetStrategyType:
		r.If(u.RollingUpdate != nil, q.Child("rollingUpdate"), u.RollingUpdate, "only allowed for updateStrategy 'RollingUpdate'")
	case RollingUpdateStatefulSetStrategyType:
		if ru := u.RollingUpdate; ru != nil {
			check.NonNegativeOpt(&r, q.Child("rollingUpdate", "partition"), ru.Partition)
			if ru.MaxUnavailable != nil {
				validateShare(&r, ru.MaxUnavailable, true, q.Child("rollingUpdate", "maxUnavailable"))
				r.If(shareIsZero(ru.MaxUnavailable), q.Child("rollingUpdate", "maxUnavailable"), ru.MaxUnavailable, "cannot be 0")
			}
		}
	default:
		r.Invalid(q, u.Type, "must be 'RollingUpdate' or 'OnDelete'")
	}
	if c := s.PersistentVolumeClaimRetentionPolicy; c != nil {
		q := p.Child("persistentVolumeClaimRetentionPolicy")
		check.OneOf(&r, q.Child("whenDeleted"), c.WhenDeleted, RetainPersistentVolumeClaimRetentionPolicyType, DeletePersistentVolumeClaimRetentionPolicyType)
		check.OneOf(&r, q.Child("whenScaled"), c.WhenScaled, RetainPersistentVolumeClaimRetentionPolicyType, DeletePersistentVolumeClaimRetentionPolicyType)
	}
	check.NonNegativeOpt(&r, p.Child("replicas"), s.Replicas)
	check.NonNegative(&r, p.Child("minReadySeconds"), s.MinReadySeconds)
	if s.Ordinals != nil {
		check.NonNegative(&r, p.Child("ordinals", "start"), s.Ordinals.Start)
	}
	if s.ServiceName != "" {
		r.Each(p.Child("serviceName"), s.ServiceName, validation.IsDNS1123Label(s.ServiceName))
	}
	for i := range s.VolumeClaimTemplates {
		r.Add(corev1.ValidateClaimTemplate(&s.VolumeClaimTemplates[i], p.Child("volumeClaimTemplates").Index(i)))
	}
	if sel, ok := validateSelector(&r, s.Selector, p.Child("selector"), true); ok {
		validateTemplate(&r, podsTemplate(set), sel, p.Child("template"))
	}
	return r.List()
}

// podsTemplate returns the template that the set's pods are created from: volumes for the claim templates
// come first and replace volumes of the same name, and the host name and subdomain, which the controller
// sets, are cleared.
func podsTemplate(set *StatefulSet) *corev1.PodTemplateSpec {
	t := set.Spec.Template
	t.Spec.Hostname, t.Spec.Subdomain, t.Spec.Volumes = "", "", nil
	claimed := map[string]bool{}
	for i := range set.Spec.VolumeClaimTemplates {
		name := set.Spec.VolumeClaimTemplates[i].Name
		if !check.Unique(claimed, name) {
			continue
		}
		t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
	for _, v := range set.Spec.Template.Spec.Volumes {
		if !claimed[v.Name] {
			t.Spec.Volumes = append(t.Spec.Volumes, v)
		}
	}
	return &t
}

// ValidateStatefulSetUpdate checks a change of a stateful set. What makes up the identity of its pods stays.
func ValidateStatefulSetUpdate(set, old *StatefulSet) validation.ErrorList {
	var r check.Report
	r.Add(ValidateStatefulSet(set))
	rest := set.Spec
	rest.Replicas, rest.Template, rest.UpdateStrategy = old.Spec.Replicas, old.Spec.Template, old.Spec.UpdateStrategy
	rest.MinReadySeconds, rest.Ordinals = old.Spec.MinReadySeconds, old.Spec.Ordinals
	rest.PersistentVolumeClaimRetentionPolicy = old.Spec.PersistentVolumeClaimRetentionPolicy
	rest.RevisionHistoryLimit = old.Spec.RevisionHistoryLimit
	r.ForbidIf(!check.Same(rest, old.Spec), at("spec"), "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "+
		"'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")
	return r.List()
}

// ValidateStatefulSetStatus checks a change of a stateful set's status.
func ValidateStatefulSetStatus(set, old *StatefulSet) validation.ErrorList {
	var r check.Report
	s, p := &set.Status, at("status")
	counts(&r, p, s.Replicas, []count{
		{"readyReplicas", s.ReadyReplicas}, {"currentReplicas", s.CurrentReplicas},
		{"updatedReplicas", s.UpdatedReplicas}, {"availableReplicas", s.AvailableReplicas},
	})
	check.NonNegative(&r, p.Child("observedGeneration"), s.ObservedGeneration)
	r.If(s.AvailableReplicas > s.ReadyReplicas, p.Child("availableReplicas"), s.AvailableReplicas, "cannot be greater than status.readyReplicas")
	collisions(&r, s.CollisionCount, old.Status.CollisionCount, p.Child("collisionCount"))
	return r.List()
}

// ValidateDaemonSet checks a daemon set to be created.
func ValidateDaemonSet(d *DaemonSet) validation.ErrorList {
	var r check.Report
	s, p := &d.Spec, at("spec")
	// A missing selector matches no template, which is the error that upstream reports.
	r.Add(metav1.ValidateLabelSelector(s.Selector, metav1.SelectorRule{}, p.Child("selector")))
	r.If(s.Selector != nil && len(s.Selector.MatchLabels)+len(s.Selector.MatchExpressions) == 0, p.Child("selector"), s.Selector,
		"an empty selector is invalid for this kind")
	// Unlike the other kinds, a daemon set with an invalid selector still has its template checked, with a
	// selector that matches everything.
	sel, err := s.Selector.Selector()
	if err != nil {
		sel = labels.Everything()
	}
	validateTemplate(&r, &s.Template, sel, p.Child("template"))
	r.Add(readOnlyDisks(s.Template.Spec.Volumes, p.Child("template", "spec", "volumes")))
	check.NonNegative(&r, p.Child("minReadySeconds"), s.MinReadySeconds)
	check.NonNegativeOpt(&r, p.Child("revisionHistoryLimit"), s.RevisionHistoryLimit)
	u, q := &s.UpdateStrategy, p.Child("updateStrategy")
	switch u.Type {
	case OnDeleteDaemonSetStrategyType:
	case RollingUpdateDaemonSetStrategyType:
		ru, q := u.RollingUpdate, q.Child("rollingUpdate")
		if ru == nil {
			r.Required(q, "")
			break
		}
		validateShare(&r, ru.MaxUnavailable, true, q.Child("maxUnavailable"))
		validateShare(&r, ru.MaxSurge, true, q.Child("maxSurge"))
		switch down, up := sharePods(ru.MaxUnavailable), sharePods(ru.MaxSurge); {
		case down && up:
			r.Invalid(q.Child("maxSurge"), ru.MaxSurge, "may not be set when maxUnavailable is non-zero")
		case !down && !up:
			r.Required(q.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0")
		}
	default:
		check.OneOf(&r, q.Child("type"), u.Type, RollingUpdateDaemonSetStrategyType, OnDeleteDaemonSetStrategyType)
	}
	return r.List()
}

// readOnlyDisks checks that disks which only one node can write are mounted read-only: a daemon runs on many.
func readOnlyDisks(volumes []corev1.Volume, p *path) validation.ErrorList {
	var r check.Report
	for i := range volumes {
		v, q := &volumes[i], p.Index(i)
		if g := v.GCEPersistentDisk; g != nil {
			r.If(!g.ReadOnly, q.Child("gcePersistentDisk", "readOnly"), false, "must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only")
		}
	}
	return r.List()
}

// ValidateDaemonSetUpdate checks a change of a daemon set; the selector stays.
func ValidateDaemonSetUpdate(d, old *DaemonSet) validation.ErrorList {
	var r check.Report
	r.Add(ValidateDaemonSet(d))
	check.Immutable(&r, at("spec", "selector"), d.Spec.Selector, old.Spec.Selector)
	return r.List()
}

// ValidateDaemonSetStatus checks a change of a daemon set's status.
func ValidateDaemonSetStatus(d, old *DaemonSet) validation.ErrorList {
	var r check.Report
	s, p := &d.Status, at("status")
	for _, c := range []count{
		{"currentNumberScheduled", s.CurrentNumberScheduled}, {"numberMisscheduled", s.NumberMisscheduled},
		{"desiredNumberScheduled", s.DesiredNumberScheduled}, {"numberReady", s.NumberReady},
		{"updatedNumberScheduled", s.UpdatedNumberScheduled}, {"numberAvailable", s.NumberAvailable}, {"numberUnavailable", s.NumberUnavailable},
	} {
		check.NonNegative(&r, p.Child(c.field), c.n)
	}
	check.NonNegative(&r, p.Child("observedGeneration"), s.ObservedGeneration)
	collisions(&r, s.CollisionCount, old.Status.CollisionCount, p.Child("collisionCount"))
	return r.List()
}

// ValidateControllerRevision checks a revision to be created.
func ValidateControllerRevision(c *ControllerRevision) validation.ErrorList {
	var r check.Report
	var object map[string]any
	switch {
	case len(c.Data.Raw) == 0:
		r.Required(at("data"), "data is mandatory")
	case json.Valid(c.Data.Raw) && json.Unmarshal(c.Data.Raw, &object) != nil:
		r.Required(at("data"), "must be a JSON object")
	}
	check.NonNegative(&r, at("revision"), c.Revision)
	return r.List()
}

// ValidateControllerRevisionUpdate checks a change of a revision; the data it records stays.
func ValidateControllerRevisionUpdate(c, old *ControllerRevision) validation.ErrorList {
	var r check.Report
	r.Add(ValidateControllerRevision(c))
	check.Immutable(&r, at("data"), c.Data, old.Data)
	return r.List()
}
