package replicaset

import (
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// burst bounds how many pods one reconcile creates or deletes.
const burst = 500

// state is what a plan and a status are made of. Writes bring it up to date.
type state struct {
	rs          *appsv1.ReplicaSet
	active      []*corev1.Pod
	terminating int32
	// related is how many active pods of the set and its siblings each node has; only if a plan chooses.
	related map[string]int
	now     time.Time
}

// plan is what to do next: one of the two, or neither.
type plan struct {
	create int
	delete []*corev1.Pod
}

// writes reports whether p changes pods.
func (p *plan) writes() bool { return p.create > 0 || len(p.delete) > 0 }

// stateOf sorts the pods of a set.
func stateOf(rs *appsv1.ReplicaSet, pods []*corev1.Pod, now time.Time) *state {
	s := &state{rs: rs, now: now}
	for _, pod := range pods {
		if podcontrol.Active(pod) {
			s.active = append(s.active, pod)
		} else if pod.DeletionTimestamp != nil && !pod.HasEnded() {
			s.terminating++
		}
	}
	return s
}

// size returns how many pods a set is to have.
func size(rs *appsv1.ReplicaSet) int {
	if rs.Spec.Replicas == nil {
		return 1
	}
	return int(*rs.Spec.Replicas)
}

// chooses reports whether a plan deletes some of the pods, but not all.
func (s *state) chooses() bool {
	surplus := min(len(s.active)-size(s.rs), burst)
	return surplus > 0 && surplus < len(s.active)
}

// decide returns what to do.
func decide(s *state) plan {
	missing := size(s.rs) - len(s.active)
	if missing >= 0 {
		return plan{create: min(missing, burst)}
	}
	pods := slices.Clone(s.active)
	if s.chooses() {
		podcontrol.RankForDeletion(pods, s.related, s.now)
	}
	return plan{delete: pods[:min(-missing, burst)]}
}
