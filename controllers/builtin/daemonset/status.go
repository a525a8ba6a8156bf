package daemonset

import (
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// statusOf returns the status, and when a ready pod will become available by itself. Of several pods of a
// node the oldest counts.
func statusOf(s *state) (appsv1.DaemonSetStatus, time.Duration) {
	status := appsv1.DaemonSetStatus{ObservedGeneration: s.set.Generation, CollisionCount: s.set.Status.CollisionCount, Conditions: s.set.Status.Conditions}
	if *s.collisions > 0 {
		status.CollisionCount = s.collisions
	}
	var again time.Duration
	byNode := s.byNode()
	for _, node := range s.nodes {
		pods := byNode[node]
		if !s.reaches[node].should {
			if len(pods) > 0 {
				status.NumberMisscheduled++
			}
			continue
		}
		status.DesiredNumberScheduled++
		if len(pods) == 0 {
			continue
		}
		status.CurrentNumberScheduled++
		if hashOf(pods[0]) == s.hash {
			status.UpdatedNumberScheduled++
		}
		// A younger pod of the node, beside an old one, becomes available too.
		for i, pod := range pods {
			if !podcontrol.Ready(pod) {
				continue
			}
			ok, in := podcontrol.Available(pod, s.set.Spec.MinReadySeconds, s.now)
			if !ok && (again == 0 || in < again) {
				again = in
			}
			if i == 0 {
				status.NumberReady++
				if ok {
					status.NumberAvailable++
				}
			}
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	return status, again
}
