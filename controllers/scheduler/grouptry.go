package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// groupTry is one attempt to place the pods of a group that wait.
type groupTry struct {
	*groupDecision
	group   *PodGroup
	uid     types.UID // of the PodGroup
	profile *Profile
	tries   []*try // as long as the group's pods, in their order
	// mixed is set if the pods cannot be scheduled together.
	mixed *Status
	// aside is set for what was decided on a copy of the cluster.
	aside   bool
	began   time.Time
	decided time.Duration
}

// tryGroup places the pods of the group of one that is to be tried. Whatever may take long is run by spawn.
func (s *Scheduler) tryGroup(ctx context.Context, first *try, spawn func(func()), slots, searches chan struct{}) {
	a := s.takeGroup(first)
	if len(a.tries) == 0 || s.halfTried(a) {
		return
	}
	if a.mixed = s.mixed(a); a.mixed != nil {
		a.groupDecision = &groupDecision{status: a.mixed}
	} else if !s.longDecision(a) {
		s.decideGroup(a)
	}
	if a.mixed == nil && s.longDecision(a) {
		spawn(func() {
			searches <- struct{}{}
			s.decideGroupAside(ctx, a)
			if <-searches; ctx.Err() == nil {
				s.carryOutGroup(ctx, a, spawn, slots)
			}
		})
		return
	}
	s.carryOutGroup(ctx, a, spawn, slots)
}

// takeGroup takes the pods of a group out of the queue that wait there, those of higher priority first.
func (s *Scheduler) takeGroup(first *try) *groupTry {
	began, tries := time.Now(), s.takeMembers(first.group)
	tries = slices.DeleteFunc(tries, func(t *try) bool { return !s.enters(t) })
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &groupTry{group: &PodGroup{cluster: s.cluster, key: first.group}, tries: append(tries, first), began: began}
	a.tries = slices.DeleteFunc(a.tries, func(t *try) bool { return !s.queue.holds(t.entry, t.pod.UID) })
	slices.SortFunc(a.tries, func(x, y *try) int {
		return cmp.Or(cmp.Compare(y.priority, x.priority), cmp.Compare(x.entry.serial, y.entry.serial))
	})
	if obj := a.group.Object(); obj != nil {
		a.uid = obj.UID
	}
	for _, t := range a.tries {
		a.profile = s.profileOf(t.Pod)
		a.group.pods = append(a.group.pods, t.Pod)
	}
	return a
}

func (s *Scheduler) takeMembers(group types.NamespacedName) (out []*try) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range s.members.of[group] {
		if t := s.queue.take(uid); t != nil {
			out = append(out, t)
		}
	}
	return out
}

// groupPostponed is how long a group waits at most whose last try is not over.
const groupPostponed = 100 * time.Millisecond

// halfTried reports whether the last try of a group is not over: what became of some of its pods is being
// written. The others are put back then, and tried with these: a part of a group may be refused where the
// whole has room, and would give up the room that is kept for it.
func (s *Scheduler) halfTried(a *groupTry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	half := false
	for uid := range s.members.of[a.group.key] {
		_, trying := s.queue.has(uid)
		_, placed := s.assumed[uid]
		if trying && !placed && !slices.ContainsFunc(a.tries, func(t *try) bool { return t.pod.UID == uid }) {
			half = true
			s.queue.hurry(uid)
		}
	}
	if half {
		for _, t := range a.tries {
			s.queue.postpone(t, groupPostponed)
		}
	}
	return half
}

// mixed says that the pods of a group are not all of one scheduler name.
func (s *Scheduler) mixed(a *groupTry) *Status {
	for _, t := range a.tries {
		if name := t.pod.Spec.SchedulerName; name != a.tries[0].pod.Spec.SchedulerName {
			return NewStatus(Error, fmt.Sprintf("all pods in a single pod group should have the same .spec.schedulerName set, got: %q and %q",
				a.tries[0].pod.Spec.SchedulerName, name))
		}
	}
	return nil
}

// decideGroup decides about a group and assumes its placements, so that the next decision already counts
// them.
func (s *Scheduler) decideGroup(a *groupTry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	decided := time.Now()
	s.inTime(a, func() {
		end := s.cluster.devices.limits.begin(s.searchBudget)
		defer end()
		a.groupDecision = s.cluster.decideGroup(a.profile, a.group, s.opts.PodGroupPreemption)
		end() // what was found is found again
		a.decided = time.Since(decided)
		s.assumeGroup(a)
	})
}

// inTime runs the decision about a group; if a plugin takes too long, that is what is decided. s.mu is held.
func (s *Scheduler) inTime(a *groupTry, f func()) {
	o := outcome{profile: a.profile}
	if s.within(&o, f) {
		return
	}
	if a.groupDecision != nil { // the placements are gone, but what plugins hold for them is not
		for i, m := range a.members {
			if m.Node != "" {
				delete(s.assumed, a.tries[i].pod.UID)
				s.late.Go(func() { s.unreserve(a.profile, m.pod, m.Node) })
			}
		}
	}
	a.groupDecision = &groupDecision{status: o.failed}
}

