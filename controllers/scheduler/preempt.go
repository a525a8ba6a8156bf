package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// preemption is a set of pods whose removal makes a node feasible.
type preemption struct {
	node    *node
	victims []*placed
}

// preempt finds the node where the fewest and least important pods must go for p to fit. Pods of equal or higher
// priority are never touched. It changes nothing.
func (s *scheduler) preempt(p *queued, d *Decision) (victims []*corev1.Pod, on string) {
	pod := p.pod
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever {
		return nil, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Room that is being made for the pod already is waited for.
	if n := s.cluster.nodes[pod.Status.NominatedNodeName]; n != nil {
		for _, o := range n.pods {
			if o.pod.DeletionTimestamp != nil && priorityOf(o.pod) < priorityOf(pod) {
				return nil, ""
			}
		}
	}
	var best *preemption
	for _, n := range d.mendable {
		if n.obj == nil || s.cluster.nodes[n.name] != n {
			continue
		}
		if c := s.cluster.victimsOn(p.info, n); c != nil && (best == nil || comparePreemptions(c, best) < 0) {
			best = c
		}
	}
	if best == nil {
		return nil, ""
	}
	for _, v := range best.victims {
		victims = append(victims, v.pod)
	}
	return victims, best.node.name
}

// preemptionMessage says why making room was no way out.
func (d *Decision) preemptionMessage(pod *corev1.Pod) string {
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever {
		return "not eligible due to preemptionPolicy=Never."
	}
	var parts []string
	if n := len(d.mendable); n > 0 {
		parts = append(parts, fmt.Sprintf("%d No preemption victims found for incoming pod", n))
	}
	if n := d.Nodes - len(d.mendable); n > 0 {
		parts = append(parts, fmt.Sprintf("%d Preemption is not helpful for scheduling", n))
	}
	slices.Sort(parts)
	return fmt.Sprintf("0/%d nodes are available: %s.", d.Nodes, strings.Join(parts, ", "))
}

// victimsOn removes every less important pod from n, and if the pod then fits, puts back as many as it still fits
// beside, the most important first. The cluster is as before when it returns.
func (c *Cluster) victimsOn(info *podInfo, n *node) *preemption {
	var lower []*placed
	for _, o := range n.pods {
		if priorityOf(o.pod) < priorityOf(info.pod) {
			lower = append(lower, o)
		}
	}
	if len(lower) == 0 {
		return nil
	}
	for _, o := range lower {
		c.RemovePod(o.pod.UID)
	}
	fits := func() bool {
		d := &decision{cluster: c, info: info}
		d.prepareAffinity()
		d.prepareSpread()
		reasons, _ := d.filter(n)
		return len(reasons) == 0
	}
	if !fits() {
		for _, o := range lower {
			c.place(o.podInfo, n.name)
		}
		return nil
	}
	slices.SortFunc(lower, func(a, b *placed) int {
		return cmp.Or(cmp.Compare(priorityOf(b.pod), priorityOf(a.pod)), startOf(a.pod).Compare(startOf(b.pod).Time), cmp.Compare(a.pod.UID, b.pod.UID))
	})
	out := &preemption{node: n}
	for _, o := range lower {
		c.place(o.podInfo, n.name)
		if !fits() {
			c.RemovePod(o.pod.UID)
			out.victims = append(out.victims, o)
		}
	}
	for _, o := range out.victims {
		c.place(o.podInfo, n.name)
	}
	return out
}

func startOf(pod *corev1.Pod) metav1.Time {
	if pod.Status.StartTime != nil {
		return *pod.Status.StartTime
	}
	return pod.CreationTimestamp
}

// comparePreemptions prefers the one whose most important victim is least important, then the smaller sum of priorities, then
// fewer victims, then the one whose most important victims started last.
func comparePreemptions(a, b *preemption) int {
	top := func(p *preemption) int32 {
		if len(p.victims) == 0 {
			return -1 << 31
		}
		return priorityOf(p.victims[0].pod)
	}
	sum := func(p *preemption) (n int64) {
		for _, v := range p.victims {
			n += int64(priorityOf(v.pod)) + 1<<31 // every victim counts, even of negative priority
		}
		return n
	}
	started := func(p *preemption) metav1.Time {
		if len(p.victims) == 0 {
			return metav1.Time{}
		}
		return startOf(p.victims[0].pod)
	}
	return cmp.Or(cmp.Compare(top(a), top(b)), cmp.Compare(sum(a), sum(b)), cmp.Compare(len(a.victims), len(b.victims)),
		started(b).Compare(started(a).Time), cmp.Compare(a.node.name, b.node.name))
}

// evict marks the victims and deletes them.
func (s *scheduler) evict(ctx context.Context, pod *corev1.Pod, victims []*corev1.Pod, node string) error {
	for _, v := range victims {
		live, err := s.pods.Get(ctx, v.Key())
		if apierrors.IsNotFound(err) || err == nil && live.UID != v.UID {
			continue
		}
		if err != nil {
			return err
		}
		live.Status.Conditions = append(live.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: "PreemptionByScheduler", Message: s.opts.Name + ": preempting to accommodate a higher priority pod", LastTransitionTime: metav1.Now(), ObservedGeneration: live.Generation})
		if _, err := s.pods.UpdateStatus(ctx, live); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
		err = s.pods.Delete(ctx, v.Key(), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &v.UID}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
		s.recorder.Eventf(v, corev1.EventTypeNormal, "Preempted", "Preempted by pod %s on node %s", pod.UID, node)
	}
	return nil
}
