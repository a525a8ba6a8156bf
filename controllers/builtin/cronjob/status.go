package cronjob

import (
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// statusOf returns the status after what was done.
func statusOf(s *state, done result) batchv1.CronJobStatus {
	old := &s.cj.Status
	status := batchv1.CronJobStatus{LastScheduleTime: old.LastScheduleTime, LastSuccessfulTime: old.LastSuccessfulTime}
	for _, ref := range old.Active {
		job := s.jobOf(ref.UID)
		if !s.missing[ref.UID] && !done.deleted[ref.UID] && (job == nil || finished(job) == "") {
			status.Active = append(status.Active, ref)
		}
	}
	started := slices.Clone(s.jobs)
	started = slices.DeleteFunc(started, func(j *batchv1.Job) bool { return !s.scheduled(j) })
	if done.started != nil {
		started = append(started, done.started)
	}
	for _, job := range started {
		status.Active = withJob(status.Active, job, done)
		at, err := time.Parse(time.RFC3339, job.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
		if err == nil && (status.LastScheduleTime == nil || at.After(status.LastScheduleTime.Time)) {
			status.LastScheduleTime = &metav1.Time{Time: at}
		}
	}
	for _, job := range s.jobs {
		end := job.Status.CompletionTime
		if finished(job) == batchv1.JobComplete && end != nil && (status.LastSuccessfulTime == nil || end.After(status.LastSuccessfulTime.Time)) {
			status.LastSuccessfulTime = end
		}
	}
	return status
}

// withJob appends a reference to a Job that is active and not in the list.
func withJob(active []corev1.ObjectReference, job *batchv1.Job, done result) []corev1.ObjectReference {
	if finished(job) != "" || done.deleted[job.UID] || slices.ContainsFunc(active, func(r corev1.ObjectReference) bool { return r.UID == job.UID }) {
		return active
	}
	return append(active, corev1.ObjectReference{APIVersion: jobKind.GroupVersion().String(), Kind: jobKind.Kind,
		Namespace: job.Namespace, Name: job.Name, UID: job.UID, ResourceVersion: job.ResourceVersion})
}
