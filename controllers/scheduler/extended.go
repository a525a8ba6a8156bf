package scheduler

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// extendersOf are the extenders to call for a pod.
func (s *Scheduler) extendersOf(pod *corev1.Pod) (out []*Extender) {
	for i := range s.opts.Extenders {
		if x := &s.opts.Extenders[i]; x.interested(pod) {
			out = append(out, x)
		}
	}
	return out
}

// offer is a decision that extenders have a say in: the nodes that the plugins leave, with their scores.
type offer struct {
	nodes   []*corev1.Node
	totals  []int64
	refused map[string]*Status // by the extenders
}

// decideExtended is decide for a pod with extenders. They are called without the lock, so that others are
// scheduled meanwhile; the node is then looked at once more, because others may have taken its room.
func (s *Scheduler) decideExtended(ctx context.Context, t *try, extenders []*Extender) (o outcome, ok bool) {
	began := time.Now()
	x, o, ok := s.propose(t)
	if !ok || x == nil {
		return o, ok
	}
	for _, e := range extenders {
		if e.Filter == "" || len(x.nodes) == 0 {
			continue
		}
		left, refused, err := e.filter(ctx, t.pod, x.nodes)
		if err == nil {
			x.keep(left, refused, e)
			continue
		}
		if !e.Ignorable {
			o.refuse(&Status{Code: Error, Plugin: e.URL, Reasons: []string{"extender " + e.URL + ": " + err.Error()}}, "")
			s.measure(&o, began)
			return o, true
		}
		s.log.Warn("extender is left out", "url", e.URL, "namespace", t.pod.Namespace, "name", t.pod.Name, "err", err)
	}
	if len(x.nodes) > 1 {
		s.prioritize(ctx, t, x, extenders)
	}
	return s.dispose(ctx, t, x, extenders, began)
}

// propose decides as far as plugins go. There is no offer if they leave no node.
func (s *Scheduler) propose(t *try) (x *offer, o outcome, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.queue.holds(t.entry, t.pod.UID) {
		return nil, o, false
	}
	began := time.Now()
	o.profile = s.profileOf(t.Pod)
	var cy *Cycle
	proposed := s.within(&o, func() {
		if cy = s.cluster.decide(o.profile, t.Pod, nil); len(cy.feasible) > 0 {
			return
		}
		o.Decision, o.failed, o.refused = cy.decision(), cy.failed, cy.refusedBy()
		if cy.failed == nil && len(s.preempters(t.pod)) == 0 {
			s.makeRoom(cy, t, &o)
		}
	})
	if !proposed || len(cy.feasible) == 0 && (cy.failed != nil || len(s.preempters(t.pod)) == 0) {
		s.measure(&o, began)
		return nil, o, true
	}
	x = &offer{totals: slices.Clone(cy.totals), refused: map[string]*Status{}}
	x.totals = append(x.totals, make([]int64, len(cy.feasible))...)[:len(cy.feasible)]
	for _, n := range cy.feasible {
		x.nodes = append(x.nodes, n.obj)
	}
	return x, o, true
}

// preempters are the extenders that choose among victims.
func (s *Scheduler) preempters(pod *corev1.Pod) []*Extender {
	return slices.DeleteFunc(s.extendersOf(pod), func(x *Extender) bool { return x.Preempt == "" })
}

// keep leaves the nodes that an extender leaves.
func (x *offer) keep(left map[string]bool, refused map[string]*Status, by *Extender) {
	kept := 0
	for i, n := range x.nodes {
		if left[n.Name] {
			x.nodes[kept], x.totals[kept] = n, x.totals[i]
			kept++
		} else if refused[n.Name] == nil {
			refused[n.Name] = refusal(Unschedulable, by.URL, "node(s) were left out by extender "+by.URL)
		}
	}
	x.nodes, x.totals = x.nodes[:kept], x.totals[:kept]
	maps.Copy(x.refused, refused)
}

// prioritize adds the scores of extenders, as far as they answer.
func (s *Scheduler) prioritize(ctx context.Context, t *try, x *offer, extenders []*Extender) {
	for _, e := range extenders {
		if e.Prioritize == "" {
			continue
		}
		scores, err := e.prioritize(ctx, t.pod, x.nodes)
		if err != nil {
			s.log.Warn("scores of extender are left out", "url", e.URL, "namespace", t.pod.Namespace, "name", t.pod.Name, "err", err)
			continue
		}
		for i, n := range x.nodes {
			x.totals[i] += scores[n.Name]
		}
	}
}

