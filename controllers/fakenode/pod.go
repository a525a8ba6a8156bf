package fakenode

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Annotations that change the behavior of a pod.
const (
	// ExitCodeAnnotation is the exit code of containers that end; 0 without it.
	ExitCodeAnnotation = "keelson.dev/exit-code"
	// RunForAnnotation is how long each main container runs, as a Go duration. Without it
	// containers of restartPolicy Always run forever and others for [DefaultRunFor].
	RunForAnnotation = "keelson.dev/run-for"
	// ReadyAfterAnnotation is the time between start and readiness, as a Go duration; 0 without it.
	ReadyAfterAnnotation = "keelson.dev/ready-after"
	// StopAfterAnnotation is how long containers take to terminate, as a Go duration; 0 without it. They are
	// killed (exit code 137) if the grace period is shorter.
	StopAfterAnnotation = "keelson.dev/stop-after"
	// UsageAnnotation is what each running container of the pod uses, such as cpu=250m,memory=64Mi. What it
	// does not name is 0, as is all without it.
	UsageAnnotation = "keelson.dev/usage"
)

// DefaultRunFor is how long a container that is not restarted runs.
const DefaultRunFor = time.Second

// The kubelet's crash loop back-off: 10 s doubling up to 5 minutes.
const (
	backoffInitial = 10 * time.Second
	backoffMax     = 5 * time.Minute
)

// script is the behavior that a pod's annotations define.
type script struct {
	exitCode   int32
	runFor     time.Duration // 0: forever
	readyAfter time.Duration
	stopAfter  time.Duration
	usage      usage
}

// scriptOf reads the annotations; those that do not parse are reported and ignored.
func scriptOf(pod *corev1.Pod) (script, []error) {
	var errs []error
	duration := func(key string, unset time.Duration) time.Duration {
		v, ok := pod.Annotations[key]
		if !ok {
			return unset
		}
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 {
			errs = append(errs, fmt.Errorf("annotation %s: %q is not a duration such as 1s", key, v))
			return unset
		}
		return d
	}
	s := script{runFor: DefaultRunFor}
	if pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		s.runFor = 0
	}
	s.runFor = duration(RunForAnnotation, s.runFor)
	s.readyAfter = duration(ReadyAfterAnnotation, 0)
	s.stopAfter = duration(StopAfterAnnotation, 0)
	if v, ok := pod.Annotations[ExitCodeAnnotation]; ok {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 0 || n > 255 {
			errs = append(errs, fmt.Errorf("annotation %s: %q is not an exit code from 0 to 255", ExitCodeAnnotation, v))
		} else {
			s.exitCode = int32(n)
		}
	}
	if v, ok := pod.Annotations[UsageAnnotation]; ok {
		var err error
		if s.usage, err = parseUsage(v); err != nil {
			errs = append(errs, fmt.Errorf("annotation %s: %w", UsageAnnotation, err))
		}
	}
	return s, errs
}

// step is the simulation of one pod up to now. It starts from the pod's stored status, so that nothing
// is lost when the process restarts, and remembers the earliest time at which more will happen.
type step struct {
	pod    *corev1.Pod
	script script
	now    time.Time
	wake   time.Time // zero: nothing more will happen by itself
	status corev1.PodStatus
}

func (s *step) wakeAt(t time.Time) {
	if s.wake.IsZero() || t.Before(s.wake) {
		s.wake = t
	}
}

// advance computes the status of pod at now, and after what time to look again (0: not by itself).
// gone is true when a pod that is being deleted has ended and may be removed. ip is the pod's address.
func advance(pod *corev1.Pod, now time.Time, hostIP, ip string) (status corev1.PodStatus, after time.Duration, gone bool) {
	sc, _ := scriptOf(pod)
	s := &step{pod: pod, script: sc, now: now.Truncate(time.Second), status: pod.Status}
	s.status.Conditions = slices.Clone(pod.Status.Conditions)
	s.status.InitContainerStatuses = slices.Clone(pod.Status.InitContainerStatuses)
	s.status.ContainerStatuses = slices.Clone(pod.Status.ContainerStatuses)
	if s.status.Phase == corev1.PodSucceeded || s.status.Phase == corev1.PodFailed {
		return s.status, 0, pod.DeletionTimestamp != nil
	}
	if s.status.StartTime == nil {
		s.status.StartTime = &metav1.Time{Time: s.now}
	}
	s.status.HostIP, s.status.HostIPs = hostIP, []corev1.HostIP{{IP: hostIP}}
	s.status.PodIP, s.status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	s.status.ObservedGeneration = pod.Generation
	if pod.DeletionTimestamp != nil {
		gone = s.stop()
	} else {
		s.run()
	}
	grant(s.status.InitContainerStatuses, s.pod.Spec.InitContainers)
	grant(s.status.ContainerStatuses, s.pod.Spec.Containers)
	s.conclude()
	if !s.wake.IsZero() {
		after = max(s.wake.Sub(now), time.Millisecond)
	}
	return s.status, after, gone
}

