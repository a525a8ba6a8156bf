package batchv1

import (
	"fmt"
	"math"
	"strconv"
	"strings"

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
	if s.SuccessPolicy != nil {
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
	case "", corev1.RestartPolicyAlways: // Always is what pods get that say nothing
		r.Required(restart, `valid values: "OnFailure", "Never"`)
	case corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever:
		r.If(s.PodFailurePolicy != nil && v != corev1.RestartPolicyNever, restart, v, `only "Never" is supported when podFailurePolicy is specified`)
		r.If(s.BackoffLimitPerIndex != nil && v != corev1.RestartPolicyNever, restart, v, `only "Never" is supported when backoffLimitPerIndex is specified`)
	default:
		check.OneOf(&r, restart, v, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	}
	return r.List()
}

func validateFailurePolicy(s *JobSpec, p *path) validation.ErrorList {
	var r check.Report
	names := map[string]bool{}
	for _, list := range [][]corev1.Container{s.Template.Spec.Containers, s.Template.Spec.InitContainers} {
		for i := range list {
			names[list[i].Name] = true
		}
	}
	rules := p.Child("rules")
	if n := len(s.PodFailurePolicy.Rules); n > maxPolicyRules {
		r.TooMany(rules, n, maxPolicyRules)
	}
	for i := range s.PodFailurePolicy.Rules {
		rule, q := &s.PodFailurePolicy.Rules[i], rules.Index(i)
		switch rule.Action {
		case "":
			r.Required(q.Child("action"), "")
		case PodFailurePolicyActionFailIndex:
			r.If(s.BackoffLimitPerIndex == nil, q.Child("action"), rule.Action, "requires the backoffLimitPerIndex to be set")
		default:
			check.OneOf(&r, q.Child("action"), rule.Action, PodFailurePolicyActionCount, PodFailurePolicyActionFailIndex,
				PodFailurePolicyActionFailJob, PodFailurePolicyActionIgnore)
		}
		if rule.OnExitCodes != nil {
			r.Add(validateExitCodes(rule.OnExitCodes, names, q.Child("onExitCodes")))
		}
		if n := len(rule.OnPodConditions); n > maxPodConditions {
			r.TooMany(q.Child("onPodConditions"), n, maxPodConditions)
		}
		for k := range rule.OnPodConditions {
			c, f := &rule.OnPodConditions[k], q.Child("onPodConditions").Index(k)
			r.Each(f.Child("type"), c.Type, validation.IsQualifiedName(string(c.Type)))
			check.Chosen(&r, f.Child("status"), c.Status, corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown)
		}
		switch both := rule.OnExitCodes != nil && len(rule.OnPodConditions) > 0; {
		case both:
			r.Invalid(q, rule.Action, "specifying both OnExitCodes and OnPodConditions is not supported")
		case rule.OnExitCodes == nil && len(rule.OnPodConditions) == 0:
			r.Invalid(q, rule.Action, "specifying one of OnExitCodes and OnPodConditions is required")
		}
	}
	return r.List()
}

func validateExitCodes(e *PodFailurePolicyOnExitCodesRequirement, names map[string]bool, p *path) validation.ErrorList {
	var r check.Report
	check.Chosen(&r, p.Child("operator"), e.Operator, PodFailurePolicyOnExitCodesOpIn, PodFailurePolicyOnExitCodesOpNotIn)
	if c := e.ContainerName; c != nil {
		r.If(!names[*c], p.Child("containerName"), *c, "must be one of the container or initContainer names in the pod template")
	}
	values := p.Child("values")
	if n := len(e.Values); n == 0 {
		r.Invalid(values, e.Values, "at least one value is required")
	} else if n > maxExitCodes {
		r.TooMany(values, n, maxExitCodes)
	}
	seen := map[int32]bool{}
	ordered := true
	for i, v := range e.Values {
		r.If(v == 0 && e.Operator == PodFailurePolicyOnExitCodesOpIn, values.Index(i), v, "must not be 0 for the In operator")
		if !check.Unique(seen, v) {
			r.Duplicate(values.Index(i), v)
		}
		ordered = ordered && (i == 0 || e.Values[i-1] <= v)
	}
	r.If(!ordered, values, e.Values, "must be ordered")
	return r.List()
}

func validateSuccessPolicy(s *JobSpec, p *path) validation.ErrorList {
	var r check.Report
	rules := p.Child("rules")
	n := len(s.SuccessPolicy.Rules)
	if n == 0 {
		r.Required(rules, "at least one rules must be specified when the successPolicy is specified")
	} else if n > maxPolicyRules {
		r.TooMany(rules, n, maxPolicyRules)
	}
	for i := range s.SuccessPolicy.Rules {
		rule, q := &s.SuccessPolicy.Rules[i], rules.Index(i)
		if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
			r.Required(q, "at least one of succeededCount or succeededIndexes must be specified")
		}
		total := int64(math.MaxInt32)
		if s.Completions != nil {
			total = int64(*s.Completions)
		}
		chosen := int64(-1)
		if x := rule.SucceededIndexes; x != nil {
			var err error
			if chosen, err = countIndexes(*x, total); err != nil {
				r.Invalid(q.Child("succeededIndexes"), *x, err.Error())
			}
		}
		if c := rule.SucceededCount; c != nil {
			check.NonNegative(&r, q.Child("succeededCount"), *c)
			r.If(int64(*c) > total, q.Child("succeededCount"), *c, "must be less than or equal to completions")
			r.If(chosen >= 0 && int64(*c) > chosen, q.Child("succeededCount"), *c, "must be less than or equal to the number of indexes in the specified succeededIndexes field")
		}
	}
	return r.List()
}