// dispose selects the best node that still fits.
func (s *Scheduler) dispose(ctx context.Context, t *try, x *offer, extenders []*Extender, began time.Time) (o outcome, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.queue.holds(t.entry, t.pod.UID) {
		return o, false
	}
	o.profile = s.profileOf(t.Pod)
	defer func() { s.measure(&o, began) }()
	offered := len(x.nodes)
	for len(x.nodes) > 0 {
		at := s.cluster.best(x.totals, t.Pod)
		n := s.cluster.existing(x.nodes[at].Name)
		fits := false
		if !s.within(&o, func() {
			if fits = n != nil && s.cluster.fitsNow(o.profile, t.Pod, n); fits {
				s.assume(t, &o, n.name)
			}
		}) || fits {
			return o, true
		}
		x.nodes, x.totals = slices.Delete(x.nodes, at, at+1), slices.Delete(x.totals, at, at+1)
	}
	var cy *Cycle
	if !s.within(&o, func() { cy = s.cluster.decide(o.profile, t.Pod, nil) }) {
		return o, true
	}
	if cy.failed == nil {
		cy.withhold(x.refused)
	}
	if len(cy.feasible) > 0 || offered > 0 {
		// Others have taken the nodes, or made room: it is tried again with the present state.
		o.refuse(&Status{Code: Unschedulable, Plugin: "Extender", Reasons: []string{"node(s) that extenders left were taken by other pods"}}, "")
		return o, true
	}
	o.Decision, o.failed, o.refused = cy.decision(), cy.failed, cy.refusedBy()
	if cy.failed != nil {
		return o, true
	}
	preempters := s.preempters(t.pod)
	if len(preempters) == 0 {
		s.within(&o, func() { s.makeRoom(cy, t, &o) })
		return o, true
	}
	s.preemptExtended(ctx, t, cy, &o, preempters)
	return o, true
}

// withhold turns feasible nodes into refused ones.
func (cy *Cycle) withhold(refused map[string]*Status) {
	cy.selected = nil
	cy.feasible = slices.DeleteFunc(cy.feasible, func(n *Node) bool {
		st := refused[n.name]
		if st != nil {
			cy.refusals = append(cy.refusals, turnedDown{n, st})
		}
		return st != nil
	})
}

// preemptExtended lets extenders choose among the nodes where preemption helps. s.mu is held, but not while
// they are called.
func (s *Scheduler) preemptExtended(ctx context.Context, t *try, cy *Cycle, o *outcome, extenders []*Extender) {
	o.preemption = cy.preemptionMessage()
	own, _ := o.profile.plugin("DefaultPreemption").(*DefaultPreemption)
	candidates := map[string]*candidate{}
	var all []*preemption
	if own != nil && !s.within(o, func() { all = cy.preemptions(own) }) {
		return
	}
	for _, p := range all {
		if len(p.victims) == 0 {
			clear(candidates) // what ends already makes room: there is nothing to choose
			break
		}
		c := &candidate{violating: p.violating, nodePods: map[types.UID]*corev1.Pod{}}
		_, lower := cy.lowerOn(p.node)
		for _, v := range lower {
			c.nodePods[v.pod.UID] = v.pod
		}
		for _, v := range p.victims {
			c.victims = append(c.victims, v.pod)
		}
		candidates[p.node.name] = c
	}
	if len(candidates) == 0 {
		s.within(o, func() { s.makeRoom(cy, t, o) })
		return
	}
	s.mu.Unlock()
	candidates, err := choose(ctx, t.pod, candidates, extenders, func(x *Extender, err error) {
		s.log.Warn("extender is left out", "url", x.URL, "namespace", t.pod.Namespace, "name", t.pod.Name, "err", err)
	})
	s.mu.Lock()
	switch {
	case err != nil:
		o.refuse(&Status{Code: Error, Plugin: "Extender", Reasons: []string{"preemption: " + err.Error()}}, "")
	case s.queue.holds(t.entry, t.pod.UID):
		s.nominateOne(t, o, candidates)
	}
}

// choose lets extenders choose, one after the other.
func choose(ctx context.Context, pod *corev1.Pod, candidates map[string]*candidate, extenders []*Extender, skipped func(*Extender, error)) (map[string]*candidate, error) {
	for _, x := range extenders {
		if len(candidates) == 0 {
			break
		}
		left, err := x.preempt(ctx, pod, candidates)
		switch {
		case err == nil:
			candidates = left
		case x.Ignorable:
			skipped(x, err)
		default:
			return nil, err
		}
	}
	return candidates, nil
}

// nominateOne keeps room on the best of the nodes that extenders have left, if its victims are still there.
func (s *Scheduler) nominateOne(t *try, o *outcome, candidates map[string]*candidate) {
	var selected *preemption
	for name, c := range candidates {
		n := s.cluster.existing(name)
		p := &preemption{node: n, victims: s.cluster.placedOf(c.victims), violating: c.violating}
		if n == nil || len(p.victims) < len(c.victims) || slices.ContainsFunc(p.victims, func(v *placed) bool { return v.node != n }) {
			continue
		}
		if selected == nil || comparePreemptions(p, selected) < 0 {
			selected = p
		}
	}
	if selected == nil {
		return
	}
	s.cluster.spend(selected.victims)
	nom := s.cluster.nominations.extend(t.Pod, selected.node.name, selected.victims)
	o.room(s.cluster, nom)
}
