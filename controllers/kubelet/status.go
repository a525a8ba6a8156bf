package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// report computes the pod's status and hands it to the writer.
func (w *worker) report(ctx context.Context, pod *corev1.Pod, v *view) {
	st := w.statusOf(ctx, pod, v)
	was := cmp.Or(w.last, &pod.Status).Phase
	if st.Phase == corev1.PodRunning && (was == "" || was == corev1.PodPending) {
		w.k.metrics.ran.Observe(time.Since(w.arrived).Seconds())
	}
	w.last = &st
	w.mu.Lock()
	w.seen = &st
	w.mu.Unlock()
	w.k.status.set(pod, w.static, st)
}

// statusOf computes the status from what the runtime reports and what the worker waits for.
func (w *worker) statusOf(ctx context.Context, pod *corev1.Pod, v *view) corev1.PodStatus {
	old := &pod.Status
	if w.last != nil {
		old = w.last
	}
	box := v.current()
	started := w.started.Truncated() // the API has whole seconds, a fraction looks like a change by others
	st := corev1.PodStatus{
		StartTime: &started, QOSClass: pod.Status.QOSClass, ObservedGeneration: pod.Generation,
		HostIP: old.HostIP, HostIPs: old.HostIPs, PodIP: old.PodIP, PodIPs: old.PodIPs,
		ResourceClaimStatuses: pod.Status.ResourceClaimStatuses, NominatedNodeName: pod.Status.NominatedNodeName,
	}
	if r := pod.Spec.Resources; r != nil {
		st.Resources, st.AllocatedResources = &corev1.ResourceRequirements{Requests: r.Requests, Limits: r.Limits}, r.Requests
	}
	if st.QOSClass == "" {
		st.QOSClass = corev1.QOSClass(pod)
	}
	w.k.addressesOf(ctx, pod, box, &st)
	final := w.ended != nil || pod.DeletionTimestamp != nil
	waitingFor := "ContainerCreating"
	if len(pod.Spec.InitContainers) > 0 {
		waitingFor = "PodInitializing"
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		st.InitContainerStatuses = append(st.InitContainerStatuses, w.containerStatus(pod, c, v, find(old.InitContainerStatuses, c.Name), waitingFor, final, true))
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		st.ContainerStatuses = append(st.ContainerStatuses, w.containerStatus(pod, c, v, find(old.ContainerStatuses, c.Name), waitingFor, final, false))
	}
	for i := range pod.Spec.EphemeralContainers {
		c := ephemeral(&pod.Spec.EphemeralContainers[i])
		st.EphemeralContainerStatuses = append(st.EphemeralContainerStatuses,
			w.containerStatus(pod, c, v, find(old.EphemeralContainerStatuses, c.Name), waitingFor, final, false))
	}
	st.Phase = phaseOf(pod, &st)
	if w.stopped && !over(st.Phase) && !w.static {
		st.Phase = lastPhase(&st) // whatever the restart policy, none of its containers will run again
	}
	if over(old.Phase) {
		st.Phase = old.Phase
	}
	if over(st.Phase) && !w.stopped {
		st.Phase = old.Phase // it is over when all containers, sidecars too, have stopped
		if st.Phase == "" {
			st.Phase = corev1.PodRunning
		}
	}
	// Others take a phase that is final to mean that nothing runs any more.
	if w.ended != nil && w.ended.phase != "" && (w.stopped || over(old.Phase)) {
		st.Phase, st.Reason, st.Message = w.ended.phase, w.ended.reason, w.ended.message
	}
	w.conditions(pod, &st, old, box)
	return st
}

func find(list []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// statusOf finds a container's status of any sort.
func statusOf(st *corev1.PodStatus, name string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{st.ContainerStatuses, st.InitContainerStatuses, st.EphemeralContainerStatuses} {
		if s := find(list, name); s != nil {
			return s
		}
	}
	return nil
}

// forgotten is the status of a container that the runtime has forgotten: what was known stands, and what ran
// has ended in an unknown way.
func forgotten(old *corev1.ContainerStatus, init bool) corev1.ContainerStatus {
	st := *old
	st.Ready, st.Started = false, new(false)
	if st.State.Running != nil {
		st.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown",
			Message: "The container could not be located when the pod was terminated", StartedAt: old.State.Running.StartedAt,
			FinishedAt: metav1.Now().Truncated(), ContainerID: old.ContainerID}}
		st.LastTerminationState = corev1.ContainerState{}
	}
	if init && st.State.Terminated != nil && st.State.Terminated.ExitCode == 0 {
		st.Ready = true
	}
	return st
}