// assumeGroup places the pods of a group that has room, or keeps the room that is being made for it. s.mu is
// held.
func (s *Scheduler) assumeGroup(a *groupTry) {
	switch {
	case a.waits:
		s.keepGroupRoom(a)
		return
	case !a.status.OK():
		for _, t := range a.tries {
			if s.cluster.unnominate(t.pod.UID) != nil {
				s.queue.happened(&Event{Kind: AssignedPodDelete, OldPod: t.pod})
			}
		}
		return
	}
	for i, m := range a.members {
		if m.on != "" && a.aside {
			s.cluster.devices.settled = m.settled()
		}
		if m.on != "" {
			s.assume(a.tries[i], &m.outcome, m.on)
		}
	}
	if ok, _ := s.cluster.permits(a.profile, a.group); ok {
		return
	}
	// Reserve plugins have refused so many that the others must not be bound.
	a.status = NewStatus(Unschedulable, groupUnschedulable)
	for i, m := range a.members {
		if m.Node != "" {
			node := m.Node
			m.Node, m.permitted = "", false
			s.takeBack(a.tries[i].pod, false)
			s.cluster.cycle(a.profile).unreserve(a.profile.reserve, m.pod, node)
		}
	}
}

// keepGroupRoom keeps the room of a group until its victims are gone. s.mu is held.
func (s *Scheduler) keepGroupRoom(a *groupTry) {
	c := s.cluster
	for i, m := range a.members {
		if m.on == "" {
			continue
		}
		c.spend(m.ending)
		m.room(c, c.nominations.extend(a.tries[i].Pod, m.on, m.ending))
	}
}

// carryOutGroup writes what was decided.
func (s *Scheduler) carryOutGroup(ctx context.Context, a *groupTry, spawn func(func()), slots chan struct{}) {
	for i, t := range a.tries {
		m := &member{pod: t.Pod, outcome: outcome{profile: a.profile}}
		if i < len(a.members) {
			m = a.members[i]
		}
		o := &m.outcome
		if o.Node == "" {
			s.reportMember(a, t, m)
		}
		s.measure(o, a.began)
		spawn(func() { s.finishMember(ctx, t, o, slots) })
	}
	if a.mixed != nil {
		return
	}
	s.measureGroup(a)
	spawn(func() {
		slots <- struct{}{}
		defer func() { <-slots }()
		s.writeGroup(ctx, a)
		s.evictForGroup(ctx, a)
	})
}

func (s *Scheduler) finishMember(ctx context.Context, t *try, o *outcome, slots chan struct{}) {
	if o.Node != "" && !s.prepare(ctx, t, o) {
		return
	}
	slots <- struct{}{}
	defer func() { <-slots }()
	s.carryOut(ctx, t, o)
}

// reportMember records why a pod of a group was not placed.
func (s *Scheduler) reportMember(a *groupTry, t *try, m *member) {
	switch o := &m.outcome; {
	case o.failed != nil:
		o.message = o.failed.Message()
	case m.on == "" && len(o.Reasons) == 0, a.status != nil && a.status.Code == Error:
		o.message = a.status.Message()
		if a.status.Code == Error {
			o.failed = a.status
		}
	case a.status.OK() && m.on != "": // refused by a Reserve plugin
		o.message = o.Message()
	default:
		o.message = m.why(a.groupDecision)
	}
	s.recorders[t.pod.Spec.SchedulerName].Eventf(t.pod, corev1.EventTypeWarning, "FailedScheduling", "%s", m.message)
}

func (s *Scheduler) measureGroup(a *groupTry) {
	f := s.opts.Metrics.GroupAttempt
	if f == nil {
		return
	}
	result := "scheduled"
	switch {
	case a.waits:
		result = "waiting_on_preemption"
	case a.status != nil && a.status.Code == Error:
		result = "error"
	case !a.status.OK():
		result = "unschedulable"
	}
	f(a.profile.name, result, a.decided, time.Since(a.began))
}

// writeGroup writes the condition of the PodGroup. One that says it is scheduled stays, whatever becomes of
// further pods.
func (s *Scheduler) writeGroup(ctx context.Context, a *groupTry) {
	next := metav1.Condition{Type: schedulingv1alpha2.PodGroupScheduled, Status: metav1.ConditionTrue, Reason: schedulingv1alpha2.ReasonScheduled}
	if !a.status.OK() {
		next.Status, next.Reason, next.Message = metav1.ConditionFalse, schedulingv1alpha2.ReasonUnschedulable, a.status.Message()
		if a.status.Code == Error {
			next.Reason = schedulingv1alpha2.ReasonSchedulerError
		}
	}
	_, err := client.UpdateStatus(ctx, s.groups, a.group.key, func(live *schedulingv1alpha2.PodGroup) error {
		next := next
		next.ObservedGeneration = live.Generation
		have := metav1.FindCondition(live.Status.Conditions, next.Type)
		stays := have != nil && have.Status == metav1.ConditionTrue && next.Status != metav1.ConditionTrue
		if stays || !metav1.SetCondition(&live.Status.Conditions, next) {
			return client.ErrNoChange
		}
		return nil
	})
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
		s.log.Warn("write condition of PodGroup failed", "namespace", a.group.key.Namespace, "name", a.group.key.Name, "err", err)
	}
}

// evictForGroup ends the victims of a group. Those that are not ended are found again by the next try.
func (s *Scheduler) evictForGroup(ctx context.Context, a *groupTry) {
	if !a.waits || len(a.ending) == 0 {
		return
	}
	by := preemptor{kind: "podgroup", uid: a.uid, scheduler: a.profile.name, on: "cluster", pods: a.tries}
	var victims []*corev1.Pod
	for _, v := range a.ending {
		if v.pod.DeletionTimestamp == nil {
			victims = append(victims, v.pod)
		}
	}
	if err := s.evict(ctx, &by, victims); err != nil && ctx.Err() == nil {
		s.log.Warn("preemption for PodGroup failed", "namespace", a.group.key.Namespace, "name", a.group.key.Name, "err", err)
	}
}
