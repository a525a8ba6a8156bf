package kubelet

import (
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// podStarts measure how long pods take from their creation until a watch shows that all their containers have
// been started, as those who wait for them see it. Pods that had begun before this kubelet saw them are left
// out, and those that had no place for a time. Safe for concurrent use.
type podStarts struct {
	metrics startMetrics

	mu   sync.Mutex
	pods map[types.UID]*podStart
	// networked is true once a pod with a network of its own was measured.
	networked bool
}

// podStart is the start of one pod.
type podStart struct {
	// over is true if there is nothing to measure any more.
	over bool
	// pulling and working are since when an image is being pulled and an init container works; zero if that
	// is not so. spared is the time of what was pulled, and of the init containers that have ended.
	pulling, working time.Time
	spared           time.Duration
	// written is true once the server has a status with all containers started, and seen is when a watch has
	// first shown one.
	written bool
	seen    time.Time
}

func newPodStarts(m startMetrics) *podStarts {
	return &podStarts{metrics: m, pods: map[types.UID]*podStart{}}
}

// of calls f with the start of a pod, if it is measured.
func (s *podStarts) of(uid types.UID, f func(*podStart)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.pods[uid]; one != nil && !one.over {
		f(one)
	}
}

// observe takes up a pod that a watch has shown.
func (s *podStarts) observe(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.pods[pod.UID]
	switch {
	case one == nil:
		// What has started before is in the map too, so that it is not measured later.
		s.pods[pod.UID] = &podStart{over: pod.Status.StartTime != nil || over(pod.Status.Phase) || placeless(pod)}
		return
	case one.over:
		return
	case over(pod.Status.Phase) || placeless(pod):
		one.over = true
		return
	}
	if one.seen.IsZero() && allStarted(pod) {
		one.seen = time.Now()
	}
	s.settle(one, pod)
}

// wrote notes that the server has a pod with its latest status.
func (s *podStarts) wrote(pod *corev1.Pod) {
	s.of(pod.UID, func(one *podStart) {
		one.written = one.written || allStarted(pod)
		s.settle(one, pod)
	})
}

// settle measures a start that is over. The lock is held.
func (s *podStarts) settle(one *podStart, pod *corev1.Pod) {
	if !one.written || one.seen.IsZero() {
		return
	}
	one.over = true
	total := one.seen.Sub(pod.CreationTimestamp.Time)
	s.metrics.total.Observe(total.Seconds())
	if stateful(pod) {
		return
	}
	own := (total - one.spared).Seconds()
	s.metrics.own.Observe(own)
	if !pod.Spec.HostNetwork && !s.networked {
		s.networked = true
		s.metrics.network.Set(own)
	}
}

// pull notes that an image of a pod is being pulled. After a failure that goes on until it succeeds.
func (s *podStarts) pull(uid types.UID) {
	s.of(uid, func(one *podStart) {
		if one.pulling.IsZero() {
			one.pulling = time.Now()
		}
	})
}

// pulled notes that it was pulled.
func (s *podStarts) pulled(uid types.UID) {
	s.of(uid, func(one *podStart) {
		if !one.pulling.IsZero() {
			one.spared += time.Since(one.pulling)
			one.pulling = time.Time{}
		}
	})
}

// initStarted notes that an init container works for which others wait.
func (s *podStarts) initStarted(uid types.UID) {
	s.of(uid, func(one *podStart) { one.working = time.Now() })
}

// initEnded notes the end of the init container that works.
func (s *podStarts) initEnded(pod *corev1.Pod, v *view) {
	if len(pod.Spec.InitContainers) == 0 {
		return
	}
	s.of(pod.UID, func(one *podStart) {
		for i := range pod.Spec.InitContainers {
			c := &pod.Spec.InitContainers[i]
			run := v.latest(c.Name)
			if isSidecar(c) || !run.exited() || one.working.IsZero() || run.finished.Before(one.working) {
				continue
			}
			one.spared += run.finished.Sub(one.working)
			one.working = time.Time{}
		}
	})
}

// forget drops a pod that is gone.
func (s *podStarts) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, uid)
}

// allStarted reports whether all main containers of a pod run.
func allStarted(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Running == nil || s.State.Running.StartedAt.IsZero()
	})
}

// placeless reports whether the scheduler has found no node for a pod.
func placeless(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == "Unschedulable"
	})
}

// stateful reports whether a pod has volumes that are not made of API objects or empty.
func stateful(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir == nil && payloadKind(&v) == "" })
}
