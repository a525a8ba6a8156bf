package cronjob

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// state is what a plan and a status are made of.
type state struct {
	cj      *batchv1.CronJob
	jobs    []*batchv1.Job
	missing map[types.UID]bool // of the active ones
	now     time.Time
}

// plan is what to do next.
type plan struct {
	notes   []note
	replace []*batchv1.Job // to delete before the start
	start   time.Time      // scheduled time of the Job to create; zero: none
	remove  []*batchv1.Job // finished, beyond the limits of the history
	again   time.Duration  // until the next scheduled time; 0: none
}

// note is an event to record.
type note struct{ typ, reason, message string }

func (p *plan) note(typ, reason, format string, args ...any) {
	p.notes = append(p.notes, note{typ, reason, fmt.Sprintf(format, args...)})
}

// decide returns what to do.
func decide(s *state) plan {
	var p plan
	if s.cj.DeletionTimestamp == nil {
		p.trim(s, batchv1.JobComplete, s.cj.Spec.SuccessfulJobsHistoryLimit)
		p.trim(s, batchv1.JobFailed, s.cj.Spec.FailedJobsHistoryLimit)
	}
	p.review(s)
	if s.cj.DeletionTimestamp == nil {
		p.schedule(s)
	}
	return p
}

// review notes what happened to the Jobs, but not that one has completed which is deleted at once.
func (p *plan) review(s *state) {
	for _, job := range s.jobs {
		end := finished(job)
		switch active := s.isActive(job.UID); {
		case active && end != "" && !slices.Contains(p.remove, job):
			p.note(corev1.EventTypeNormal, "SawCompletedJob", "Saw completed job: %s, condition: %s", job.Name, end)
		case !active && end == "" && !s.scheduled(job):
			p.note(corev1.EventTypeWarning, "UnexpectedJob", "Saw a job that the controller did not create or forgot: %s", job.Name)
		}
	}
	for _, ref := range s.cj.Status.Active {
		if s.missing[ref.UID] {
			p.note(corev1.EventTypeNormal, "MissingJob", "Active job went missing: %s", ref.Name)
		}
	}
}

