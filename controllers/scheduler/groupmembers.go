package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers"
)

// members are the pods of groups that are ours to place and that the API shows on no node: those that wait,
// those that are kept out of the queue, and those that are being bound.
type members struct {
	of    map[types.NamespacedName]map[types.UID]*groupMember
	group map[types.UID]types.NamespacedName
	// complete are the groups that were complete when that was looked at last.
	complete map[types.NamespacedName]bool
}

type groupMember struct {
	*Pod
	// mine is false for a pod that is not to be placed for other reasons than its group.
	mine bool
}

func newMembers() members {
	return members{of: map[types.NamespacedName]map[types.UID]*groupMember{}, group: map[types.UID]types.NamespacedName{}, complete: map[types.NamespacedName]bool{}}
}

func (m *members) set(p *groupMember) {
	uid := p.pod.UID
	m.group[uid] = p.group
	if m.of[p.group] == nil {
		m.of[p.group] = map[types.UID]*groupMember{}
	}
	m.of[p.group][uid] = p
}

// remove returns the group that the pod was in.
func (m *members) remove(uid types.UID) (group types.NamespacedName, removed bool) {
	if group, removed = m.group[uid]; !removed {
		return group, false
	}
	delete(m.group, uid)
	if delete(m.of[group], uid); len(m.of[group]) == 0 {
		delete(m.of, group)
	}
	return group, true
}

// podGroups is the resource of PodGroups, which schemes need not have.
var podGroups = client.Resource{GVR: schedulingv1alpha2.GroupVersion.WithResource("podgroups"), GVK: schedulingv1alpha2.GroupVersion.WithKind("PodGroup"), Namespaced: true}

// grouped reports whether a pod is scheduled with a group.
func (s *Scheduler) grouped(p *Pod) bool { return s.opts.PodGroups && p.group.Name != "" }

func (s *Scheduler) onPodGroup(e informers.Event[*schedulingv1alpha2.PodGroup]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Type == informers.Deleted {
		s.cluster.setPodGroup(e.Key, nil)
	} else if obj := e.New(); obj != nil {
		s.cluster.setPodGroup(e.Key, obj)
	}
	s.regroup(e.Key)
}

// complete reports whether the group of a pod has no reason to keep it out of the queue. s.mu is held.
func (s *Scheduler) complete(p *Pod) bool {
	profile := s.profileOf(p)
	return profile == nil || !profile.gangEnqueue || s.allThere(p.group)
}

// allThere reports whether there is the PodGroup, and of a gang as many pods as it needs. s.mu is held.
func (s *Scheduler) allThere(key types.NamespacedName) bool {
	obj := s.cluster.groupObject(key)
	if obj == nil {
		return false
	}
	waiting := s.members.of[key]
	all := len(waiting)
	if g := s.cluster.podGroups[key]; g != nil {
		for uid := range g.placed {
			if waiting[uid] == nil {
				all++
			}
		}
	}
	return all >= minCount(obj)
}

// joins takes in a pod of a group that is on no node, and reports whether it may be in the queue. s.mu is
// held.
func (s *Scheduler) joins(p *Pod, mine bool) bool {
	uid := p.pod.UID
	if p.pod.HasEnded() {
		s.members.remove(uid)
		s.regroup(p.group)
		return false
	}
	s.members.set(&groupMember{p, mine})
	s.regroup(p.group)
	_, trying := s.queue.has(uid)
	_, placed := s.assumed[uid]
	return mine && (trying || placed || s.complete(p))
}

// regroup lets the pods of a group enter the queue when it is complete, and takes them out when it is not any
// more. s.mu is held.
func (s *Scheduler) regroup(key types.NamespacedName) {
	complete := len(s.members.of[key]) > 0 && s.allThere(key)
	if complete == s.members.complete[key] {
		return
	}
	if delete(s.members.complete, key); complete {
		s.members.complete[key] = true
	}
	list := []*groupMember{}
	for _, p := range s.members.of[key] {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *groupMember) int {
		return cmp.Or(a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), a.pod.Key().Compare(b.pod.Key()))
	})
	for _, p := range list {
		s.admit(p)
	}
}

// admit lets a pod of a group enter the queue, or takes it out, as its group says. s.mu is held.
func (s *Scheduler) admit(p *groupMember) {
	there, trying := s.queue.has(p.pod.UID)
	_, placed := s.assumed[p.pod.UID]
	switch enters := p.mine && s.complete(p.Pod); {
	case trying || placed || there == enters:
	case enters:
		s.renominate(p.Pod)
		s.queue.set(p.Pod, true)
	case p.mine:
		s.queue.gate(p.Pod, gangScheduling, false)
	default:
		s.queue.remove(p.pod.UID)
	}
}

// backOff lets a pod be tried again after its back-off, if its group is still complete.
func (s *Scheduler) backOff(t *try) {
	s.queue.backedOff(t)
	if !s.grouped(t.Pod) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.members.of[t.group][t.pod.UID]; p != nil {
		s.admit(p)
	}
}

// gangWait is how long a placed pod of a gang waits for others whose placement was taken back.
const gangWait = 5 * time.Minute

// quorum notes that no other Permit plugin has refused a pod of a group, and lets the pods of its gang be
// bound when enough have got so far. Until then the pod waits.
func (s *Scheduler) quorum(p *Pod) (wait time.Duration, st *Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, placed := s.assumed[p.pod.UID]
	obj := s.cluster.groupObject(p.group)
	if obj == nil || !placed {
		return 0, refusal(Error, gangScheduling, "failed to get podGroup "+p.group.String()+": it is not there")
	}
	a.passed = true
	s.assumed[p.pod.UID] = a
	var free []types.UID
	count := 0
	for uid, m := range s.cluster.podGroups[p.group].placed {
		switch passed := s.assumed[uid].passed; {
		case passed:
			free = append(free, uid)
			count++
		case m.pod.Spec.NodeName != "":
			count++
		}
	}
	if count < minCount(obj) {
		return gangWait, nil
	}
	for _, uid := range free {
		s.Allow(uid, gangScheduling)
	}
	return 0, nil
}
