package batchv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*Job]{
			Meta:    scheme.MetaStrict,
			Default: DefaultJob, Validate: ValidateJob, ValidateUpdate: ValidateJobUpdate, ValidateStatus: ValidateJobStatus,
			Warnings: func(j, old *Job) []string {
				return append(nameWarnings(j.Name, old == nil), corev1.PodSpecWarnings(&j.Spec.Template.Spec, at("spec", "template", "spec"))...)
			},
		}.Attach(s),
		scheme.RulesFor[*CronJob]{
			Default: DefaultCronJob, Validate: ValidateCronJob, ValidateUpdate: ValidateCronJobUpdate,
			Warnings: func(c, old *CronJob) []string {
				return append(nameWarnings(c.Name, old == nil),
					corev1.PodSpecWarnings(&c.Spec.JobTemplate.Spec.Template.Spec, at("spec", "jobTemplate", "spec", "template", "spec"))...)
			},
		}.Attach(s),
	)
}

func nameWarnings(name string, created bool) []string {
	if !created {
		return nil
	}
	return corev1.NameWarnings(name)
}
