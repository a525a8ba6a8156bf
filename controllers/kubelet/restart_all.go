package kubelet

import (
	"context"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client/events"
)

// What a status shows of containers that are removed to be started again with all others.
const (
	restartingAll        = "RestartingAllContainers"
	restartingAllMessage = "The container is removed because RestartAllContainers in place"
)

// ruleFor is the first rule of a container for an exit code; nil if there is none.
func ruleFor(c *corev1.Container, exitCode int32) *corev1.ContainerRestartRule {
	for i := range c.RestartPolicyRules {
		r := &c.RestartPolicyRules[i]
		if r.ExitCodes != nil && slices.Contains(r.ExitCodes.Values, exitCode) == (r.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
			return r
		}
	}
	return nil
}

// restartsAll reports whether the end of a run demands that all containers of its pod start again.
func restartsAll(c *corev1.Container, run *container) bool {
	if !run.exited() {
		return false
	}
	r := ruleFor(c, run.exitCode)
	return r != nil && r.Action == corev1.ContainerRestartRuleActionRestartAllContainers
}

// seeReset notes whether all containers of the pod are to start again: since one has ended so, or because the
// status shows that an earlier kubelet had begun with it, until none is left.
func (w *worker) seeReset(pod *corev1.Pod, v *view) {
	if !corev1.MayRestartAllContainers(&pod.Spec) {
		w.resetting = false
		return
	}
	left := false
	for c := range containersOf(pod) {
		run := v.latest(c.Name)
		left = left || run != nil
		w.resetting = w.resetting || restartsAll(c, run)
	}
	w.resetting = w.resetting && left
}

// reset removes all runs of the pod's containers, those that demand it last: if this kubelet ends meanwhile,
// the next one sees them. The logs stay.
func (w *worker) reset(ctx context.Context, pod *corev1.Pod, v *view) error {
	var order [4][]killing
	for i, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for j := range list {
			c := &list[j]
			for _, run := range v.runs(c.Name) {
				at := i
				if restartsAll(c, run) {
					at += 2
				}
				order[at] = append(order[at], killing{spec: c, run: run, grace: new(int64(0))})
			}
		}
	}
	for _, kill := range slices.Concat(order[:]...) {
		if !kill.run.exited() {
			w.k.recorder.About(w.about(pod, kill.spec.Name), nil, events.Normal, "Killing", "killing")
			if err := w.kill(ctx, pod, kill); err != nil {
				return err
			}
		}
		if err := w.k.removeContainer(ctx, kill.run); err != nil {
			return err
		}
		delete(w.hooked, kill.run.id)
		delete(w.messages, kill.run.id)
	}
	clear(w.waiting)
	now, err := w.k.views.now(ctx, w.uid)
	if err != nil {
		return err
	}
	w.report(ctx, pod, now)
	w.poke() // they may start
	return nil
}

// removedToRestart is the status of a container that has been removed to be started again with all others.
func removedToRestart(c *corev1.Container, old *corev1.ContainerStatus) corev1.ContainerStatus {
	st := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Started: new(false), RestartCount: old.RestartCount + 1, VolumeMounts: old.VolumeMounts}
	st.State.Waiting = &corev1.ContainerStateWaiting{Reason: restartingAll, Message: restartingAllMessage}
	st.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: restartingAll, Message: restartingAllMessage, ExitCode: 137}
	return st
}

// resetCondition says that a pod starts all of its containers again, or does not, if it has a rule for that.
func (w *worker) resetCondition(pod *corev1.Pod, phase corev1.PodPhase) (c corev1.PodCondition, shown bool) {
	c = corev1.PodCondition{Type: corev1.AllContainersRestarting, Status: corev1.ConditionFalse}
	switch {
	case phase == corev1.PodFailed:
		c.Reason = "PodFailed"
	case phase == corev1.PodSucceeded:
		c.Reason = "PodCompleted"
	case w.resetting:
		c.Status, c.Reason, c.Message = corev1.ConditionTrue, "RestartAllContainersStarted", "container exited with restart policy rule"
	}
	return c, corev1.MayRestartAllContainers(&pod.Spec)
}
