package job

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// The pause after a failure: 10 s after the first, doubling up to ten minutes.
const (
	backoffInitial = 10 * time.Second
	backoffMax     = 10 * time.Minute
)

func backoff(failures int32) time.Duration {
	if failures <= 0 {
		return 0
	}
	d := backoffInitial
	for range min(failures-1, 10) {
		d = min(2*d, backoffMax)
	}
	return d
}

// manage makes the pods that are missing and deletes those too many.
func (s *sync) manage(ctx context.Context) error {
	if s.suspended() {
		return s.drop(ctx, s.active)
	}
	if s.indexed() {
		if extra := s.surplusIndexes(); len(extra) > 0 {
			if err := s.drop(ctx, extra); err != nil {
				return err
			}
		}
	}
	want := s.wanted()
	if surplus := len(s.active) - want; surplus > 0 {
		podcontrol.RankForDeletion(s.active, nil, s.now)
		return s.drop(ctx, slices.Clone(s.active[:min(surplus, burst)]))
	}
	missing := want - len(s.active)
	if s.replaceFailedOnly() {
		missing -= len(s.terminating)
	}
	if missing = min(missing, burst); missing <= 0 {
		return nil
	}
	if !s.perIndex() {
		if pause := s.pause(); pause > 0 {
			s.lookAgain(pause)
			return nil
		}
	}
	pods := s.plan(missing)
	made := make([]*corev1.Pod, len(pods))
	_, err := controllers.Batches(len(pods), func(i int) error {
		p, err := s.PodsAPI.Create(ctx, pods[i])
		if err != nil {
			if !apierrors.HasCause(err, "NamespaceTerminating") {
				s.Recorder.Eventf(s.job, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
			}
			return err
		}
		made[i] = p
		s.Recorder.Eventf(s.job, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", p.Name)
		return nil
	})
	for _, p := range made {
		if p != nil {
			s.active = append(s.active, p)
			s.pods = append(s.pods, p)
		}
	}
	return err
}

// wanted is how many pods should be active.
func (s *sync) wanted() int {
	parallelism := int(*orDefault(s.job.Spec.Parallelism, 1))
	done := int(s.succeededTotal())
	if s.job.Spec.Completions == nil {
		if done > 0 {
			return len(s.active) // the rest may end, none is replaced
		}
		return parallelism
	}
	left := int(*s.job.Spec.Completions) - done
	if s.perIndex() {
		left -= len(s.failedIdx)
	}
	return max(min(left, parallelism), 0)
}

// surplusIndexes are active pods of indexes there are not, that are done, or that another pod works on.
func (s *sync) surplusIndexes() (out []*corev1.Pod) {
	seen := map[int32]bool{}
	for _, p := range s.active {
		i := indexOf(p)
		if i < 0 || i >= s.completions() || seen[i] || s.completed.has(i) || s.failedIdx.has(i) {
			out = append(out, p)
			continue
		}
		seen[i] = true
	}
	return out
}

// pause is how long no pod is made because the last ones failed.
func (s *sync) pause() time.Duration {
	var success time.Time
	for _, p := range s.pods {
		if p.Status.Phase == corev1.PodSucceeded {
			if at := endedAt(p); at.After(success) {
				success = at
			}
		}
	}
	failures, last := int32(0), time.Time{}
	for _, p := range s.pods {
		// One we deleted did not fail.
		if !s.hasFailed(p) || p.Status.Phase != corev1.PodFailed && !tracked(p) {
			continue
		}
		at := endedAt(p)
		if !at.After(success) {
			continue
		}
		failures++
		if at.After(last) {
			last = at
		}
	}
	return last.Add(backoff(failures)).Sub(s.now)
}

// endedAt is when a pod's last container ended, as far as is known.
func endedAt(p *corev1.Pod) time.Time {
	var at time.Time
	for i := range p.Status.ContainerStatuses {
		if t := p.Status.ContainerStatuses[i].State.Terminated; t != nil && t.FinishedAt.After(at) {
			at = t.FinishedAt.Time
		}
	}
	if !at.IsZero() {
		return at
	}
	if c := podcontrol.Condition(p, corev1.PodReady); c != nil && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime.Time
	}
	if p.DeletionTimestamp != nil {
		grace := time.Duration(0)
		if p.DeletionGracePeriodSeconds != nil {
			grace = time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
		}
		return p.DeletionTimestamp.Add(-grace)
	}
	return p.CreationTimestamp.Time
}

// plan makes up to n new pods.
func (s *sync) plan(n int) (out []*corev1.Pod) {
	if !s.indexed() {
		for range n {
			out = append(out, s.newPod())
		}
		return out
	}
	taken := map[int32]bool{}
	for _, p := range s.active {
		taken[indexOf(p)] = true
	}
	if s.replaceFailedOnly() {
		for _, p := range s.terminating {
			taken[indexOf(p)] = true
		}
	}
	for i := int32(0); i < s.completions() && len(out) < n; i++ {
		if taken[i] || s.completed.has(i) || s.failedIdx.has(i) {
			continue
		}
		if p := s.indexPod(i); p != nil {
			out = append(out, p)
		}
	}
	return out
}

func (s *sync) newPod() *corev1.Pod {
	p := podcontrol.FromTemplate(&s.job.Spec.Template, s.job, kind, s.job.Name)
	p.Finalizers = append(p.Finalizers, batchv1.JobTrackingFinalizer)
	return p
}

// indexPod makes the pod of an index, or nil while the index must pause after a failure.
func (s *sync) indexPod(i int32) *corev1.Pod {
	text := strconv.Itoa(int(i))
	p := s.newPod()
	p.GenerateName = s.job.Name + "-" + text + "-"
	p.Annotations = podcontrol.WithLabel(p.Annotations, batchv1.JobCompletionIndexAnnotation, text)
	p.Labels = podcontrol.WithLabel(p.Labels, batchv1.JobCompletionIndexAnnotation, text)
	p.Spec.Hostname = s.job.Name + "-" + text
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for k := range list {
			c := &list[k]
			if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "JOB_COMPLETION_INDEX" }) {
				c.Env = append(c.Env, corev1.EnvVar{Name: "JOB_COMPLETION_INDEX", ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']"}}})
			}
		}
	}
	if !s.perIndex() {
		return p
	}
	counted, ignored := int32(0), int32(0)
	if last := s.lastFailure(i); last != nil {
		counted, ignored = failuresOf(last)
		if slices.ContainsFunc(s.ignored, func(o *corev1.Pod) bool { return o.UID == last.UID }) {
			ignored++
		} else {
			counted++
		}
		if left := endedAt(last).Add(backoff(counted + ignored)).Sub(s.now); left > 0 {
			s.lookAgain(left)
			return nil
		}
	}
	p.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(int(counted))
	if s.job.Spec.PodFailurePolicy != nil && ignored > 0 {
		p.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = strconv.Itoa(int(ignored))
	}
	return p
}

// lastFailure is the failed pod of an index that remembers the most failures.
func (s *sync) lastFailure(i int32) (last *corev1.Pod) {
	most := int32(-1)
	for _, list := range [][]*corev1.Pod{s.failed, s.ignored, s.pods} {
		for _, p := range list {
			if indexOf(p) != i || !s.hasFailed(p) {
				continue
			}
			if a, b := failuresOf(p); a+b > most {
				most, last = a+b, p
			}
		}
	}
	return last
}
