package statefulset

import (
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// statusOf returns the status, and when a ready pod will become available by itself.
func statusOf(s state) (appsv1.StatefulSetStatus, time.Duration) {
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: s.set.Generation, CurrentRevision: s.currentName, UpdateRevision: s.updateName,
		CollisionCount: s.collisions, Conditions: s.set.Status.Conditions,
	}
	var again time.Duration
	for _, pod := range s.pods {
		status.Replicas++
		if pod.DeletionTimestamp == nil {
			if revisionOf(pod) == s.currentName {
				status.CurrentReplicas++
			}
			if revisionOf(pod) == s.updateName {
				status.UpdatedReplicas++
			}
		}
		if pod.Status.Phase != corev1.PodRunning || !podcontrol.Ready(pod) {
			continue
		}
		status.ReadyReplicas++
		if ok, in := podcontrol.Available(pod, s.set.Spec.MinReadySeconds, s.now); ok {
			status.AvailableReplicas++
		} else if again == 0 || in < again {
			again = in
		}
	}
	// The update is complete when all pods have its template and are ready.
	size := int32(sizeOf(s.set))
	if s.set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType &&
		status.UpdatedReplicas == size && status.ReadyReplicas == size && status.Replicas == size {
		status.CurrentReplicas, status.CurrentRevision = status.UpdatedReplicas, status.UpdateRevision
	}
	return status, again
}