// run lets the init containers run one after the other, then the main containers side by side.
func (s *step) run() {
	s.status.InitContainerStatuses = fill(s.status.InitContainerStatuses, s.pod.Spec.InitContainers)
	s.status.ContainerStatuses = fill(s.status.ContainerStatuses, s.pod.Spec.Containers)
	for i := range s.pod.Spec.InitContainers {
		c, st := &s.pod.Spec.InitContainers[i], &s.status.InitContainerStatuses[i]
		if sidecar(c) {
			s.container(st, 0, 0, true)
			continue
		}
		// An init container runs for the default time and succeeds.
		s.container(st, DefaultRunFor, 0, false)
		if st.State.Terminated == nil {
			for j := range s.status.InitContainerStatuses[i+1:] {
				waiting(&s.status.InitContainerStatuses[i+1+j], "PodInitializing")
			}
			for j := range s.status.ContainerStatuses {
				waiting(&s.status.ContainerStatuses[j], "PodInitializing")
			}
			return
		}
		st.Ready = true
	}
	for i := range s.status.ContainerStatuses {
		st := &s.status.ContainerStatuses[i]
		restart := s.pod.Spec.RestartPolicy == corev1.RestartPolicyAlways ||
			s.pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && s.script.exitCode != 0
		s.container(st, s.script.runFor, s.script.exitCode, restart)
		if r := st.State.Running; r != nil {
			ready := r.StartedAt.Add(s.script.readyAfter)
			st.Ready = !s.now.Before(ready)
			if !st.Ready {
				s.wakeAt(ready)
			}
		}
	}
	s.stopSidecars()
}

// stopSidecars ends the sidecars once every main container has ended for good.
func (s *step) stopSidecars() {
	for i := range s.status.ContainerStatuses {
		if s.status.ContainerStatuses[i].State.Terminated == nil {
			return
		}
	}
	for i := range s.pod.Spec.InitContainers {
		if st := &s.status.InitContainerStatuses[i]; sidecar(&s.pod.Spec.InitContainers[i]) && st.State.Running != nil {
			terminate(st, s.now, 0, "Completed")
		}
	}
}

// container moves one container through start, end and restart.
func (s *step) container(st *corev1.ContainerStatus, runFor time.Duration, exitCode int32, restart bool) {
	st.Started = new(false)
	if st.State.Running == nil && st.State.Terminated == nil {
		if last := st.LastTerminationState.Terminated; last != nil {
			again := last.FinishedAt.Add(backoff(st.RestartCount))
			if s.now.Before(again) {
				st.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
					Reason: "CrashLoopBackOff", Message: fmt.Sprintf("back-off %v restarting", backoff(st.RestartCount))}}
				s.wakeAt(again)
				return
			}
			st.RestartCount++
		}
		st.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: s.now}}}
		st.ContainerID = fmt.Sprintf("fake://%s-%s-%d", s.pod.UID, st.Name, st.RestartCount)
		st.ImageID = "fake://" + st.Image
	}
	if r := st.State.Running; r != nil {
		st.Started, st.Ready = new(true), true
		if runFor == 0 {
			return
		}
		if end := r.StartedAt.Add(runFor); s.now.Before(end) {
			s.wakeAt(end)
			return
		}
		reason := "Completed"
		if exitCode != 0 {
			reason = "Error"
		}
		terminate(st, s.now, exitCode, reason)
	}
	if restart {
		st.LastTerminationState, st.State = st.State, corev1.ContainerState{}
		again := st.LastTerminationState.Terminated.FinishedAt.Add(backoff(st.RestartCount))
		st.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: fmt.Sprintf("back-off %v restarting", backoff(st.RestartCount))}
		s.wakeAt(again)
	}
}

// stop ends the containers of a pod that is being deleted and reports whether all have ended.
func (s *step) stop() bool {
	asked := s.pod.DeletionTimestamp.Time
	if g := s.pod.DeletionGracePeriodSeconds; g != nil {
		asked = asked.Add(-time.Duration(*g) * time.Second)
	}
	end, code := asked.Add(s.script.stopAfter), int32(0)
	if kill := s.pod.DeletionTimestamp.Time; end.After(kill) {
		end, code = kill, 137
	}
	if s.now.Before(end) {
		s.wakeAt(end)
		return false
	}
	for _, list := range [][]corev1.ContainerStatus{s.status.InitContainerStatuses, s.status.ContainerStatuses} {
		for i := range list {
			if list[i].State.Running != nil {
				reason := "Completed"
				if code != 0 {
					reason = "Error"
				}
				terminate(&list[i], s.now, code, reason)
			}
		}
	}
	return true
}

