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
		cmp.Compare(boolRank(a.Spec.NodeName != ""), boolRank(b.Spec.NodeName != "")),
		cmp.Compare(phaseRank(a), phaseRank(b)),
		cmp.Compare(boolRank(Ready(a)), boolRank(Ready(b))),
		cmp.Compare(deletionCost(a), deletionCost(b)),
		cmp.Compare(related[b.Spec.NodeName], related[a.Spec.NodeName]),
		cmp.Compare(magnitude(readySince(a), now), magnitude(readySince(b), now)),
		cmp.Compare(restarts(b), restarts(a)),
		cmp.Compare(magnitude(a.CreationTimestamp.Time, now), magnitude(b.CreationTimestamp.Time, now)),
		cmp.Compare(a.UID, b.UID),
	)
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

// magnitude buckets an age by powers of ten of seconds, so that small differences do not decide.
func magnitude(t, now time.Time) int {
	if t.IsZero() {
		return -1
	}
	s := now.Sub(t).Seconds()
	if s < 1 {
		return 0
	}
	return 1 + int(math.Log10(s))
}

func restarts(pod *corev1.Pod) int32 {
	var most int32
	for i := range pod.Status.ContainerStatuses {
		most = max(most, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return most
}
