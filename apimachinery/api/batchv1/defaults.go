package batchv1

import (
	"maps"
	"math"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/defaults"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// DefaultJob fills the unset fields of a job, the generated selector excepted.
func DefaultJob(j *Job) {
	s := &j.Spec
	// A job with parallelism alone is a work queue and has no number of completions.
	if s.Completions == nil && s.Parallelism == nil {
		s.Completions = new(int32(1))
	}
	defaults.IfNil(&s.Parallelism, 1)
	if s.BackoffLimitPerIndex != nil {
		defaults.IfNil(&s.BackoffLimit, math.MaxInt32)
	} else {
		defaults.IfNil(&s.BackoffLimit, 6)
	}
	if s.Template.Labels != nil && len(j.Labels) == 0 {
		j.Labels = maps.Clone(s.Template.Labels)
	}
	defaults.IfNil(&s.CompletionMode, NonIndexedCompletion)
	defaults.IfNil(&s.Suspend, false)
	defaults.IfNil(&s.ManualSelector, false)
	if s.PodFailurePolicy != nil {
		defaults.IfNil(&s.PodReplacementPolicy, Failed)
	}
	defaults.IfNil(&s.PodReplacementPolicy, TerminatingOrFailed)
	defaultFailurePolicy(s.PodFailurePolicy)
	corev1.DefaultPodTemplate(&s.Template)
}

func defaultFailurePolicy(p *PodFailurePolicy) {
	if p == nil {
		return
	}
	for i := range p.Rules {
		conditions := p.Rules[i].OnPodConditions
		for k := range conditions {
			if conditions[k].Status == "" {
				conditions[k].Status = corev1.ConditionTrue
			}
		}
	}
}

// DefaultCronJob fills the unset fields of a cron job; its job template is completed when a job is made.
func DefaultCronJob(c *CronJob) {
	s := &c.Spec
	if s.ConcurrencyPolicy == "" {
		s.ConcurrencyPolicy = AllowConcurrent
	}
	defaults.IfNil(&s.Suspend, false)
	defaults.IfNil(&s.SuccessfulJobsHistoryLimit, 3)
	defaults.IfNil(&s.FailedJobsHistoryLimit, 1)
	defaultFailurePolicy(s.JobTemplate.Spec.PodFailurePolicy)
	corev1.DefaultPodTemplate(&s.JobTemplate.Spec.Template)
}

// GenerateSelector gives a job the selector that finds its own pods only, by the job's uid, and puts the
// labels it requires on the template. A job with a manual selector stays as it is. Servers call it when a job
// is created and has its uid.
func GenerateSelector(j *Job) {
	if j.Spec.ManualSelector != nil && *j.Spec.ManualSelector {
		return
	}
	labels := j.Spec.Template.Labels
	if labels == nil {
		labels = map[string]string{}
		j.Spec.Template.Labels = labels
	}
	uid := string(j.UID)
	for k, v := range map[string]string{
		ControllerUidLabel: uid, JobNameLabel: j.Name,
		"controller-uid": uid, "job-name": j.Name, // the legacy names, which users still select by
	} {
		labels[k] = v
	}
	if j.Spec.Selector == nil {
		j.Spec.Selector = &metav1.LabelSelector{}
	}
	if j.Spec.Selector.MatchLabels == nil {
		j.Spec.Selector.MatchLabels = map[string]string{}
	}
	if _, ok := j.Spec.Selector.MatchLabels[ControllerUidLabel]; !ok {
		j.Spec.Selector.MatchLabels[ControllerUidLabel] = uid
	}
}