// conclude derives phase and conditions from the container states.
func (s *step) conclude() {
	initialized, ready, ended, failed := true, len(s.status.ContainerStatuses) > 0, len(s.status.ContainerStatuses) > 0, false
	started := false
	for i := range s.status.InitContainerStatuses {
		st := &s.status.InitContainerStatuses[i]
		if sidecar(&s.pod.Spec.InitContainers[i]) {
			initialized = initialized && (st.State.Running != nil || st.State.Terminated != nil)
			ready = ready && st.Ready
			continue
		}
		initialized = initialized && st.State.Terminated != nil
	}
	for i := range s.status.ContainerStatuses {
		st := &s.status.ContainerStatuses[i]
		ready = ready && st.Ready
		started = started || st.State.Running != nil || st.State.Terminated != nil || st.LastTerminationState.Terminated != nil
		if st.State.Terminated == nil {
			ended = false
		} else if st.State.Terminated.ExitCode != 0 {
			failed = true
		}
	}
	switch {
	case ended && failed:
		s.status.Phase = corev1.PodFailed
	case ended:
		s.status.Phase = corev1.PodSucceeded
	case started:
		s.status.Phase = corev1.PodRunning
	default:
		s.status.Phase = corev1.PodPending
	}
	reason := ""
	if ended {
		reason = "PodCompleted"
	} else if !ready {
		reason = "ContainersNotReady"
	}
	s.condition(corev1.PodReadyToStartContainers, !ended, "")
	initReason := ""
	if !initialized {
		initReason = "ContainersNotInitialized"
	}
	s.condition(corev1.PodInitialized, initialized, initReason)
	s.condition(corev1.ContainersReady, ready, reason)
	s.condition(corev1.PodReady, ready && s.gatesOpen(), reason)
}

func (s *step) gatesOpen() bool {
	for _, g := range s.pod.Spec.ReadinessGates {
		if !slices.ContainsFunc(s.status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == g.ConditionType && c.Status == corev1.ConditionTrue
		}) {
			return false
		}
	}
	return true
}

func (s *step) condition(t corev1.PodConditionType, ok bool, reason string) {
	status := corev1.ConditionFalse
	if ok {
		status, reason = corev1.ConditionTrue, ""
	}
	next := corev1.PodCondition{Type: t, Status: status, Reason: reason, LastTransitionTime: metav1.Time{Time: s.now}, ObservedGeneration: s.pod.Generation}
	i := slices.IndexFunc(s.status.Conditions, func(c corev1.PodCondition) bool { return c.Type == t })
	if i < 0 {
		s.status.Conditions = append(s.status.Conditions, next)
		return
	}
	if s.status.Conditions[i].Status == status {
		next.LastTransitionTime = s.status.Conditions[i].LastTransitionTime
	}
	s.status.Conditions[i] = next
}

// fill returns one status per container, in the spec's order, keeping those that exist.
func fill(have []corev1.ContainerStatus, containers []corev1.Container) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for i := range containers {
		c := &containers[i]
		st := corev1.ContainerStatus{Name: c.Name, Image: c.Image}
		if j := slices.IndexFunc(have, func(h corev1.ContainerStatus) bool { return h.Name == c.Name }); j >= 0 {
			st = have[j]
		}
		out = append(out, st)
	}
	return out
}

// grant reports what the running containers have: all that the pod requests, also after a resize.
func grant(statuses []corev1.ContainerStatus, containers []corev1.Container) {
	for i := range statuses {
		if st, has := &statuses[i], &containers[i].Resources; st.State.Running != nil {
			st.AllocatedResources, st.Resources = has.Requests, &corev1.ResourceRequirements{Requests: has.Requests, Limits: has.Limits}
		}
	}
}

func waiting(st *corev1.ContainerStatus, reason string) {
	st.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	st.Ready, st.Started = false, new(false)
}

func terminate(st *corev1.ContainerStatus, at time.Time, code int32, reason string) {
	t := &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: metav1.Time{Time: at}, ContainerID: st.ContainerID}
	if r := st.State.Running; r != nil {
		t.StartedAt = r.StartedAt
	}
	st.State, st.Ready, st.Started = corev1.ContainerState{Terminated: t}, false, new(false)
}

func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func backoff(restarts int32) time.Duration {
	d := backoffInitial
	for range min(restarts, 10) {
		d = min(2*d, backoffMax)
	}
	return d
}
