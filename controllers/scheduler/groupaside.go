package scheduler

import (
	"context"
	"slices"
)

// longDecision reports whether a decision about a group must be made aside: extenders are to be called for
// one of the pods, or the search for devices takes long.
func (s *Scheduler) longDecision(a *groupTry) bool {
	return slices.ContainsFunc(a.tries, func(t *try) bool { return len(s.extendersOf(t.pod)) > 0 }) ||
		a.groupDecision != nil && slices.ContainsFunc(a.members, func(m *member) bool { return m.failed == longSearch })
}

const notAside = "not tried for a group that is decided about aside, for extenders or for a long search for devices."

// decideGroupAside decides about a group on a copy of the cluster, so that others are scheduled meanwhile.
// The result counts if its nodes still have room and no claim, slice or class has changed; else it is done
// again. Such groups preempt none.
func (s *Scheduler) decideGroupAside(ctx context.Context, a *groupTry) {
	for range searchTries {
		s.mu.Lock()
		aside, changes := s.cluster.Fork(), s.cluster.devices.changes
		s.mu.Unlock()
		aside.devices.limits.done = ctx.Done()
		g := &PodGroup{cluster: aside, key: a.group.key, pods: a.group.pods}
		g.consult = func(cy *Cycle) (string, *Status) { return s.consult(ctx, cy) }
		if a.groupDecision = aside.placeGroup(a.profile, g, noRoom); ctx.Err() != nil {
			return
		}
		for _, m := range a.members {
			if m.on == "" {
				m.preemption = notAside
			}
		}
		s.mu.Lock()
		s.cluster.addCalls(aside)
		s.mu.Unlock()
		if !a.status.OK() || s.settleGroup(a, changes) {
			return
		}
	}
	a.groupDecision = &groupDecision{status: NewStatus(Error, "the cluster has changed while a group was decided about")}
}

// consult lets the extenders choose among the nodes of a decision.
func (s *Scheduler) consult(ctx context.Context, cy *Cycle) (node string, refused *Status) {
	x := &offer{totals: slices.Clone(cy.totals), refused: map[string]*Status{}}
	for _, n := range cy.feasible {
		x.nodes = append(x.nodes, n.obj)
	}
	pod := cy.pod.pod
	extenders := s.extendersOf(pod)
	for _, e := range extenders {
		if e.Filter == "" || len(x.nodes) == 0 {
			continue
		}
		left, refused, err := e.filter(ctx, pod, x.nodes)
		switch {
		case err == nil:
			x.keep(left, refused, e)
		case e.Ignorable:
			s.log.Warn("extender is left out", "url", e.URL, "namespace", pod.Namespace, "name", pod.Name, "err", err)
		default:
			return "", refusal(Error, e.URL, "extender "+e.URL+": "+err.Error())
		}
	}
	for name, st := range x.refused {
		cy.refusals = append(cy.refusals, turnedDown{cy.cluster.existing(name), st})
	}
	if len(x.nodes) == 0 {
		return "", nil
	}
	s.prioritize(ctx, &try{Pod: cy.pod}, x, extenders)
	return x.nodes[cy.cluster.best(x.totals, cy.pod)].Name, nil
}

// settled is what the search for devices has found for a member.
func (m *member) settled() *settledSearch { return &settledSearch{m.pod.pod.UID, m.on, m.claims} }

// settleGroup places the pods of a group as a decision on a copy says. It is false if that holds no longer.
func (s *Scheduler) settleGroup(a *groupTry, changes uint64) (done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster
	if c.devices.changes != changes {
		return false
	}
	defer func() { c.devices.settled = nil }()
	s.inTime(a, func() {
		mark := c.Mark()
		fits := true
		for _, m := range a.members {
			if n := c.existing(m.on); m.on != "" && fits {
				c.devices.settled = m.settled()
				if fits = n != nil && c.fitsNow(a.profile, m.pod, n); fits {
					c.place(m.pod, m.on)
				}
			}
		}
		if w := c.watch; !w.over() {
			c.Rollback(mark)
		}
		if done = fits; done {
			a.aside = true
			s.assumeGroup(a)
		}
	})
	return done || a.members == nil
}
