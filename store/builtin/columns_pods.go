package builtin

import (
	"fmt"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/columns"
)

var podTable = columns.Of(podRow, columns.Name(),
	columns.Text("Ready", "Ready containers of all containers."),
	columns.Text("Status", "What the pod is doing, or what keeps it from running."),
	columns.Text("Restarts", "How often containers were restarted, and when last."),
	columns.Age(),
	columns.Wide(columns.Text("IP", "Address of the pod.")),
	columns.Wide(columns.Text("Node", "Node the pod is assigned to.")),
	columns.Wide(columns.Text("Nominated Node", "Node on which room is being made for the pod.")),
	columns.Wide(columns.Text("Readiness Gates", "Readiness gates that are met of all gates."))).WithConditions(podConditions)

func podRow(pod *corev1.Pod, now time.Time) []any {
	s := summarize(pod)
	restarts := strconv.Itoa(s.restarts)
	if s.restarts != 0 && !s.lastRestart.IsZero() {
		restarts = fmt.Sprintf("%d (%s ago)", s.restarts, columns.Since(s.lastRestart, now))
	}
	ip := pod.Status.PodIP
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return []any{
		pod.Name, ratio(int64(s.ready), int64(s.total)), s.reason, restarts, columns.AgeOf(pod, now),
		orElse(ip, none), orElse(pod.Spec.NodeName, none), orElse(pod.Status.NominatedNodeName, none), readinessGates(pod),
	}
}

// podConditions marks the rows of pods that have ended.
func podConditions(obj metav1.Object) []metav1.TableRowCondition {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		return []metav1.TableRowCondition{{Type: "Completed", Status: metav1.ConditionTrue, Reason: "Succeeded", Message: "The pod has ended and succeeded."}}
	case corev1.PodFailed:
		return []metav1.TableRowCondition{{Type: "Completed", Status: metav1.ConditionTrue, Reason: "Failed", Message: "The pod has ended and failed."}}
	}
	return nil
}

type podSummary struct {
	total, ready, restarts int
	lastRestart            time.Time
	reason                 string
}

func (s *podSummary) restarted(c *corev1.ContainerStatus) {
	s.restarts += int(c.RestartCount)
	if end := c.LastTerminationState.Terminated; end != nil && end.FinishedAt.After(s.lastRestart) {
		s.lastRestart = end.FinishedAt.Time
	}
}

// summarize condenses a pod's state to one word and a few counts. While init containers run only
// they count; afterwards the ordinary containers and the sidecars do.
func summarize(pod *corev1.Pod) podSummary {
	sidecars := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars[c.Name] = true
		}
	}
	s := podSummary{total: len(pod.Spec.Containers) + len(sidecars), reason: phaseReason(pod)}
	initializing, sidecarRestarts := s.addInit(pod, sidecars)
	if !initializing || conditionTrue(pod, corev1.PodInitialized) {
		s.restarts, s.lastRestart = sidecarRestarts.restarts, sidecarRestarts.lastRestart
		s.addContainers(pod)
	}
	if pod.DeletionTimestamp != nil {
		switch {
		case pod.Status.Reason == "NodeLost":
			s.reason = "Unknown"
		case !pod.HasEnded():
			s.reason = "Terminating"
		}
	}
	return s
}

func phaseReason(pod *corev1.Pod) string {
	reason := orElse(pod.Status.Reason, string(pod.Status.Phase))
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			reason = corev1.PodReasonSchedulingGated
		}
	}
	return reason
}

// addInit counts init containers up to the first that has not finished, which gives the reason.
// sidecarsOnly is what of it stays counted once the pod is initialized.
func (s *podSummary) addInit(pod *corev1.Pod, sidecars map[string]bool) (initializing bool, sidecarsOnly podSummary) {
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		s.restarted(c)
		if sidecars[c.Name] {
			sidecarsOnly.restarted(c)
		}
		end := c.State.Terminated
		switch {
		case end != nil && end.ExitCode == 0:
			continue
		case sidecars[c.Name] && c.Started != nil && *c.Started:
			if c.Ready {
				s.ready++
			}
			continue
		case end != nil:
			s.reason = "Init:" + exitReason(end)
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			s.reason = "Init:" + c.State.Waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		return true, sidecarsOnly
	}
	return false, sidecarsOnly
}

// addContainers counts the ordinary containers. The first one that has a reason determines it.
func (s *podSummary) addContainers(pod *corev1.Pod) {
	running := false
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &pod.Status.ContainerStatuses[i]
		s.restarted(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.reason = exitReason(c.State.Terminated)
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.reason == "Completed" && running {
		s.reason = "NotReady"
		if conditionTrue(pod, corev1.PodReady) {
			s.reason = "Running"
		}
	}
}

func exitReason(end *corev1.ContainerStateTerminated) string {
	switch {
	case end.Reason != "":
		return end.Reason
	case end.Signal != 0:
		return fmt.Sprintf("Signal:%d", end.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", end.ExitCode)
}

func conditionTrue(pod *corev1.Pod, t corev1.PodConditionType) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == t {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func readinessGates(pod *corev1.Pod) string {
	gates := pod.Spec.ReadinessGates
	if len(gates) == 0 {
		return none
	}
	met := 0
	for _, g := range gates {
		if conditionTrue(pod, g.ConditionType) {
			met++
		}
	}
	return ratio(int64(met), int64(len(gates)))
}
