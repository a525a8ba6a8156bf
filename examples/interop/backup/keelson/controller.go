package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

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

const (
	finalizer     = "backup.example.com/archive"
	generationKey = "backup.example.com/generation"
)

type reconciler struct {
	backups    informers.Lister[*Backup]
	jobs       controllers.Controlled[*batchv1.Job]
	client     *client.Client[*Backup]
	makeJobs   *client.Client[*batchv1.Job]
	cached     client.Reader[*corev1.ConfigMap]
	maps       *client.Client[*corev1.ConfigMap]
	recorder   *events.Recorder
	finalizers controllers.Finalizers[*Backup]
}

func addController(m *manager.Manager) error {
	r := &reconciler{
		backups: informers.For[*Backup](m.Informers()).Lister(), jobs: controllers.ControlledIn[*batchv1.Job](m.Informers()),
		client: client.For[*Backup](m.Conn()), makeJobs: client.For[*batchv1.Job](m.Conn()), maps: client.For[*corev1.ConfigMap](m.Conn()),
		cached: informers.For[*corev1.ConfigMap](m.Informers()).Lister().Reader(), recorder: m.Recorder("backup"),
	}
	if err := r.finalizers.Add(finalizer, r.unlist); err != nil {
		return err
	}
	_, err := controllers.Add(m, "backup", r, controllers.Options{Options: controller.Options{Concurrency: 4}},
		controllers.For[*Backup](), controllers.Owns[*Backup, *batchv1.Job](), controllers.Owns[*Backup, *corev1.ConfigMap]())
	return err
}

func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	b, err := r.backups.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	b, deleting, err := r.finalizers.Run(ctx, r.client, b)
	if deleting || err != nil {
		return reconcile.Result{}, err
	}
	if err := r.settings(ctx, b); err != nil {
		return reconcile.Result{}, err
	}
	if !b.Spec.Paused {
		if err := r.list(ctx, b); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, r.runJobs(ctx, b)
}

// settings keeps the ConfigMap that the Jobs mount.
func (r *reconciler) settings(ctx context.Context, b *Backup) error {
	return r.keepMap(ctx, b, b.Name+"-settings", map[string]string{"source": b.Spec.Source, "keep": strconv.Itoa(keep(b))}, true)
}

// list keeps the ConfigMap that says what was copied; a Backup that is paused makes none. It has no owner, so
// that only the finalizer deletes it.
func (r *reconciler) list(ctx context.Context, b *Backup) error {
	return r.keepMap(ctx, b, b.Name+"-archive", map[string]string{"generation": strconv.FormatInt(b.Generation, 10)}, false)
}

// keepMap sends a request only if the cached ConfigMap differs.
func (r *reconciler) keepMap(ctx context.Context, b *Backup, name string, data map[string]string, owned bool) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: name}}
	_, _, err := client.CreateOrUpdate(ctx, r.maps, cm, func(cm *corev1.ConfigMap) error {
		cm.Data = data
		if !owned {
			return nil
		}
		return controllers.Own(r.client.Conn().Scheme(), b, cm)
	}, r.cached)
	return err
}

// unlist is the finalizer.
func (r *reconciler) unlist(ctx context.Context, b *Backup) error {
	return apierrors.IgnoreNotFound(r.maps.Delete(ctx, types.NamespacedName{Namespace: b.Namespace, Name: b.Name + "-archive"}))
}

// runJobs makes the Job of the current generation, deletes the oldest ones, and reports.
func (r *reconciler) runJobs(ctx context.Context, b *Backup) error {
	jobs, err := r.jobs.ControlledBy(b.UID)
	if err != nil {
		return err
	}
	slices.SortFunc(jobs, func(x, y *batchv1.Job) int { return cmp.Compare(generationOf(x), generationOf(y)) })
	var current *batchv1.Job
	if n := len(jobs); n > 0 && generationOf(jobs[n-1]) == b.Generation {
		current = jobs[n-1]
	}
	if current == nil && !b.Spec.Paused {
		if current, err = r.makeJobs.Create(ctx, r.job(b)); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		if err == nil {
			r.recorder.Event(b, events.Normal, "Started", "started job "+current.Name)
			jobs = append(jobs, current)
		}
	}
	for len(jobs) > keep(b) {
		if err := r.makeJobs.Delete(ctx, metav1.KeyOf(jobs[0]), client.DeleteOptions{PropagationPolicy: metav1.DeletePropagationBackground}); apierrors.IgnoreNotFound(err) != nil {
			return err
		}
		jobs = jobs[1:]
	}
	return r.report(ctx, b, current)
}

func (r *reconciler) report(ctx context.Context, b *Backup, current *batchv1.Job) error {
	before := codec.DeepCopy(b.Status)
	c := metav1.Condition{Type: "Succeeded", Status: metav1.ConditionUnknown, Reason: "Running", ObservedGeneration: b.Generation}
	switch {
	case current == nil:
		c.Reason, c.Message = "Paused", "no job is started"
	case current.Status.Succeeded > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "Copied", "job "+current.Name+" succeeded"
	case current.Status.Failed > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "Failed", "job "+current.Name+" failed"
	default:
		c.Message = "job " + current.Name + " runs"
	}
	b.Status.ObservedGeneration, b.Status.Job = b.Generation, ""
	if current != nil {
		b.Status.Job = current.Name
	}
	metav1.SetCondition(&b.Status.Conditions, c)
	if codec.Equal(&before, &b.Status) {
		return nil
	}
	_, err := r.client.UpdateStatus(ctx, b)
	return err
}

func (r *reconciler) job(b *Backup) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: fmt.Sprintf("%s-%d", b.Name, b.Generation), Annotations: map[string]string{generationKey: strconv.FormatInt(b.Generation, 10)},
			OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(b, groupVersion.WithKind("Backup"))},
		},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "copy", Image: "backup:1", Args: []string{b.Spec.Source}}},
		}}},
	}
}

func generationOf(j *batchv1.Job) int64 {
	n, err := strconv.ParseInt(j.Annotations[generationKey], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func keep(b *Backup) int {
	if b.Spec.Keep == nil || *b.Spec.Keep < 1 {
		return 1
	}
	return int(*b.Spec.Keep)
}
