package replicaset

import (
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// statusOf returns the status after what was done, and when a ready pod will become available by itself.
func statusOf(s *state, workErr error) (appsv1.ReplicaSetStatus, time.Duration) {
	rs := s.rs
	status := appsv1.ReplicaSetStatus{ObservedGeneration: rs.Generation, Replicas: int32(len(s.active)), TerminatingReplicas: &s.terminating}
	var again time.Duration
	for _, pod := range s.active {
		if hasAll(pod.Labels, rs.Spec.Template.Labels) {
			status.FullyLabeledReplicas++
		}
		if !podcontrol.Ready(pod) {
			continue
		}
		status.ReadyReplicas++
		ok, in := podcontrol.Available(pod, rs.Spec.MinReadySeconds, s.now)
		if ok {
			status.AvailableReplicas++
		} else if again == 0 || in < again {
			again = in
		}
	}
	for _, c := range rs.Status.Conditions {
		if c.Type != appsv1.ReplicaSetReplicaFailure {
			status.Conditions = append(status.Conditions, c)
		}
	}
	if workErr != nil {
		reason := "FailedCreate"
		if rs.Spec.Replicas != nil && int(*rs.Spec.Replicas) < len(s.active) {
			reason = "FailedDelete"
		}
		failure := appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: reason,
			Message: workErr.Error(), LastTransitionTime: metav1.Time{Time: s.now}}
		// The first failure stands until all is well: its text names a pod, and each attempt makes another
		// name.
		for _, c := range rs.Status.Conditions {
			if c.Type == failure.Type && c.Status == failure.Status && c.Reason == failure.Reason {
				failure = c
			}
		}
		status.Conditions = append(status.Conditions, failure)
	}
	return status, again
}

func hasAll(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}
