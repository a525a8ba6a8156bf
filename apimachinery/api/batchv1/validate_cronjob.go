package batchv1

import (
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// maxCronJobName leaves room for what is added to it to name jobs and their pods.
const maxCronJobName = 52

// ValidateCronJob checks a cron job to be created.
func ValidateCronJob(c *CronJob) validation.ErrorList {
	var r check.Report
	r.Add(validateCronSpec(&c.Spec, nil, at("spec")))
	r.If(len(c.Name) > maxCronJobName, at("metadata", "name"), c.Name, "must be no more than 52 characters")
	return r.List()
}

// ValidateCronJobUpdate checks a change of a cron job. An old schedule with a time zone inside may stay.
func ValidateCronJobUpdate(c, old *CronJob) validation.ErrorList {
	return validateCronSpec(&c.Spec, &old.Spec, at("spec"))
}

func validateCronSpec(s, old *CronJobSpec, p *path) validation.ErrorList {
	var r check.Report
	f := p.Child("schedule")
	if s.Schedule == "" {
		r.Required(f, "")
	} else {
		if err := checkSchedule(s.Schedule); err != nil {
			r.Invalid(f, s.Schedule, err.Error())
		}
		if strings.Contains(s.Schedule, "TZ") && (old == nil || !strings.Contains(old.Schedule, "TZ")) {
			r.Invalid(f, s.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
		}
		r.If(strings.Contains(s.Schedule, "TZ") && s.TimeZone != nil, f, s.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")
	}
	check.NonNegativeOpt(&r, p.Child("startingDeadlineSeconds"), s.StartingDeadlineSeconds)
	if old == nil || !check.Same(s.TimeZone, old.TimeZone) {
		r.Add(validateTimeZone(s.TimeZone, p.Child("timeZone")))
	}
	check.Chosen(&r, p.Child("concurrencyPolicy"), s.ConcurrencyPolicy, AllowConcurrent, ForbidConcurrent, ReplaceConcurrent)
	job := p.Child("jobTemplate", "spec")
	r.Add(validateJobSpec(&s.JobTemplate.Spec, job))
	if sel := s.JobTemplate.Spec.Selector; sel != nil {
		r.Add(validation.ErrorList{validation.Invalid(job.Child("selector"), *sel, "`selector` will be auto-generated")})
	}
	if m := s.JobTemplate.Spec.ManualSelector; m != nil && *m {
		r.Add(validation.ErrorList{validation.NotSupported(job.Child("manualSelector"), *m, []string{"nil", "false"})})
	}
	check.NonNegativeOpt(&r, p.Child("successfulJobsHistoryLimit"), s.SuccessfulJobsHistoryLimit)
	check.NonNegativeOpt(&r, p.Child("failedJobsHistoryLimit"), s.FailedJobsHistoryLimit)
	return r.List()
}

func validateTimeZone(zone *string, p *path) validation.ErrorList {
	var r check.Report
	if zone == nil {
		return nil
	}
	switch {
	case *zone == "":
		r.Invalid(p, *zone, "must be nil or a non-empty string")
	case strings.EqualFold(*zone, "Local"):
		r.Invalid(p, *zone, "must be an explicit time zone as defined in https://www.iana.org/time-zones")
	default:
		if _, err := time.LoadLocation(*zone); err != nil {
			r.Invalid(p, *zone, err.Error())
		}
	}
	return r.List()
}
