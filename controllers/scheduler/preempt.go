package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// DefaultPreemption makes room for a pod that fits on no node by ending pods of lower priority: as few and as
// unimportant ones as possible, those protected by a PodDisruptionBudget last.
type DefaultPreemption struct {
	// MinCandidateNodesPercentage, of 100, and MinCandidateNodesAbsolute say how many nodes where preemption
	// helps are enough; the larger number counts. 0 means 10 percent, and 100 nodes.
	MinCandidateNodesPercentage, MinCandidateNodesAbsolute int
}

// Name returns "DefaultPreemption".
func (*DefaultPreemption) Name() string { return "DefaultPreemption" }

// PostFilter implements PostFilterPlugin. The room is kept for the pod until it is placed or removed.
func (a *DefaultPreemption) PostFilter(cy *Cycle) (string, []*corev1.Pod, *Status) {
	nom, added := cy.nominate(a)
	if nom == nil {
		return "", nil, nil
	}
	var victims []*corev1.Pod
	for _, v := range added {
		victims = append(victims, v.pod)
	}
	return nom.node, victims, nil
}

// placedOf are those of the pods that are on nodes.
func (c *Cluster) placedOf(pods []*corev1.Pod) (out []*placed) {
	for _, p := range pods {
		if v := c.pods[p.UID]; v != nil {
			out = append(out, v)
		}
	}
	return out
}

// preemption is a set of pods whose removal makes a node feasible.
type preemption struct {
	node *Node
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
	cy := c.decide(c.profile, NewPod(pod), nil)
	if cy.selected != nil {
		return "", nil
	}
	node, victims, _ = (&DefaultPreemption{}).PostFilter(cy)
	return node, victims
}

// nominate plans a preemption after a decision that found no node, and keeps its room. It returns the pod's
// nomination, nil if preemption does not help, and the victims that were added to it.
func (cy *Cycle) nominate(a *DefaultPreemption) (*nomination, []*placed) {
	p := cy.preempt(a)
	if p == nil {
		return nil, nil
	}
	c := cy.cluster
	c.spend(p.victims)
	c.saveNominations()
	cy.renewed = c.nominations.extend(cy.pod, p.node.name, p.victims)
	return cy.renewed, p.victims
}

// makeRoom calls the PostFilter plugins after a decision that found no node, except for the named ones, until
// one of them nominates a node.
func (cy *Cycle) makeRoom(except []string) *nomination {
	c := cy.cluster
	cy.watch = c.watch
	began, st := time.Now(), NewStatus(Unschedulable)
	defer func() { c.measured.pointOf(cy.profile, "PostFilter", st, began) }()
	maps.DeleteFunc(c.spared, func(_ types.UID, since time.Time) bool { return time.Since(since) >= sparedFor })
	for _, p := range cy.profile.post {
		own, isOwn := p.(*DefaultPreemption)
		switch {
		case slices.Contains(except, p.Name()):
		case isOwn:
			cy.nominate(own)
		default:
			cy.running = p.Name()
			w := cy.watchOf(p)
			guarded(p, func() *Status {
				w.enter()
				node, victims, st := p.PostFilter(cy)
				w.leave()
				if st.OK() && c.existing(node) != nil {
					c.saveNominations()
					cy.renewed = c.nominations.extend(cy.pod, node, c.placedOf(victims))
				}
				return st
			})
			w.leave()
		}
		if cy.renewed != nil {
			st.Code = Success
			return cy.renewed
		}
	}
	return nil
}

// preempt finds, among the nodes that refused the pod, the one where the fewest and least important pods must
// go for the pod to fit, or returns nil.
func (cy *Cycle) preempt(a *DefaultPreemption) *preemption {
	all := cy.preemptions(a)
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, comparePreemptions)
}

// preemptions finds nodes where preemption helps, with the fewest and least important victims of each. Pods
// of equal or higher priority are never touched, nor is room that is kept for such. Pods that end already
// cost nothing: room is waited for rather than made, so a pod that is nominated and whose victims have not
// all gone yet keeps its nomination and gets no further victims. Large clusters are searched in part. The
// cluster is as before when it returns.
func (cy *Cycle) preemptions(a *DefaultPreemption) (all []*preemption) {
	c := cy.cluster
	cy.watch = c.watch
	nodes := cy.preemptable()
	if !mayPreempt(cy.pod.pod) || len(nodes) == 0 || cy.failed != nil {
		return nil
	}
	c.unspend()
	reserved := cy.expect()
	defer cy.unexpect(reserved)
	if len(reserved) > 0 {
		// The counters of terms that only nominated pods have were dropped with the search's reservation, so
		// the filters of the search do not have those of this one.
		if cy.checks = cy.checks[:0]; !cy.prepare() {
			return nil
		}
	}
	c.reserve(reserved)
	cy.reserved = reserved
	if n := c.nominatedNode(cy.pod); n != nil && slices.Contains(nodes, n) {
		if p := cy.victimsOn(n); p != nil && len(p.victims) == 0 {
			return []*preemption{p}
		}
	}
	protected := false // one of the nodes needs no budget to be violated
	enough := max(cmp.Or(a.MinCandidateNodesAbsolute, 100), c.size()*cmp.Or(a.MinCandidateNodesPercentage, 10)/100)
	start := c.nextPreempted % len(nodes)
	for i := range nodes {
		p := cy.victimsOn(nodes[(start+i)%len(nodes)])
		if p == nil {
			continue
		}
		all, protected = append(all, p), protected || p.violating == 0
		if len(all) >= enough && protected {
			c.nextPreempted += i + 1
			break
		}
	}
	return all
}

