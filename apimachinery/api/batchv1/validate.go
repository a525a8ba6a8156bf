package batchv1

import (
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

const (
	maxIndexedParallelism = 100_000
	maxManagedBy          = 63
	maxPolicyRules        = 20
	maxExitCodes          = 255
	maxPodConditions      = 20
)

// ValidateJob checks a job to be created, its selector already generated.
func ValidateJob(j *Job) validation.ErrorList {
	var r check.Report
	r.Add(validateGenerated(j))
	r.Add(validateJobWithSelector(&j.Spec, at("spec")))
	if indexed(&j.Spec) && j.Spec.Completions != nil && *j.Spec.Completions > 0 {
		// The last pod's host name must be a DNS label too.
		host := fmt.Sprintf("%s-%d", j.Name, *j.Spec.Completions-1)
		r.Each(at("metadata", "name"), j.Name, validation.IsDNS1123Label(host))
	}
	return r.List()
}

func indexed(s *JobSpec) bool {
	return s.CompletionMode != nil && *s.CompletionMode == IndexedCompletion
}

// validateGenerated checks that a generated selector and the labels it looks for are as generated.
func validateGenerated(j *Job) validation.ErrorList {
	var r check.Report
	if j.Spec.ManualSelector != nil && *j.Spec.ManualSelector || j.Spec.Selector == nil {
		return nil
	}
	if j.UID == "" {
		r.Required(at("metadata", "uid"), "")
	}
	p := at("spec", "template", "metadata", "labels")
	want := map[string]string{
		"controller-uid": string(j.UID), "job-name": j.Name, ControllerUidLabel: string(j.UID), JobNameLabel: j.Name,
	}
	for _, k := range check.Keys(want) {
		switch v, ok := j.Spec.Template.Labels[k]; {
		case !ok:
			r.Required(p.Key(k), "must be '"+want[k]+"'")
		case v != want[k]:
			r.Invalid(p.Key(k), v, "must be '"+want[k]+"'")
		}
	}
	if sel, err := j.Spec.Selector.Selector(); err == nil {
		r.If(!sel.Matches(labels.Set(want)), at("spec", "selector"), j.Spec.Selector, "`selector` not auto-generated")
	}
	return r.List()
}

func validateJobWithSelector(s *JobSpec, p *path) validation.ErrorList {
	var r check.Report
	r.Add(validateJobSpec(s, p))
	if s.Selector == nil {
		r.Required(p.Child("selector"), "")
	} else {
		r.Add(metav1.ValidateLabelSelector(s.Selector, metav1.SelectorRule{}, p.Child("selector")))
	}
	if sel, err := s.Selector.Selector(); err == nil {
		r.Add(corev1.TemplateSelected(&s.Template, func(l map[string]string) bool { return sel.Matches(labels.Set(l)) }, p.Child("template")))
	}
	return r.List()
}

func validateJobSpec(s *JobSpec, p *path) validation.ErrorList {
	var r check.Report
	check.NonNegativeOpt(&r, p.Child("parallelism"), s.Parallelism)
	check.NonNegativeOpt(&r, p.Child("completions"), s.Completions)
	check.NonNegativeOpt(&r, p.Child("activeDeadlineSeconds"), s.ActiveDeadlineSeconds)
	check.NonNegativeOpt(&r, p.Child("backoffLimit"), s.BackoffLimit)
	check.NonNegativeOpt(&r, p.Child("ttlSecondsAfterFinished"), s.TTLSecondsAfterFinished)
	check.NonNegativeOpt(&r, p.Child("backoffLimitPerIndex"), s.BackoffLimitPerIndex)
	if m := s.MaxFailedIndexes; m != nil {
		check.NonNegative(&r, p.Child("maxFailedIndexes"), *m)
		if s.BackoffLimitPerIndex == nil {
			r.Required(p.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified")
		}
		r.If(s.Completions != nil && *m > *s.Completions, p.Child("maxFailedIndexes"), *m, "must be less than or equal to completions")
	}
	check.OneOfOpt(&r, p.Child("completionMode"), s.CompletionMode, IndexedCompletion, NonIndexedCompletion)
	if indexed(s) {
		if s.Completions == nil {
			r.Required(p.Child("completions"), "when completion mode is Indexed")
		}
		if n := s.Parallelism; n != nil && *n > maxIndexedParallelism {
			r.Invalid(p.Child("parallelism"), *n, "must be less than or equal to 100000 when completion mode is Indexed")
		}
	} else {
		r.If(s.BackoffLimitPerIndex != nil, p.Child("backoffLimitPerIndex"), s.BackoffLimitPerIndex, "requires indexed completion mode")
		r.If(s.MaxFailedIndexes != nil, p.Child("maxFailedIndexes"), s.MaxFailedIndexes, "requires indexed completion mode")
		r.If(s.SuccessPolicy != nil, p.Child("successPolicy"), s.SuccessPolicy, "requires indexed completion mode")
	}
	if m := s.ManagedBy; m != nil {
		r.Add(validation.DomainPrefixedPath(p.Child("managedBy"), *m))
		if len(*m) > maxManagedBy {
			r.TooLong(p.Child("managedBy"), maxManagedBy)
		}
	}
	if s.PodFailurePolicy != nil {
		r.Add(validateFailurePolicy(s, p.Child("podFailurePolicy")))
	}
	if s.SuccessPolicy != nil && indexed(s) {
		r.Add(validateSuccessPolicy(s, p.Child("successPolicy")))
	}
	if s.PodFailurePolicy != nil {
		check.OneOfOpt(&r, p.Child("podReplacementPolicy"), s.PodReplacementPolicy, Failed)
	} else {
		check.OneOfOpt(&r, p.Child("podReplacementPolicy"), s.PodReplacementPolicy, Failed, TerminatingOrFailed)
	}
	r.Add(corev1.ValidatePodTemplate(&s.Template, p.Child("template")))
	restart := p.Child("template", "spec", "restartPolicy")
	switch v := s.Template.Spec.RestartPolicy; v {
	case "", corev1.RestartPolicyAlways: // Always is the default of pods
		r.Required(restart, `valid values: "OnFailure", "Never"`)
	case corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever:
		r.If(s.PodFailurePolicy != nil && v != corev1.RestartPolicyNever, restart, v, `only "Never" is supported when podFailurePolicy is specified`)
		r.If(s.BackoffLimitPerIndex != nil && v != corev1.RestartPolicyNever, restart, v, `only "Never" is supported when backoffLimitPerIndex is specified`)
	default:
		check.OneOf(&r, restart, v, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	}
	return r.List()
}

// ValidateJobUpdate checks a change of a job: what it runs and how it counts stay. While it is suspended and
// has no pods, where these may run and what they request can change; an indexed job can be resized as a
// whole.
func ValidateJobUpdate(j, old *Job) validation.ErrorList {
	var r check.Report
	r.Add(validateGenerated(j))
	r.Add(validateJobWithSelector(&j.Spec, at("spec")))
	s, o, p := &j.Spec, &old.Spec, at("spec")
	same := func(a, b *int32) bool { return a != nil && b != nil && *a == *b }
	resizable := indexed(o) && same(s.Completions, s.Parallelism) && same(o.Completions, o.Parallelism)
	if !resizable {
		check.Immutable(&r, p.Child("completions"), s.Completions, o.Completions)
	}
	check.Immutable(&r, p.Child("selector"), s.Selector, o.Selector)
	template, rests := s.Template, rests(old)
	if rests {
		was := &o.Template
		template.Spec.NodeSelector, template.Spec.Tolerations = was.Spec.NodeSelector, was.Spec.Tolerations
		template.Spec.SchedulingGates = was.Spec.SchedulingGates
		template.Annotations, template.Labels = was.Annotations, was.Labels
		if a := template.Spec.Affinity; a != nil || was.Spec.Affinity != nil {
			template.Spec.Affinity = withNodeAffinityOf(a, was.Spec.Affinity)
		}
		template.Spec.Containers = withResourcesOf(template.Spec.Containers, was.Spec.Containers)
		template.Spec.InitContainers = withResourcesOf(template.Spec.InitContainers, was.Spec.InitContainers)
	}
	if rests {
		check.Immutable(&r, p.Child("template").Child("spec"), template.Spec, o.Template.Spec)
	} else {
		check.Immutable(&r, p.Child("template"), template, o.Template)
	}
	check.Immutable(&r, p.Child("completionMode"), s.CompletionMode, o.CompletionMode)
	check.Immutable(&r, p.Child("podFailurePolicy"), s.PodFailurePolicy, o.PodFailurePolicy)
	check.Immutable(&r, p.Child("backoffLimitPerIndex"), s.BackoffLimitPerIndex, o.BackoffLimitPerIndex)
	check.Immutable(&r, p.Child("managedBy"), s.ManagedBy, o.ManagedBy)
	check.Immutable(&r, p.Child("successPolicy"), s.SuccessPolicy, o.SuccessPolicy)
	return r.List()
}

// rests reports whether a job is suspended and has no pods: it never had any, or the controller has said that
// it is suspended.
func rests(j *Job) bool {
	noted := slices.ContainsFunc(j.Status.Conditions, func(c JobCondition) bool { return c.Type == JobSuspended && c.Status == corev1.ConditionTrue })
	return j.Spec.Suspend != nil && *j.Spec.Suspend && (j.Status.StartTime == nil || noted) && j.Status.Active == 0
}

// withResourcesOf returns containers with the resources of those that had their names in their places.
func withResourcesOf(containers, was []corev1.Container) []corev1.Container {
	if len(containers) != len(was) {
		return containers
	}
	out := slices.Clone(containers)
	for i := range out {
		if out[i].Name == was[i].Name {
			out[i].Resources = was[i].Resources
		}
	}
	return out
}

// withNodeAffinityOf is a with was's node affinity.
func withNodeAffinityOf(a, was *corev1.Affinity) *corev1.Affinity {
	out := corev1.Affinity{}
	if a != nil {
		out = *a
	}
	out.NodeAffinity = nil
	if was != nil {
		out.NodeAffinity = was.NodeAffinity
	}
	if out == (corev1.Affinity{}) && was == nil {
		return nil
	}
	return &out
}

// ValidateJobStatus checks a change of a job's status: counts are not negative, and a finished job stays
// finished.
func ValidateJobStatus(j, old *Job) validation.ErrorList {
	var r check.Report
	s, p := &j.Status, at("status")
	check.NonNegative(&r, p.Child("active"), s.Active)
	check.NonNegative(&r, p.Child("succeeded"), s.Succeeded)
	check.NonNegative(&r, p.Child("failed"), s.Failed)
	check.NonNegativeOpt(&r, p.Child("ready"), s.Ready)
	check.NonNegativeOpt(&r, p.Child("terminating"), s.Terminating)
	if u := s.UncountedTerminatedPods; u != nil {
		seen := map[string]bool{}
		for i, uid := range u.Succeeded {
			uncounted(&r, string(uid), seen, p.Child("uncountedTerminatedPods", "succeeded").Index(i))
		}
		for i, uid := range u.Failed {
			uncounted(&r, string(uid), seen, p.Child("uncountedTerminatedPods", "failed").Index(i))
		}
	}
	complete, failed := holds(s, JobComplete), holds(s, JobFailed)
	r.If(complete && failed, p.Child("conditions"), s.Conditions, "cannot set Complete=True and Failed=True conditions")
	r.If(holds(&old.Status, JobComplete) && !complete, p.Child("conditions"), s.Conditions, "cannot disable the terminal Complete=True condition")
	r.If(holds(&old.Status, JobFailed) && !failed, p.Child("conditions"), s.Conditions, "cannot disable the terminal Failed=True condition")
	if complete || failed {
		r.If(s.Active > 0, p.Child("active"), s.Active, "active>0 is invalid for finished job")
		r.If(failed && s.CompletionTime != nil, p.Child("completionTime"), s.CompletionTime, "cannot set completionTime when there is no Complete=True condition")
		if complete && s.CompletionTime == nil {
			r.Required(p.Child("completionTime"), "completionTime is required for Complete jobs")
		}
	}
	if s.StartTime != nil && s.CompletionTime != nil {
		r.If(s.CompletionTime.Before(s.StartTime), p.Child("completionTime"), s.CompletionTime, "completionTime cannot be set before startTime")
	}
	return r.List()
}

func uncounted(r *check.Report, uid string, seen map[string]bool, p *path) {
	if uid == "" {
		r.Invalid(p, uid, "must not be empty")
	} else if !check.Unique(seen, uid) {
		r.Duplicate(p, uid)
	}
}

func holds(s *JobStatus, t JobConditionType) bool {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return s.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}
