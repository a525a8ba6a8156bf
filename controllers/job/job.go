package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
	"github.com/keelson-dev/keelson/controllers/internal/podindex"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

const (
	// burst bounds how many pods one reconcile creates or deletes.
	burst = 500
	// maxUncounted bounds the uids noted in one status.
	maxUncounted = 500
	// byJob indexes pods by the key of the Job that controls them, the Job being there or not.
	byJob = "job"
)

// Options of the controller.
type Options struct {
	// Concurrency is how many Jobs are worked on at once; 0 means 5.
	Concurrency int
}

var kind = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}

type jobs struct {
	list     informers.Lister[*batchv1.Job]
	pods     podindex.Pods
	client   *client.Client[*batchv1.Job]
	podsAPI  *client.Client[*corev1.Pod]
	recorder *events.Recorder
}

// Add registers the controller with m.
func Add(m *manager.Manager, o Options) error {
	if o.Concurrency == 0 {
		o.Concurrency = 5
	}
	j := &jobs{
		list: informers.For[*batchv1.Job](m.Informers()).Lister(), pods: podindex.Of(m.Informers()),
		client: client.For[*batchv1.Job](m.Conn()), podsAPI: client.For[*corev1.Pod](m.Conn()), recorder: m.Recorder("job-controller"),
	}
	if err := informers.For[*corev1.Pod](m.Informers()).AddIndex(byJob, func(p *corev1.Pod) []string {
		if ref := metav1.ControllerOf(p); ref != nil && ref.Kind == kind.Kind {
			return []string{p.Namespace + "/" + ref.Name}
		}
		return nil
	}); err != nil {
		return err
	}
	_, err := controllers.Add(m, "job", reconcile.Func(j.reconcile), controllers.Options{Options: controller.Options{Concurrency: o.Concurrency}},
		controllers.For[*batchv1.Job](),
		controllers.Owns[*batchv1.Job, *corev1.Pod](),
		controllers.Watches(j.adopters))
	return err
}

func (j *jobs) adopters(e informers.Event[*corev1.Pod]) []reconcile.Request {
	if e.Type == informers.Deleted || len(e.Labels) == 0 || metav1.ControllerOf(e.New()) != nil {
		return nil
	}
	var out []reconcile.Request
	for _, job := range j.list.List(informers.ListOptions{Namespace: e.Key.Namespace}) {
		if sel, err := job.Spec.Selector.Selector(); err == nil && !sel.Empty() && sel.Matches(e.Labels) {
			out = append(out, job.Key())
		}
	}
	return out
}

func (j *jobs) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	job, err := j.list.Get(req)
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
		return reconcile.Result{}, j.untrack(ctx, j.pods.ControlledBy(job.UID))
	}
	selector, err := job.Spec.Selector.Selector()
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("selector: %w", err))
	}
	pods, err := podcontrol.Claim(ctx, j.pods, j.podsAPI, job, kind, selector, func(ctx context.Context) error {
		live, err := j.client.Get(ctx, req)
		switch {
		case err != nil:
			return err
		case live.UID != job.UID:
			return fmt.Errorf("Job %v was replaced by another", req)
		case live.DeletionTimestamp != nil:
			return fmt.Errorf("Job %v is being deleted", req)
		}
		return nil
	}, batchv1.JobTrackingFinalizer)
	if err != nil {
		return reconcile.Result{}, err
	}
	s := &sync{jobs: j, job: job, stored: codec.DeepCopy(&job.Status), pods: pods, now: time.Now()}
	err = s.run(ctx)
	if apierrors.IsNotFound(err) || apierrors.HasCause(err, "NamespaceTerminating") {
		err = nil
	}
	return reconcile.Result{RequeueAfter: s.again}, err
}

// letGo takes the finalizer off the pods of Jobs of the name that are gone, which all are but the one with uid alive.
func (j *jobs) letGo(ctx context.Context, key types.NamespacedName, alive types.UID) error {
	var orphans []*corev1.Pod
	j.pods.ViewByIndex(byJob, key.String(), func(p *corev1.Pod) bool {
		if !metav1.IsControlledBy(p, alive) && tracked(p) {
			orphans = append(orphans, p)
		}
		return true
	})
	if len(orphans) == 0 {
		return nil
	}
	// The informer of Jobs may be behind the one of pods.
	live, err := j.client.Get(ctx, key)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil {
		orphans = slices.DeleteFunc(orphans, func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, live.UID) })
	}
	return j.untrack(ctx, orphans)
}

// untrack takes the finalizer off pods, side by side.
func (j *jobs) untrack(ctx context.Context, pods []*corev1.Pod) error {
	pods = slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return !tracked(p) })
	return each(pods, func(p *corev1.Pod) error {
		return podcontrol.DropFinalizer(ctx, j.podsAPI, p, batchv1.JobTrackingFinalizer)
	})
}

func tracked(p *corev1.Pod) bool { return slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) }

func finished(job *batchv1.Job) bool {
	return holds(&job.Status, batchv1.JobComplete) || holds(&job.Status, batchv1.JobFailed)
}