func (w *worker) containerStatus(pod *corev1.Pod, c *corev1.Container, v *view, old *corev1.ContainerStatus, waitingFor string, final, init bool) corev1.ContainerStatus {
	runs := v.runs(c.Name)
	if len(runs) == 0 {
		return w.statusWithoutRun(pod, c, old, waitingFor, init)
	}
	run := runs[0]
	st := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Started: new(false), VolumeMounts: w.mountStatuses(pod, c, run)}
	if len(c.Resources.Requests) > 0 {
		st.AllocatedResources = c.Resources.Requests
	}
	st.AllocatedResourcesStatus = append(w.k.devices.health(w.k.ledger.grants(w.uid)[c.Name]), w.claimHealth(pod, c)...)
	has := c.Resources
	if run.running() {
		has = w.k.ledger.has(w.uid, c, run)
	}
	st.Resources = &corev1.ResourceRequirements{Requests: has.Requests, Limits: has.Limits}
	st.ContainerID, st.ImageID, st.RestartCount = w.k.node.runtimeName()+"://"+run.id, run.imageID, run.restarts
	if run.status != nil {
		st.StopSignal = stopSignalOf(run.status.StopSignal)
	}
	if run.image != "" && !strings.HasPrefix(run.image, "sha256:") {
		st.Image = run.image
	}
	if len(runs) > 1 && runs[1].exited() {
		st.LastTerminationState.Terminated = w.terminated(pod, c, runs[1])
	} else if old != nil && old.LastTerminationState.Terminated != nil && old.RestartCount == run.restarts {
		st.LastTerminationState = old.LastTerminationState
	}
	switch run.state {
	case cri.ContainerState_CONTAINER_RUNNING:
		st.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(run.started).Truncated()}
		started := w.k.probes.started(c, run) && w.wasHooked(c, run)
		st.Started = &started
		st.Ready = started && w.k.probes.ready(c, run)
		if init && !isSidecar(c) {
			st.Ready = false
		}
	case cri.ContainerState_CONTAINER_EXITED:
		ended := w.terminated(pod, c, run)
		again := !final && !w.willNotRestart(pod, c, run, init)
		if reason, isWaiting := w.waiting[c.Name]; isWaiting && again {
			st.State.Waiting = &reason
			st.LastTerminationState.Terminated = ended
		} else {
			st.State.Terminated = ended
		}
		if init && run.exitCode == 0 && !isSidecar(c) {
			st.Ready = true
		}
	default:
		if run.lost() && old != nil && old.ContainerID == st.ContainerID {
			st.State = old.State // until it has been ended
			return st
		}
		st.State.Waiting = w.waitingState(c, waitingFor)
	}
	return st
}

// statusWithoutRun is the status of a container of which the runtime has no run.
func (w *worker) statusWithoutRun(pod *corev1.Pod, c *corev1.Container, old *corev1.ContainerStatus, waitingFor string, init bool) corev1.ContainerStatus {
	if w.resetting && old != nil && old.State.Waiting == nil {
		return removedToRestart(c, old)
	}
	if old != nil && (old.ContainerID != "" || old.State.Terminated != nil) {
		return forgotten(old, init)
	}
	st := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Started: new(false), VolumeMounts: w.mountStatuses(pod, c, nil)}
	st.State.Waiting = w.waitingState(c, waitingFor)
	if old != nil {
		st.RestartCount, st.LastTerminationState = old.RestartCount, old.LastTerminationState
		if w.resetting {
			st.State.Waiting = new(*old.State.Waiting)
		}
	}
	return st
}

// waitingState is what a container waits for: the reason that the worker has noted, or else another.
func (w *worker) waitingState(c *corev1.Container, otherwise string) *corev1.ContainerStateWaiting {
	if noted, ok := w.waiting[c.Name]; ok {
		return &noted
	}
	return &corev1.ContainerStateWaiting{Reason: otherwise}
}

func (w *worker) willNotRestart(pod *corev1.Pod, c *corev1.Container, run *container, init bool) bool {
	if init && !isSidecar(c) {
		return run.exitCode == 0 || !w.restartsInit(pod, c, run)
	}
	return !restarts(pod, c, run.exitCode)
}

