// Package ttlafterfinished deletes Jobs some time after they have finished, as their ttlSecondsAfterFinished
// says.
package ttlafterfinished

import (
	"context"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of Jobs reconciled concurrently; 0 means 5.
	Concurrency int
}

type jobs struct {
	list informers.Lister[*batchv1.Job]
	api  *client.Client[*batchv1.Job]
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 5
	}
	j := &jobs{list: informers.For[*batchv1.Job](m.Informers()).Lister(), api: client.For[*batchv1.Job](m.Conn())}
	_, err := controllers.Add(m, "ttl-after-finished", reconcile.Func(j.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For(func(e informers.Event[*batchv1.Job]) bool {
			return e.Type != informers.Deleted && !expiry(e.New()).IsZero()
		}))
	return err
}

func (j *jobs) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var at time.Time
	if err := j.list.View(req, func(job *batchv1.Job) { at = expiry(job) }); err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if at.IsZero() {
		return reconcile.Result{}, nil
	}
	if left := time.Until(at); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	// The copy here may be old: the time may have been extended since.
	job, err := j.api.Get(ctx, req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if at := expiry(job); at.IsZero() || time.Now().Before(at) {
		return reconcile.Result{}, nil // its event starts another reconcile
	}
	err = j.api.Delete(ctx, req, client.DeleteOptions{PropagationPolicy: metav1.DeletePropagationForeground,
		Preconditions: &metav1.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion}})
	return reconcile.Result{}, apierrors.IgnoreNotFound(err)
}

// expiry returns when a Job is to be deleted, zero if it is not or already is.
func expiry(job *batchv1.Job) time.Time {
	if job.Spec.TTLSecondsAfterFinished == nil || job.DeletionTimestamp != nil {
		return time.Time{}
	}
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second)
		}
	}
	return time.Time{}
}
