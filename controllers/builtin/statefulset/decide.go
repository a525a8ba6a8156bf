package statefulset

import (
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// state is what a plan and a status are made of.
type state struct {
	set                     *appsv1.StatefulSet
	pods                    []*corev1.Pod // those of the set, those being deleted too
	currentName, updateName string        // revisions; the same after an update
	collisions              *int32
	now                     time.Time
}

// plan is what to do next. Its parts are done in this order.
type plan struct {
	create []creation
	// provide are pending pods whose claims may be missing.
	provide []*corev1.Pod
	// check are pods whose identity and claims are to be as the set says.
	check []*corev1.Pod
	// condemned are pods beyond the size, whose claims get them as owners if they are to go with them.
	condemned []*corev1.Pod
	delete    []*corev1.Pod
}

// creation is a pod to create.
type creation struct {
	ordinal int
	current bool // of the current revision, not of the update
}

// decide returns what to do.
func decide(s state) plan {
	var p plan
	replicas, condemned := s.split()
	ordered := s.set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	for i, pod := range replicas {
		if p.keep(s, pod, startOf(s.set)+i) && ordered {
			return p
		}
	}
	p.condemned = condemned
	if ordered {
		if len(condemned) > 0 {
			p.shrinkInOrder(s, condemned)
			return p
		}
	} else {
		for _, pod := range condemned {
			if pod.DeletionTimestamp == nil {
				p.delete = append(p.delete, pod)
			}
		}
	}
	p.update(s, replicas)
	return p
}

// split returns the pods by their place, nil where there is none, and those beyond the size, the highest
// ordinal first.
func (s *state) split() (replicas, condemned []*corev1.Pod) {
	replicas = make([]*corev1.Pod, sizeOf(s.set))
	for _, pod := range s.pods {
		if i := ordinalOf(s.set, pod) - startOf(s.set); i >= 0 && i < len(replicas) {
			replicas[i] = pod
		} else {
			condemned = append(condemned, pod)
		}
	}
	slices.SortFunc(condemned, func(a, b *corev1.Pod) int { return ordinalOf(s.set, b) - ordinalOf(s.set, a) })
	return replicas, condemned
}

func sizeOf(set *appsv1.StatefulSet) int {
	if set.Spec.Replicas == nil {
		return 1
	}
	return int(*set.Spec.Replicas)
}

// keep plans what a place needs and reports whether the following ones must wait for it in order.
func (p *plan) keep(s state, pod *corev1.Pod, ordinal int) (wait bool) {
	if pod == nil {
		p.create = append(p.create, creation{ordinal, s.keepsCurrent(ordinal)})
		return true
	}
	if pod.HasEnded() {
		// Its name is free when it has been removed.
		if pod.DeletionTimestamp == nil {
			p.delete = append(p.delete, pod)
		}
		return true
	}
	if pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
		p.provide = append(p.provide, pod)
	}
	available := s.available(pod)
	if available || s.set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement {
		p.check = append(p.check, pod)
	}
	return !available
}

// keepsCurrent reports whether a new pod of an ordinal gets the current revision.
func (s *state) keepsCurrent(ordinal int) bool {
	u := &s.set.Spec.UpdateStrategy
	if u.Type != appsv1.RollingUpdateStatefulSetStrategyType {
		return false
	}
	if u.RollingUpdate == nil || u.RollingUpdate.Partition == nil {
		return ordinal < startOf(s.set)+int(s.set.Status.CurrentReplicas)
	}
	return ordinal < startOf(s.set)+int(*u.RollingUpdate.Partition)
}

// shrinkInOrder plans the end of the highest pod beyond the size, once all others are available. Only if it
// is the first one that is not, it need not be.
func (p *plan) shrinkInOrder(s state, condemned []*corev1.Pod) {
	last := condemned[0]
	if last.DeletionTimestamp != nil {
		return
	}
	if !s.available(last) {
		for _, pod := range condemned[1:] {
			if !s.available(pod) {
				return
			}
		}
	}
	p.delete = append(p.delete, last)
}

// update plans the end of pods with another template than that of the update, the highest ordinal first.
func (p *plan) update(s state, replicas []*corev1.Pod) {
	u := &s.set.Spec.UpdateStrategy
	if u.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return
	}
	partition, down := 0, 0
	if u.RollingUpdate != nil && u.RollingUpdate.Partition != nil {
		partition = int(*u.RollingUpdate.Partition)
	}
	for _, pod := range replicas {
		if pod == nil || !s.available(pod) {
			down++
		}
	}
	for i := len(replicas) - 1; i >= partition; i-- {
		pod := replicas[i]
		if pod == nil || pod.DeletionTimestamp != nil || revisionOf(pod) == s.updateName || slices.Contains(p.delete, pod) {
			continue
		}
		if s.available(pod) {
			if down >= maxUnavailable(s.set) {
				continue
			}
			down++
		}
		p.delete = append(p.delete, pod)
	}
}

// maxUnavailable returns how many pods an update may take away at a time, at least one. Percentages are
// rounded down.
func maxUnavailable(set *appsv1.StatefulSet) int {
	u := set.Spec.UpdateStrategy.RollingUpdate
	if u == nil || u.MaxUnavailable == nil {
		return 1
	}
	n, err := intstr.ScaledValue(*u.MaxUnavailable, sizeOf(set), false)
	if err != nil {
		return 1 // unreachable: validation refuses what does not parse
	}
	return max(n, 1)
}

// available reports whether a pod runs, has been ready for minReadySeconds, and is not being deleted.
func (s *state) available(pod *corev1.Pod) bool {
	ok, _ := podcontrol.Available(pod, s.set.Spec.MinReadySeconds, s.now)
	return ok && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
}
