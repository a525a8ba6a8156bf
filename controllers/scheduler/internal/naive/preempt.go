package naive

import (
	"cmp"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// preemption is a set of pods whose removal makes a node feasible.
type preemption struct {
	node *node
	// victims are to be deleted, the most important first; the first violating ones in spite of a disruption
	// budget.
	victims   []*placed
	violating int
}

func mayPreempt(pod *corev1.Pod) bool {
	return pod.Spec.PreemptionPolicy == nil || *pod.Spec.PreemptionPolicy != corev1.PreemptNever
}

// Preempt decides, for a pod that fits on no node, on which node to make room and which pods to delete for
// it. The room is reserved for the pod until it is placed or removed. The node is empty if preemption does
// not help. There are no victims if pods that are already terminating make room.
func (c *Cluster) Preempt(pod *corev1.Pod) (node string, victims []*corev1.Pod) {
	info := inspect(pod)
	nom, added := c.nominate(info, c.schedule(info).preemptable)
	if nom == nil {
		return "", nil
	}
	for _, v := range added {
		victims = append(victims, v.pod)
	}
	return nom.node, victims
}

// nominate plans a preemption on one of nodes and keeps its room. It returns the pod's nomination, nil if
// preemption does not help, and the victims that were added to it.
func (c *Cluster) nominate(info *podInfo, nodes []*node) (*nomination, []*placed) {
	p := c.preempt(info, nodes)
	if p == nil {
		return nil, nil
	}
	c.spend(p.victims)
	return c.nominations.extend(info, p.node.name, p.victims), p.victims
}

// preempt finds, among nodes, the one where the fewest and least important pods must go for the pod to fit,
// or returns nil. Pods of equal or higher priority are never touched, nor is room that is kept for such. Pods
// that end already cost nothing: room is waited for rather than made, so a pod that is nominated and whose
// victims have not all gone yet keeps its nomination and gets no further victims. Large clusters are searched
// in part. The cluster is as before when it returns.
func (c *Cluster) preempt(info *podInfo, nodes []*node) *preemption {
	if !mayPreempt(info.pod) || len(nodes) == 0 {
		return nil
	}
	c.unspend()
	d := c.newDecision(info, true)
	if n := c.nominatedNode(info); n != nil && slices.Contains(nodes, n) {
		if p := d.victimsOn(n); p != nil && len(p.victims) == 0 {
			return p
		}
	}
	var best *preemption
	found, enough := 0, max(100, len(c.order)/10)
	start := c.nextPreempted % len(nodes)
	for i := range nodes {
		p := d.victimsOn(nodes[(start+i)%len(nodes)])
		if p == nil {
			continue
		}
		if best == nil || comparePreemptions(p, best) < 0 {
			best = p
		}
		if found++; found >= enough && best.violating == 0 {
			c.nextPreempted += i + 1
			break
		}
	}
	return best
}

// victimsOn removes every less important pod from n, and if the pod then fits, puts back as many as it still
// fits beside: those first that a disruption budget protects, the most important first. The cost is that of
// the node's pods.
func (d *decision) victimsOn(n *node) *preemption {
	c, priority := d.cluster, priorityOf(d.info.pod)
	var ending, lower []*placed
	for uid, o := range n.pods {
		switch {
		case priorityOf(o.pod) >= priority:
		case o.pod.DeletionTimestamp != nil || c.nominations.isVictim(uid):
			ending = append(ending, o)
		case o.pod.Spec.NodeName == "" || !c.spared[uid].IsZero():
			// Its own binding is under way, so there is nothing to preempt yet, or it cannot be preempted.
		default:
			lower = append(lower, o)
		}
	}
	if len(ending)+len(lower) == 0 {
		return nil
	}
	for _, o := range ending {
		d.take(n, o)
		defer d.putBack(n, o)
	}
	if d.fits(n) {
		return &preemption{node: n}
	}
	for _, o := range lower {
		d.take(n, o)
	}
	if !d.fits(n) {
		for _, o := range lower {
			d.putBack(n, o)
		}
		return nil
	}
	slices.SortFunc(lower, func(a, b *placed) int {
		return cmp.Or(cmp.Compare(priorityOf(b.pod), priorityOf(a.pod)), startOf(a.pod).Compare(startOf(b.pod).Time), cmp.Compare(a.pod.UID, b.pod.UID))
	})
	out := &preemption{node: n}
	violating, rest := c.splitByBudget(lower)
	out.victims = d.reprieve(n, violating)
	out.violating = len(out.victims)
	out.victims = append(out.victims, d.reprieve(n, rest)...)
	for _, o := range out.victims {
		d.putBack(n, o)
	}
	return out
}

func (d *decision) fits(n *node) bool {
	reasons, _ := d.filter(n)
	return len(reasons) == 0
}

// reprieve puts back the pods that may stay and returns the others, which remain taken out.
func (d *decision) reprieve(n *node, pods []*placed) (victims []*placed) {
	for _, o := range pods {
		d.putBack(n, o)
		if !d.fits(n) {
			d.take(n, o)
			victims = append(victims, o)
		}
	}
	return victims
}

// take removes a placed pod from the cluster and from what the decision has counted; putBack undoes it.
func (d *decision) take(n *node, o *placed) {
	d.cluster.displace(o.pod.UID)
	d.adjust(n, o, -1)
}

func (d *decision) putBack(n *node, o *placed) {
	d.cluster.place(o.podInfo, n.name)
	d.adjust(n, o, 1)
}

func (d *decision) adjust(n *node, o *placed, sign int) {
	if d.affinity != nil {
		d.meet(d.affinity, n, o.podInfo, sign)
	}
	d.recount(n, o.podInfo, sign)
	if d.bare != nil {
		d.bare.adjust(n, o, sign)
	}
}

func startOf(pod *corev1.Pod) metav1.Time {
	if pod.Status.StartTime != nil {
		return *pod.Status.StartTime
	}
	return pod.CreationTimestamp
}

// comparePreemptions prefers the one that breaks budgets for fewer pods, then the one whose most important
// victim is least important, then the smaller sum of priorities, then fewer victims, then the one whose most
// important victims started last.
func comparePreemptions(a, b *preemption) int {
	return cmp.Or(cmp.Compare(a.violating, b.violating), cmp.Compare(a.top(), b.top()), cmp.Compare(a.sum(), b.sum()), cmp.Compare(len(a.victims), len(b.victims)),
		b.started().Compare(a.started().Time), cmp.Compare(a.node.name, b.node.name))
}

func (p *preemption) top() int64 {
	top := int64(-1 << 40)
	for _, v := range p.victims {
		top = max(top, int64(priorityOf(v.pod)))
	}
	return top
}

func (p *preemption) sum() (n int64) {
	for _, v := range p.victims {
		n += int64(priorityOf(v.pod)) + 1<<31 // every victim counts, even of negative priority
	}
	return n
}

// started is the earliest start among the most important victims.
func (p *preemption) started() (first metav1.Time) {
	top := p.top()
	for _, v := range p.victims {
		if at := startOf(v.pod); int64(priorityOf(v.pod)) == top && (first.IsZero() || at.Before(&first)) {
			first = at
		}
	}
	return first
}