// terminated describes the end of a run, with the container's last words.
func (w *worker) terminated(pod *corev1.Pod, c *corev1.Container, run *container) *corev1.ContainerStateTerminated {
	message, known := w.messages[run.id]
	if !known {
		message = lastWords(c, run)
		w.messages[run.id] = message
	}
	if most := maxPodMessageBytes / (len(pod.Spec.Containers) + len(pod.Spec.InitContainers) + len(pod.Spec.EphemeralContainers)); len(message) > most {
		message = strings.ToValidUTF8(message[:most], "")
	}
	t := &corev1.ContainerStateTerminated{ExitCode: run.exitCode, Reason: run.reason, Message: message,
		FinishedAt: metav1.NewTime(run.finished).Truncated(), ContainerID: w.k.node.runtimeName() + "://" + run.id}
	if !run.started.IsZero() {
		t.StartedAt = metav1.NewTime(run.started).Truncated()
	}
	if t.Reason == "" {
		t.Reason = "Completed"
		if run.exitCode != 0 {
			t.Reason = "Error"
		}
	}
	return t
}

// The most that is kept of a termination message, in bytes, and of logs in its stead.
const (
	maxMessageBytes    = 4096
	maxPodMessageBytes = 12 << 10 // of all containers together
	maxMessageLogBytes = 2048
	maxMessageLogLines = 80
)

// lastWords is what a container left in its termination file, or the end of its log if its policy says so.
func lastWords(c *corev1.Container, run *container) string {
	path := run.status.GetAnnotations()[annotationMessagePath]
	text := ""
	for _, m := range run.status.GetMounts() {
		if m.ContainerPath == path && path != "" {
			f, err := os.Open(m.HostPath)
			if err != nil {
				break
			}
			b, _ := io.ReadAll(io.LimitReader(f, maxMessageBytes))
			_ = f.Close()
			text = string(b)
		}
	}
	if text == "" && run.exitCode != 0 && run.status.GetAnnotations()[annotationMessagePolicy] == string(corev1.TerminationMessageFallbackToLogsOnError) {
		text = logTail(run.logPath, maxMessageLogLines, maxMessageLogBytes)
	}
	if text == "" {
		text = run.message
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// phaseOf sums up what the containers do.
func phaseOf(pod *corev1.Pod, st *corev1.PodStatus) corev1.PodPhase {
	for i := range pod.Spec.InitContainers {
		c, s := &pod.Spec.InitContainers[i], &st.InitContainerStatuses[i]
		if isSidecar(c) {
			if s.State.Running == nil && s.State.Terminated == nil && s.LastTerminationState.Terminated == nil {
				return corev1.PodPending
			}
			continue
		}
		switch t := s.State.Terminated; {
		case t != nil && t.ExitCode == 0:
		case t != nil && pod.Spec.RestartPolicy == corev1.RestartPolicyNever && !restarts(pod, c, t.ExitCode):
			return corev1.PodFailed
		case s.State.Waiting != nil && s.LastTerminationState.Terminated != nil:
			// Others say whether the pod has been running.
		default:
			return corev1.PodPending
		}
	}
	var running, waiting, succeeded, failed, willRestart int
	for i := range pod.Spec.Containers {
		c, s := &pod.Spec.Containers[i], &st.ContainerStatuses[i]
		switch {
		case s.State.Running != nil:
			running++
		case s.State.Terminated != nil:
			t := s.State.Terminated
			if restarts(pod, c, t.ExitCode) {
				willRestart++
			} else if t.ExitCode == 0 {
				succeeded++
			} else {
				failed++
			}
		case s.LastTerminationState.Terminated != nil:
			willRestart++
		default:
			waiting++
		}
	}
	switch {
	case waiting > 0:
		return corev1.PodPending
	case running > 0 || willRestart > 0:
		return corev1.PodRunning
	case failed > 0:
		return corev1.PodFailed
	default:
		return corev1.PodSucceeded
	}
}

// lastPhase is the phase of a pod whose containers have all stopped for good: it has succeeded if each of
// them has.
func lastPhase(st *corev1.PodStatus) corev1.PodPhase {
	for i := range st.ContainerStatuses {
		if t := st.ContainerStatuses[i].State.Terminated; t == nil || t.ExitCode != 0 {
			return corev1.PodFailed
		}
	}
	return corev1.PodSucceeded
}

// conditions sets those of the kubelet and leaves all others.
func (w *worker) conditions(pod *corev1.Pod, st, old *corev1.PodStatus, box *sandbox) {
	st.Conditions = slices.Clone(pod.Status.Conditions)
	set := func(t corev1.PodConditionType, ok bool, reason, message string) {
		setCondition(pod, st, old, t, ok, reason, message)
	}
	set(corev1.PodReadyToStartContainers, box != nil && !w.stopped, "", "")
	notInitialized, notReady := incomplete(pod, st)
	began := slices.ContainsFunc(st.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.ContainerID != "" })
	switch {
	case st.Phase == corev1.PodSucceeded:
		set(corev1.PodInitialized, true, "PodCompleted", "")
	case len(notInitialized) > 0 && !began && !isTrue(old.Conditions, corev1.PodInitialized):
		set(corev1.PodInitialized, false, "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: [%s]", strings.Join(notInitialized, " ")))
	default:
		set(corev1.PodInitialized, true, "", "")
	}
	ready, reason, message := true, "", ""
	switch {
	case st.Phase == corev1.PodSucceeded:
		ready, reason = false, "PodCompleted"
	case st.Phase == corev1.PodFailed:
		ready, reason = false, "PodFailed"
	case len(notReady) > 0:
		ready, reason = false, "ContainersNotReady"
		message = fmt.Sprintf("containers with unready status: [%s]", strings.Join(notReady, " "))
	}
	set(corev1.ContainersReady, ready, reason, message)
	if gates := closedGates(pod); ready && gates != "" {
		ready, reason, message = false, "ReadinessGatesNotReady", gates
	}
	set(corev1.PodReady, ready, reason, message)
	set(corev1.PodScheduled, true, "", "")
	if c, shown := w.resetCondition(pod, st.Phase); shown {
		set(c.Type, c.Status == corev1.ConditionTrue, c.Reason, c.Message)
	}
	if w.ended != nil && w.ended.condition != nil && over(st.Phase) {
		set(w.ended.condition.Type, true, w.ended.condition.Reason, w.ended.condition.Message)
	}
	resize := w.resizeConditions()
	st.Conditions = slices.DeleteFunc(st.Conditions, func(c corev1.PodCondition) bool {
		return isResize(c.Type) && !slices.ContainsFunc(resize, func(r corev1.PodCondition) bool { return r.Type == c.Type })
	})
	for _, c := range resize {
		set(c.Type, true, c.Reason, c.Message)
	}
}