// countIndexes counts the indexes in a list such as 1,3-5,7: in rising order and below total.
func countIndexes(text string, total int64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, last := int64(0), int64(-1)
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		a, err := strconv.ParseInt(from, 10, 32)
		if err != nil {
			return n, fmt.Errorf("cannot convert %q to an index", from)
		}
		b := a
		if ranged {
			if b, err = strconv.ParseInt(to, 10, 32); err != nil {
				return n, fmt.Errorf("cannot convert %q to an index", to)
			}
			if b <= a {
				return n, fmt.Errorf("non-increasing order, previous: %d, current: %d", a, b)
			}
		}
		if a <= last {
			return n, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, a)
		}
		if b >= total {
			return n, fmt.Errorf("index %d is not below the number of completions, %d", b, total)
		}
		n, last = n+b-a+1, b
	}
	return n, nil
}

// ValidateJobUpdate checks a change of a job: what it runs and how it counts stay. While it is
// suspended and has not started, where its pods may run can change; an indexed job can be resized as a whole.
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
	template := s.Template
	if o.Suspend != nil && *o.Suspend && old.Status.StartTime == nil {
		was := &o.Template
		template.Spec.NodeSelector, template.Spec.Tolerations = was.Spec.NodeSelector, was.Spec.Tolerations
		template.Spec.SchedulingGates = was.Spec.SchedulingGates
		template.Annotations, template.Labels = was.Annotations, was.Labels
		if a := template.Spec.Affinity; a != nil || was.Spec.Affinity != nil {
			template.Spec.Affinity = withNodeAffinityOf(a, was.Spec.Affinity)
		}
	}
	check.Immutable(&r, p.Child("template"), template, o.Template)
	check.Immutable(&r, p.Child("completionMode"), s.CompletionMode, o.CompletionMode)
	check.Immutable(&r, p.Child("podFailurePolicy"), s.PodFailurePolicy, o.PodFailurePolicy)
	check.Immutable(&r, p.Child("backoffLimitPerIndex"), s.BackoffLimitPerIndex, o.BackoffLimitPerIndex)
	check.Immutable(&r, p.Child("managedBy"), s.ManagedBy, o.ManagedBy)
	check.Immutable(&r, p.Child("successPolicy"), s.SuccessPolicy, o.SuccessPolicy)
	return r.List()
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

// ValidateJobStatus checks a change of a job's status: counts are not negative, and a finished job stays finished.
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
