package job

import (
	"context"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/internal/parallel"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// run plans, does what the plan says, and counts. It returns when to look again; 0: not by itself.
func (j *jobs) run(ctx context.Context, f *facts) (again time.Duration, err error) {
	p := decide(f)
	workErr := j.apply(ctx, f, p)
	outcome := p.outcome
	if outcome == nil && f.job.DeletionTimestamp == nil {
		var notes []note
		if outcome, notes = success(f); outcome == nil {
			notes = f.suspension()
		}
		j.record(f, notes)
	}
	more, err := j.count(ctx, f, outcome)
	if more {
		p.lookAgain(1)
	}
	if err == nil {
		err = workErr
	}
	return p.again, err
}

func (j *jobs) record(f *facts, notes []note) {
	for _, n := range notes {
		j.Recorder.Eventf(f.job, n.typ, n.reason, "%s", n.message)
	}
}

// apply does what a plan says and brings f up to date. After an error the next reconcile makes another plan.
func (j *jobs) apply(ctx context.Context, f *facts, p plan) error {
	if p.spare {
		if err := j.untrack(ctx, p.remove); err != nil {
			return err
		}
	}
	if err := j.remove(ctx, f, p.remove); err != nil {
		return err
	}
	made := make([]*corev1.Pod, len(p.create))
	_, err := controllers.Batches(len(p.create), func(i int) error {
		pod, err := j.Create(ctx, p.create[i])
		if err != nil {
			if !apierrors.HasCause(err, "NamespaceTerminating") {
				j.Recorder.Eventf(f.job, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
			}
			return err
		}
		made[i] = pod
		j.Recorder.Eventf(f.job, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", pod.Name)
		return nil
	})
	for _, pod := range made {
		if pod != nil {
			f.active, f.pods = append(f.active, pod), append(f.pods, pod)
		}
	}
	return err
}

// remove deletes active pods.
func (j *jobs) remove(ctx context.Context, f *facts, pods []*corev1.Pod) error {
	if len(pods) == 0 {
		return nil
	}
	err := podcontrol.DeleteAll(ctx, j.PodsAPI, pods, func(p *corev1.Pod, err error) {
		if err != nil {
			j.Recorder.Eventf(f.job, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
			return
		}
		j.Recorder.Eventf(f.job, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", p.Name)
	})
	if err != nil {
		return err
	}
	f.terminating = append(f.terminating, pods...)
	f.active = slices.DeleteFunc(slices.Clone(f.active), func(p *corev1.Pod) bool { return slices.Contains(pods, p) })
	return nil
}

// count brings the ended pods into the status: note, untrack, exchange. It reports whether others wait for
// room. outcome is nil while the Job goes on.
func (j *jobs) count(ctx context.Context, f *facts, outcome *batchv1.JobCondition) (more bool, err error) {
	c := statusOf(f, outcome)
	if len(c.untrack) > 0 {
		if err := j.write(ctx, f, &c); err != nil {
			return false, err
		}
		if err := j.untrack(ctx, c.untrack); err != nil {
			return false, err
		}
		c.exchange(f)
	}
	if !c.more && outcome != nil {
		j.record(f, c.conclude(f))
	}
	return c.more, j.write(ctx, f, &c)
}

// write writes a status, if it is another one.
func (j *jobs) write(ctx context.Context, f *facts, c *counting) error {
	if codec.Equal(&c.status, &f.job.Status) {
		return nil
	}
	next := *f.job
	next.Status = c.status
	updated, err := j.API.UpdateStatus(ctx, &next)
	if err != nil {
		return err
	}
	f.job, c.status = updated, *codec.DeepCopy(&updated.Status)
	return nil
}

// untrack takes the finalizer off pods, concurrently.
func (j *jobs) untrack(ctx context.Context, pods []*corev1.Pod) error {
	pods = slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return !tracked(p) })
	return parallel.First(len(pods), func(i int) error {
		return podcontrol.DropFinalizer(ctx, j.PodsAPI, pods[i], batchv1.JobTrackingFinalizer)
	})
}