// isTrue reports whether a condition is there and true.
func isTrue(list []corev1.PodCondition, t corev1.PodConditionType) bool {
	return slices.ContainsFunc(list, func(c corev1.PodCondition) bool { return c.Type == t && c.Status == corev1.ConditionTrue })
}

// setCondition sets one condition of st. The time of its last transition stays while its status is that of
// the server's object or that in the last report, which may be newer.
func setCondition(pod *corev1.Pod, st, old *corev1.PodStatus, t corev1.PodConditionType, ok bool, reason, message string) {
	c := corev1.PodCondition{Type: t, Status: corev1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: pod.Generation}
	if ok {
		c.Status = corev1.ConditionTrue
	}
	c.LastTransitionTime = metav1.Now().Truncated()
	for _, list := range [][]corev1.PodCondition{pod.Status.Conditions, old.Conditions} {
		for _, have := range list {
			if have.Type == t && have.Status == c.Status {
				c.LastTransitionTime = have.LastTransitionTime
			}
		}
	}
	for i := range st.Conditions {
		if st.Conditions[i].Type == t {
			st.Conditions[i] = c
			return
		}
	}
	st.Conditions = append(st.Conditions, c)
}

// incomplete returns the names of the init containers that others still wait for, and of the containers and
// sidecars that are not ready.
func incomplete(pod *corev1.Pod, st *corev1.PodStatus) (notInitialized, notReady []string) {
	for i := range pod.Spec.InitContainers {
		s := &st.InitContainerStatuses[i]
		if isSidecar(&pod.Spec.InitContainers[i]) {
			if s.Started == nil || !*s.Started {
				notInitialized = append(notInitialized, s.Name)
			}
			if !s.Ready {
				notReady = append(notReady, s.Name)
			}
		} else if !s.Ready {
			notInitialized = append(notInitialized, s.Name)
		}
	}
	for i := range st.ContainerStatuses {
		if s := &st.ContainerStatuses[i]; !s.Ready {
			notReady = append(notReady, s.Name)
		}
	}
	return notInitialized, notReady
}

// closedGates says which readiness gates keep a pod from being ready; it is empty if none does.
func closedGates(pod *corev1.Pod) string {
	var closed []string
	for _, g := range pod.Spec.ReadinessGates {
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == g.ConditionType })
		switch {
		case i < 0:
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", g.ConditionType))
		case pod.Status.Conditions[i].Status != corev1.ConditionTrue:
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %s", g.ConditionType, pod.Status.Conditions[i].Status))
		}
	}
	return strings.Join(closed, ", ")
}
