package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	finalizer     = "backup.example.com/archive"
	generationKey = "backup.example.com/generation"
	ownerIndex    = "owner"
)

type reconciler struct {
	client.Client
	recorder events.EventRecorder
}

func addController(ctx context.Context, m ctrl.Manager) error {
	err := m.GetFieldIndexer().IndexField(ctx, &batchv1.Job{}, ownerIndex, func(obj client.Object) []string {
		if owner := metav1.GetControllerOf(obj); owner != nil && owner.Kind == "Backup" {
			return []string{string(owner.UID)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(m).Named("backup").For(&Backup{}).Owns(&batchv1.Job{}).Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(&reconciler{m.GetClient(), m.GetEventRecorder("backup")})
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	b := &Backup{}
	if err := r.Get(ctx, req.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !b.DeletionTimestamp.IsZero() {
		if !controllerutil.ContainsFinalizer(b, finalizer) {
			return ctrl.Result{}, nil
		}
		if err := r.unlist(ctx, b); err != nil {
			return ctrl.Result{}, err
		}
		before := b.DeepCopy()
		controllerutil.RemoveFinalizer(b, finalizer)
		return ctrl.Result{}, r.Patch(ctx, b, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if before := b.DeepCopy(); controllerutil.AddFinalizer(b, finalizer) {
		if err := r.Patch(ctx, b, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.settings(ctx, b); err != nil {
		return ctrl.Result{}, err
	}
	if !b.Spec.Paused {
		if err := r.list(ctx, b); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.runJobs(ctx, b)
}

// settings keeps the ConfigMap that the Jobs mount.
func (r *reconciler) settings(ctx context.Context, b *Backup) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name + "-settings"}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, cm, func() error {
		cm.Data = map[string]string{"source": b.Spec.Source, "keep": strconv.Itoa(keep(b))}
		return controllerutil.SetControllerReference(b, cm, r.Scheme())
	})
	return err
}

// list keeps the ConfigMap that says what was copied; a Backup that is paused makes none. It has no owner, so
// that only the finalizer deletes it.
func (r *reconciler) list(ctx context.Context, b *Backup) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name + "-archive"}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, cm, func() error {
		cm.Data = map[string]string{"generation": strconv.FormatInt(b.Generation, 10)}
		return nil
	})
	return err
}

// unlist is the finalizer.
func (r *reconciler) unlist(ctx context.Context, b *Backup) error {
	return client.IgnoreNotFound(r.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name + "-archive"}}))
}

// runJobs makes the Job of the current generation, deletes the oldest ones, and reports.
func (r *reconciler) runJobs(ctx context.Context, b *Backup) error {
	list := &batchv1.JobList{}
	if err := r.List(ctx, list, client.InNamespace(b.Namespace), client.MatchingFields{ownerIndex: string(b.UID)}); err != nil {
		return err
	}
	jobs := list.Items
	slices.SortFunc(jobs, func(x, y batchv1.Job) int { return cmp.Compare(generationOf(&x), generationOf(&y)) })
	var current *batchv1.Job
	if n := len(jobs); n > 0 && generationOf(&jobs[n-1]) == b.Generation {
		current = &jobs[n-1]
	}
	if current == nil && !b.Spec.Paused {
		current = r.job(b)
		if err := controllerutil.SetControllerReference(b, current, r.Scheme()); err != nil {
			return err
		}
		if err := r.Create(ctx, current); err == nil {
			r.recorder.Eventf(b, nil, corev1.EventTypeNormal, "Started", "Start", "started job %s", current.Name)
			jobs = append(jobs, *current)
		} else if !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for len(jobs) > keep(b) {
		if err := r.Delete(ctx, &jobs[0], client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return err
		}
		jobs = jobs[1:]
	}
	return r.report(ctx, b, current)
}

func (r *reconciler) report(ctx context.Context, b *Backup, current *batchv1.Job) error {
	before := b.DeepCopy().Status
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
	meta.SetStatusCondition(&b.Status.Conditions, c)
	if equality.Semantic.DeepEqual(before, b.Status) {
		return nil
	}
	return r.Status().Update(ctx, b)
}

func (r *reconciler) job(b *Backup) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: fmt.Sprintf("%s-%d", b.Name, b.Generation), Annotations: map[string]string{generationKey: strconv.FormatInt(b.Generation, 10)},
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
