package podcontrol

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// DeletionCostAnnotation ranks pods of equal state: lower is deleted first; 0 without it.
const DeletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost"

func compareForDeletion(a, b *corev1.Pod, related map[string]int, now time.Time) int {
	return cmp.Or(
		compareStates(a, b),
		cmp.Compare(deletionCost(a), deletionCost(b)),
		cmp.Compare(related[b.Spec.NodeName], related[a.Spec.NodeName]),
		cmp.Compare(magnitude(readySince(a), now), magnitude(readySince(b), now)),
		compareRestarts(a, b),
		cmp.Compare(magnitude(a.CreationTimestamp.Time, now), magnitude(b.CreationTimestamp.Time, now)),
		cmp.Compare(a.UID, b.UID),
	)
}

func compareActive(a, b *corev1.Pod) int {
	return cmp.Or(
		compareStates(a, b),
		compareTimes(readySince(a), readySince(b)),
		compareRestarts(a, b),
		compareTimes(a.CreationTimestamp.Time, b.CreationTimestamp.Time),
		cmp.Compare(a.UID, b.UID),
	)
}

func compareStates(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(boolRank(a.Spec.NodeName != ""), boolRank(b.Spec.NodeName != "")),
		cmp.Compare(phaseRank(a), phaseRank(b)),
		cmp.Compare(boolRank(Ready(a)), boolRank(Ready(b))),
	)
}

func compareRestarts(a, b *corev1.Pod) int {
	containerA, sidecarA := restarts(a)
	containerB, sidecarB := restarts(b)
	return cmp.Or(cmp.Compare(containerB, containerA), cmp.Compare(sidecarB, sidecarA))
}

// compareTimes puts no time first, and then the later one.
func compareTimes(a, b time.Time) int {
	return cmp.Or(cmp.Compare(boolRank(!a.IsZero()), boolRank(!b.IsZero())), b.Compare(a))
}

func boolRank(v bool) int {
	if v {
		return 1
	}
	return 0
}

func phaseRank(pod *corev1.Pod) int {
	switch pod.Status.Phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	}
	return 0
}

func deletionCost(pod *corev1.Pod) int32 {
	v, err := strconv.ParseInt(pod.Annotations[DeletionCostAnnotation], 10, 32)
	if err != nil {
		return 0
	}
	return int32(v)
}

func readySince(pod *corev1.Pod) time.Time {
	if !Ready(pod) {
		return time.Time{}
	}
	return Condition(pod, corev1.PodReady).LastTransitionTime.Time
}

// magnitude buckets an age by powers of two of nanoseconds, so that small differences do not decide. In a
// bucket other properties do; upstream's comparison goes to the uid there, which is no order.
func magnitude(t, now time.Time) int {
	if t.IsZero() {
		return -2
	}
	age := now.Sub(t)
	if age <= 0 {
		return -1
	}
	return int(math.Log2(float64(age)))
}

// restarts returns the most restarts of a container, and of a sidecar.
func restarts(pod *corev1.Pod) (container, sidecar int32) {
	for i := range pod.Status.ContainerStatuses {
		container = max(container, pod.Status.ContainerStatuses[i].RestartCount)
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		for j := range pod.Status.InitContainerStatuses {
			if s := &pod.Status.InitContainerStatuses[j]; s.Name == c.Name {
				sidecar = max(sidecar, s.RestartCount)
			}
		}
	}
	return container, sidecar
}