// preemptable are the nodes where deleting other pods might help.
func (cy *Cycle) preemptable() (out []*Node) {
	for _, r := range cy.refusals {
		if !r.status.final() {
			out = append(out, r.node)
		}
	}
	return out
}

// preemptionMessage says why preemption did not help.
func (cy *Cycle) preemptionMessage() string {
	if !mayPreempt(cy.pod.pod) {
		return "not eligible due to preemptionPolicy=Never."
	}
	var parts []string
	n, nodes := len(cy.preemptable()), cy.cluster.size()
	if n > 0 {
		parts = append(parts, fmt.Sprintf("%d No preemption victims found for incoming pod", n))
	}
	if n := nodes - n; n > 0 {
		parts = append(parts, fmt.Sprintf("%d Preemption is not helpful for scheduling", n))
	}
	slices.Sort(parts)
	return fmt.Sprintf("0/%d nodes are available: %s.", nodes, strings.Join(parts, ", "))
}

// victimsOn detaches every less important pod from n, and if the pod then fits, puts back as many as it still
// fits beside: those first that a disruption budget protects, the most important first. The cost is that of
// the node's pods.
func (cy *Cycle) victimsOn(n *Node) *preemption {
	c := cy.cluster
	ending, lower := cy.lowerOn(n)
	if len(ending)+len(lower) == 0 {
		return nil
	}
	defer cy.rollback(c.mark())
	for _, o := range ending {
		c.detach(o)
	}
	if cy.fits(n) {
		return &preemption{node: n}
	}
	for _, o := range lower {
		c.detach(o)
	}
	if !cy.fits(n) {
		return nil
	}
	slices.SortFunc(lower, func(a, b *placed) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), startOf(a.pod).Compare(startOf(b.pod).Time), cmp.Compare(a.pod.UID, b.pod.UID))
	})
	out := &preemption{node: n}
	violating, rest := c.splitByBudget(lower)
	out.victims = cy.reprieve(n, violating)
	out.violating = len(out.victims)
	out.victims = append(out.victims, cy.reprieve(n, rest)...)
	return out
}

// rollback ends a trial, unless that was done when the decision was abandoned.
func (cy *Cycle) rollback(m Mark) {
	if !cy.watch.over() {
		cy.cluster.Rollback(m)
	}
}

// fits reports whether the node is feasible now, with the room that is kept for others and without the pods
// that it is kept for; see judgeBare.
func (cy *Cycle) fits(n *Node) bool {
	bare := cy.hasBare
	cy.hasBare = false
	ok := cy.filter(n) == nil
	cy.hasBare = bare
	if !ok || !bare {
		return ok
	}
	for _, p := range slices.Backward(cy.reserved) {
		cy.cluster.detach(p)
	}
	for i := range cy.checks {
		if k := &cy.checks[i]; ok && !k.monotone {
			ok = cy.ask(k, n).OK()
		}
	}
	cy.cluster.reserve(cy.reserved)
	return ok
}

// lowerOn are the pods of a node of lower priority: those that end already, and those that may be ended.
func (cy *Cycle) lowerOn(n *Node) (ending, lower []*placed) {
	c := cy.cluster
	for _, o := range n.pods {
		uid := o.pod.UID
		switch {
		case o.priority >= cy.pod.priority:
		case o.pod.DeletionTimestamp != nil || c.nominations.leaving[uid] != nil:
			ending = append(ending, o)
		case o.pod.Spec.NodeName == "" || !c.spared[uid].IsZero():
			// Its own binding is under way, so there is nothing to preempt yet, or it cannot be preempted.
		default:
			lower = append(lower, o)
		}
	}
	return ending, lower
}

// reprieve puts back the pods that may stay and returns the others, which remain detached.
func (cy *Cycle) reprieve(n *Node, pods []*placed) (victims []*placed) {
	for _, o := range pods {
		cy.cluster.attach(o)
		if !cy.fits(n) {
			cy.cluster.detach(o)
			victims = append(victims, o)
		}
	}
	return victims
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
		top = max(top, int64(v.priority))
	}
	return top
}

func (p *preemption) sum() (n int64) {
	for _, v := range p.victims {
		n += int64(v.priority) + 1<<31 // every victim counts, even of negative priority
	}
	return n
}

// started is the earliest start among the most important victims.
func (p *preemption) started() (first metav1.Time) {
	top := p.top()
	for _, v := range p.victims {
		if at := startOf(v.pod); int64(v.priority) == top && (first.IsZero() || at.Before(&first)) {
			first = at
		}
	}
	return first
}
