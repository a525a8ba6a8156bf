package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

const (
	// burst bounds how many pods one reconcile creates or deletes.
	burst = 500
	// maxUncounted bounds the uids noted in one status.
	maxUncounted = 500
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of Jobs reconciled concurrently; 0 means 5.
	Concurrency int
}

var kind = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}

// byJob finds pods by the key of the Job that controls them, which need not exist.
var byJob = informers.DefineIndex("job", func(p *corev1.Pod) []string {
	if ref := metav1.ControllerOf(p); ref != nil && ref.Kind == kind.Kind {
		return []string{p.Namespace + "/" + ref.Name}
	}
	return nil
})

type jobs struct {
	*podcontrol.Owners[*batchv1.Job]
	byJob informers.Index[*corev1.Pod]
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	j := &jobs{
		Owners: podcontrol.NewOwners(m, "job", func(j *batchv1.Job) *metav1.LabelSelector { return j.Spec.Selector }),
		byJob:  informers.For[*corev1.Pod](m.Informers()).Index(byJob),
	}
	_, err := controllers.Add(m, "job-orphans", reconcile.Func(j.freeOrphan), controllers.Options{},
		controllers.For(func(e informers.Event[*corev1.Pod]) bool {
			_, owned := e.Controller()
			return e.Type != informers.Deleted && !owned && tracked(e.New())
		}))
	if err != nil {
		return err
	}
	return j.Register(m, opts.Concurrency, j.reconcile)
}

// freeOrphan removes the finalizer from a pod without a Job, such as one whose Job was deleted without its
// dependents; which Job that was is not recorded. A pod that another Job adopts gets the finalizer again.
func (j *jobs) freeOrphan(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pod, err := j.Pods.Get(req)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil || metav1.ControllerOf(pod) != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, j.untrack(ctx, []*corev1.Pod{pod})
}

func (j *jobs) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	job, err := j.List.Get(req)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, j.letGo(ctx, req, "")
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if by := job.Spec.ManagedBy; by != nil && *by != batchv1.JobControllerName {
		return reconcile.Result{}, nil
	}
	// The pods of an earlier Job of the name must not wait for this one.
	if err := j.letGo(ctx, req, job.UID); err != nil {
		return reconcile.Result{}, err
	}
	if finished(job) {
		pods, err := j.Pods.ControlledBy(job.UID)
		if err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, j.untrack(ctx, pods)
	}
	selector, err := job.Spec.Selector.Selector()
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("selector: %w", err))
	}
	pods, err := j.Claim(ctx, job, selector, batchv1.JobTrackingFinalizer)
	if err != nil {
		return reconcile.Result{}, err
	}
	again, err := j.run(ctx, factsOf(job, pods, time.Now()))
	if apierrors.IsNotFound(err) || apierrors.HasCause(err, "NamespaceTerminating") {
		err = nil
	}
	return reconcile.Result{RequeueAfter: again}, err
}

// letGo takes the finalizer off the pods of Jobs of the name that are gone, which all are but the one with
// uid alive.
func (j *jobs) letGo(ctx context.Context, key types.NamespacedName, alive types.UID) error {
	var orphans []*corev1.Pod
	if err := j.byJob.View(key.String(), func(p *corev1.Pod) bool {
		if !metav1.IsControlledBy(p, alive) && tracked(p) {
			orphans = append(orphans, p)
		}
		return true
	}); err != nil {
		return err
	}
	if len(orphans) == 0 {
		return nil
	}
	// The informer of Jobs may be behind the one of pods.
	live, err := j.API.Get(ctx, key)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil {
		orphans = slices.DeleteFunc(orphans, func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, live.UID) })
	}
	return j.untrack(ctx, orphans)
}

// tracked reports whether a pod has the finalizer; nil has none.
func tracked(p *corev1.Pod) bool {
	return p != nil && slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer)
}

func finished(job *batchv1.Job) bool {
	return holds(&job.Status, batchv1.JobComplete) || holds(&job.Status, batchv1.JobFailed)
}