// schedule plans a start if a time has come.
func (p *plan) schedule(s *state) {
	cj := s.cj
	if strings.Contains(cj.Spec.Schedule, "TZ") {
		p.note(corev1.EventTypeWarning, "UnsupportedSchedule", "CRON_TZ or TZ used in schedule %q is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details", cj.Spec.Schedule)
	}
	zone, err := zoneOf(cj)
	if err != nil {
		p.note(corev1.EventTypeWarning, "UnknownTimeZone", "invalid timeZone: %q: %s", *cj.Spec.TimeZone, err)
		return
	}
	if cj.Spec.Suspend != nil && *cj.Spec.Suspend {
		return
	}
	times, err := parse(cj, zone)
	if err != nil {
		p.note(corev1.EventTypeWarning, "UnparseableSchedule", "unparseable schedule: %q : %s", cj.Spec.Schedule, err)
		return
	}
	from := s.since()
	switch next := times.Next(later(from, s.now)); {
	case !next.IsZero():
		p.again = next.Sub(s.now)
	case times.Next(from).IsZero(): // such as the 30th of February
		p.note(corev1.EventTypeWarning, "InvalidSchedule", "invalid schedule: %s : time difference between two schedules is less than 1 second", cj.Spec.Schedule)
		return
	}
	at, missed := latest(times, from, s.now)
	if at.IsZero() {
		return
	}
	if missed > manyMissed {
		p.note(corev1.EventTypeWarning, "TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
	}
	p.begin(s, at)
}

// since returns the time after which scheduled times count.
func (s *state) since() time.Time {
	from := s.cj.CreationTimestamp.Time
	if last := s.cj.Status.LastScheduleTime; last != nil {
		from = last.Time
	}
	if d := s.cj.Spec.StartingDeadlineSeconds; d != nil {
		// The deadline itself is in time.
		from = later(from, s.now.Add(-time.Duration(*d)*time.Second-time.Nanosecond))
	}
	return from
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// begin plans the Job of a scheduled time, unless the ones before are in its way.
func (p *plan) begin(s *state, at time.Time) {
	active := s.active()
	active = slices.DeleteFunc(active, func(j *batchv1.Job) bool { return j.Name == jobName(s.cj, at) })
	switch s.cj.Spec.ConcurrencyPolicy {
	case batchv1.ForbidConcurrent:
		// One that is being deleted still runs, and so may one that only the server knows.
		unknown := slices.ContainsFunc(s.cj.Status.Active, func(r corev1.ObjectReference) bool {
			return s.jobOf(r.UID) == nil && !s.missing[r.UID]
		})
		if len(active) > 0 || unknown {
			p.note(corev1.EventTypeNormal, "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
			return
		}
	case batchv1.ReplaceConcurrent:
		p.replace = slices.DeleteFunc(active, func(j *batchv1.Job) bool { return j.DeletionTimestamp != nil })
	}
	p.start = at
}

// trim plans the deletion of the oldest Jobs that finished in a way, beyond a limit; nil means none.
func (p *plan) trim(s *state, end batchv1.JobConditionType, limit *int32) {
	if limit == nil {
		return
	}
	var done []*batchv1.Job
	for _, job := range s.jobs {
		if finished(job) == end && job.DeletionTimestamp == nil {
			done = append(done, job)
		}
	}
	slices.SortFunc(done, func(a, b *batchv1.Job) int {
		return cmp.Or(startOf(a).Compare(startOf(b)), strings.Compare(a.Name, b.Name))
	})
	p.remove = append(p.remove, done[:max(0, len(done)-int(*limit))]...)
}

// startOf returns when a Job started; one that never did is the latest.
func startOf(job *batchv1.Job) time.Time {
	if job.Status.StartTime == nil {
		return time.Unix(1<<40, 0)
	}
	return job.Status.StartTime.Time
}

func (s *state) jobOf(uid types.UID) *batchv1.Job {
	for _, job := range s.jobs {
		if job.UID == uid {
			return job
		}
	}
	return nil
}

func (s *state) isActive(uid types.UID) bool {
	return slices.ContainsFunc(s.cj.Status.Active, func(r corev1.ObjectReference) bool { return r.UID == uid })
}

// active returns the Jobs that the status calls active and that have not finished, and those that were
// started before the status could be written.
func (s *state) active() []*batchv1.Job {
	var out []*batchv1.Job
	for _, job := range s.jobs {
		if finished(job) == "" && (s.isActive(job.UID) || s.scheduled(job)) {
			out = append(out, job)
		}
	}
	return out
}

// scheduled reports whether a Job was made by this controller for a time after the last one in the status.
func (s *state) scheduled(job *batchv1.Job) bool {
	at, err := time.Parse(time.RFC3339, job.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
	last := s.cj.Status.LastScheduleTime
	return err == nil && job.Name == jobName(s.cj, at) && (last == nil || at.After(last.Time))
}

// finished returns the condition by which a Job has finished, "" if it has not.
func finished(job *batchv1.Job) batchv1.JobConditionType {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

// jobName returns the name of the Job of a scheduled time: a schedule has minutes.
func jobName(cj *batchv1.CronJob, at time.Time) string {
	return cj.Name + "-" + strconv.FormatInt(at.Unix()/60, 10)
}

// newJob returns the Job of a scheduled time.
func newJob(cj *batchv1.CronJob, at time.Time) *batchv1.Job {
	zone, err := zoneOf(cj)
	if zone == nil || err != nil {
		zone = time.UTC
	}
	t := codec.DeepCopy(&cj.Spec.JobTemplate)
	annotations := maps.Clone(t.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[batchv1.CronJobScheduledTimestampAnnotation] = at.In(zone).Format(time.RFC3339)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: cj.Namespace, Name: jobName(cj, at), Labels: t.Labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(cj, kind)}},
		Spec: t.Spec,
	}
}
