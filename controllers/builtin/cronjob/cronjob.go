// Package cronjob creates the Jobs of a CronJob at the times of its schedule.
//
// A reconcile reads the CronJob and its Jobs, decides what to start and what to delete (decide.go, a pure
// function), does it, and writes the status (status.go, pure). A Job is named after its scheduled time, so
// that a time is never started twice, not even if the process ends before it has written the status.
package cronjob

import (
	"context"
	"fmt"
	"time"
	_ "time/tzdata" // time zones do not depend on the files of the machine

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of CronJobs reconciled concurrently; 0 means 5.
	Concurrency int
}

var (
	kind    = batchv1.GroupVersion.WithKind("CronJob")
	jobKind = batchv1.GroupVersion.WithKind("Job")
)

type cronJobs struct {
	list     informers.Lister[*batchv1.CronJob]
	api      *client.Client[*batchv1.CronJob]
	jobs     controllers.Controlled[*batchv1.Job]
	jobsAPI  *client.Client[*batchv1.Job]
	recorder *events.Recorder
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 5
	}
	c := &cronJobs{
		list: informers.For[*batchv1.CronJob](m.Informers()).Lister(), api: client.For[*batchv1.CronJob](m.Conn()),
		jobs: controllers.ControlledIn[*batchv1.Job](m.Informers()), jobsAPI: client.For[*batchv1.Job](m.Conn()),
		recorder: m.Recorder("cronjob-controller"),
	}
	_, err := controllers.Add(m, "cronjob", reconcile.Func(c.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For[*batchv1.CronJob](), controllers.Owns[*batchv1.CronJob, *batchv1.Job]())
	return err
}

func (c *cronJobs) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	cj, err := c.list.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	s := &state{cj: cj, now: time.Now()}
	if s.jobs, err = c.jobs.ControlledBy(cj.UID); err != nil {
		return reconcile.Result{}, err
	}
	if s.missing, err = c.missing(ctx, s); err != nil {
		return reconcile.Result{}, err
	}
	p := decide(s)
	for _, n := range p.notes {
		c.recorder.Event(cj, n.typ, n.reason, n.message)
	}
	done, workErr := c.apply(ctx, s, p)
	status := statusOf(s, done)
	if !codec.Equal(&status, &cj.Status) {
		cj.Status = status
		if _, err := c.api.UpdateStatus(ctx, cj); err != nil && !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
	}
	if apierrors.HasCause(workErr, "NamespaceTerminating") {
		workErr = nil // nothing more will come of this namespace
	}
	return reconcile.Result{RequeueAfter: p.again}, workErr
}

// missing returns the Jobs that the status calls active and that the server does not have.
func (c *cronJobs) missing(ctx context.Context, s *state) (map[types.UID]bool, error) {
	out := map[types.UID]bool{}
	for _, ref := range s.cj.Status.Active {
		if s.jobOf(ref.UID) != nil {
			continue
		}
		job, err := c.jobsAPI.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		out[ref.UID] = err != nil || job.UID != ref.UID
	}
	return out, nil
}

// result is what apply did.
type result struct {
	started *batchv1.Job // that of the scheduled time, which may have existed
	deleted map[types.UID]bool
}

// apply does what a plan says.
func (c *cronJobs) apply(ctx context.Context, s *state, p plan) (result, error) {
	done := result{deleted: map[types.UID]bool{}}
	for _, job := range p.replace {
		if err := c.delete(ctx, s.cj, job); err != nil {
			return done, fmt.Errorf("cronjob: replace job %s: %w", job.Key(), err)
		}
		done.deleted[job.UID] = true
	}
	var startErr error
	if !p.start.IsZero() {
		done.started, startErr = c.start(ctx, s.cj, p.start)
	}
	for _, job := range p.remove {
		if err := c.delete(ctx, s.cj, job); err != nil && startErr == nil {
			startErr = err
		}
	}
	return done, startErr
}

// start creates the Job of a scheduled time. It returns nil if another object has its name.
func (c *cronJobs) start(ctx context.Context, cj *batchv1.CronJob, at time.Time) (*batchv1.Job, error) {
	want := newJob(cj, at)
	job, err := c.jobsAPI.Create(ctx, want)
	switch {
	case err == nil:
		c.recorder.Eventf(cj, corev1.EventTypeNormal, "SuccessfulCreate", "Created job %s", job.Name)
		return job, nil
	case apierrors.IsAlreadyExists(err):
		job, err = c.jobsAPI.Get(ctx, want.Key())
		if err == nil && !metav1.IsControlledBy(job, cj.UID) {
			job = nil
		}
		return job, err
	case !apierrors.HasCause(err, "NamespaceTerminating"):
		c.recorder.Eventf(cj, corev1.EventTypeWarning, "FailedCreate", "Error creating job: %v", err)
	}
	return nil, err
}

// delete deletes a Job and its pods.
func (c *cronJobs) delete(ctx context.Context, cj *batchv1.CronJob, job *batchv1.Job) error {
	err := c.jobsAPI.Delete(ctx, job.Key(), client.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &job.UID}, PropagationPolicy: metav1.DeletePropagationBackground})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		c.recorder.Eventf(cj, corev1.EventTypeWarning, "FailedDelete", "Deleted job: %v", err)
		return err
	}
	c.recorder.Eventf(cj, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted job %s", job.Name)
	return nil
}
