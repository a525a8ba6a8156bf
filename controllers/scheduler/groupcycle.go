package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// The answers about groups, in the words that users search for.
const (
	groupUnschedulable = "pod group is unschedulable"
	groupWaits         = groupUnschedulable + ", pod group is waiting for preemption to complete"
	memberWaits        = "waiting for minCount pods from a gang to be scheduled, one or more plugins asked to wait and no plugin rejected pod"
)

// PodGroup is a group whose pods are being placed. Plugins may read it during the call that they get it in.
type PodGroup struct {
	cluster *Cluster
	key     types.NamespacedName
	pods    []*Pod
	// consult, if not nil, lets others choose among the nodes of a decision.
	consult func(cy *Cycle) (node string, failed *Status)
}

// Key returns the namespace and the name of the group.
func (g *PodGroup) Key() types.NamespacedName { return g.key }

// Object returns the PodGroup, which must not be modified; nil if there is none.
func (g *PodGroup) Object() *schedulingv1alpha2.PodGroup { return g.cluster.groupObject(g.key) }

// Pods returns the pods to place, in their order.
func (g *PodGroup) Pods() []*Pod { return g.pods }

// Scheduled calls yield for each pod of the group that is on a node, with the node, in no particular order.
func (g *PodGroup) Scheduled(yield func(*Pod, *Node) bool) {
	known := g.cluster.podGroups[g.key]
	if known == nil {
		return
	}
	for _, p := range known.placed {
		if !yield(p.Pod, p.node) {
			return
		}
	}
}

// Placement is a set of nodes among which all pods of a group are placed.
type Placement struct {
	Name  string
	Nodes []*Node
	// Proposed are the pods that have room, when the placement is scored.
	Proposed []*Pod

	in map[*Node]bool
}

// has reports whether a node is in the placement; all are in none.
func (p *Placement) has(n *Node) bool { return p == nil || p.in[n] }

// candidates are the nodes that decisions choose from, in the order in which they are tried.
func (c *Cluster) candidates() []*Node {
	if c.within != nil {
		return c.within.Nodes
	}
	return c.inTurns()
}

// size is how many nodes decisions choose from.
func (c *Cluster) size() int {
	if c.within != nil {
		return len(c.within.Nodes)
	}
	return len(c.order)
}

// member is what was decided about a pod of a group.
type member struct {
	outcome
	pod *Pod
	// on is the node that the pod got, also if victims have to go for it first.
	on string
	// victims have to go. makesRoom is set for a pod that fits nowhere else.
	ending    []*placed
	makesRoom bool
	// permitted is set if enough pods of the group had nodes with this one.
	permitted bool
}

// groupDecision is what was decided about a group. The members are fewer than its pods if its status concerns
// all of them.
type groupDecision struct {
	members []*member
	// status is Success if the group has room. If it is not, waits says that it has when all victims are
	// gone.
	status *Status
	waits  bool
	// ending are the victims of the whole group.
	ending []*placed
}

// decideGroup selects nodes for the pods of a group, which are in their order, and leaves the cluster as it
// was. With preempt, a group that does not fit makes room as a whole, and its pods do not.
func (c *Cluster) decideGroup(p *Profile, g *PodGroup, preempt bool) *groupDecision {
	d := c.placeGroup(p, g, roomOf(preempt))
	if preempt && d.status != nil && d.status.Code == Unschedulable {
		c.preemptForGroup(p, g, d)
	}
	return d
}

// rooms says how pods of groups make room.
type rooms int

const (
	podsMakeRoom rooms = iota // each for itself
	groupMakesRoom
	noRoom // only what is there counts
)

func roomOf(preempt bool) rooms {
	if preempt {
		return groupMakesRoom
	}
	return podsMakeRoom
}

// placeGroup tries the placements that the profile's plugins give, and selects the best.
func (c *Cluster) placeGroup(p *Profile, g *PodGroup, how rooms) *groupDecision {
	if !p.placements() {
		return c.tryGroup(p, g, how)
	}
	list, st := c.placementsOf(p, g)
	if !st.OK() {
		return &groupDecision{status: st}
	}
	var first *groupDecision
	var good []*groupDecision
	var where []*Placement
	for _, at := range list {
		d := c.tryWithin(p, g, at, how)
		if d.status != nil && d.status.Code == Error {
			return d
		}
		if first == nil {
			first = d
		}
		if d.status.OK() || d.waits {
			good, where = append(good, d), append(where, at)
		}
	}
	switch len(good) {
	case 0:
		first.status = NewStatus(Unschedulable, fmt.Sprintf("0/%d placements are available, first placement status: %s", len(list), first.status.Reasons[0]))
		return first
	case 1:
		return good[0]
	}
	for i, at := range where {
		at.Proposed = good[i].proposed()
	}
	best, st := c.bestPlacement(p, g, where)
	if !st.OK() {
		return &groupDecision{status: st}
	}
	return good[best]
}

// proposed are the pods that have nodes.
func (d *groupDecision) proposed() (out []*Pod) {
	for _, m := range d.members {
		if m.on != "" {
			out = append(out, m.pod)
		}
	}
	return out
}

// tryWithin tries a group in one placement.
func (c *Cluster) tryWithin(p *Profile, g *PodGroup, at *Placement, how rooms) *groupDecision {
	if len(at.Nodes) < len(c.order) {
		at.in = map[*Node]bool{}
		for _, n := range at.Nodes {
			at.in[n] = true
		}
		c.within = at
	}
	defer c.everywhere(c.watch)
	return c.tryGroup(p, g, how)
}

// everywhere ends the restriction to a placement, unless the decision was abandoned: that was done then.
func (c *Cluster) everywhere(w *watch) {
	if !w.over() {
		c.within = nil
	}
}

// placementsOf calls the plugin that generates placements.
func (c *Cluster) placementsOf(p *Profile, g *PodGroup) ([]*Placement, *Status) {
	all := slices.Clone(c.inTurns())
	if len(p.generate) == 0 {
		return []*Placement{{Nodes: all}}, nil
	}
	by, began := p.generate[0], time.Now()
	var list []*Placement
	st := c.calling(p, by, func() (st *Status) {
		list, st = by.GeneratePlacements(g, all)
		return st
	})
	if st.OK() && len(list) == 0 {
		st = refusal(Unschedulable, by.Name(), "no feasible placements found")
	}
	c.measured.pointOf(p, "PlacementGenerate", st, began)
	return list, st
}

// calling calls a plugin about a group.
func (c *Cluster) calling(p *Profile, by Plugin, f func() *Status) *Status {
	cy := c.cycle(p)
	cy.running, cy.watch = by.Name(), c.watch
	w := cy.watchOf(by)
	defer w.leave()
	return guarded(by, func() *Status {
		w.enter()
		return f()
	})
}

// bestPlacement scores placements and returns the number of the best.
func (c *Cluster) bestPlacement(p *Profile, g *PodGroup, list []*Placement) (int, *Status) {
	totals, part := make([]int64, len(list)), make([]int64, len(list))
	defer func(began time.Time) { c.measured.pointOf(p, "PlacementScore", nil, began) }(time.Now())
	for _, s := range p.placementScore {
		st := c.calling(p, s, func() *Status {
			for i, at := range list {
				part[i] = s.ScorePlacement(g, at)
			}
			if n, ok := s.(PlacementNormalizer); ok {
				n.NormalizePlacementScore(part)
			}
			return nil
		})
		if !st.OK() {
			return 0, st
		}
		by := &p.plugins[p.index(s.Name())]
		weight := cmp.Or(by.placement, by.weight)
		for i, v := range part {
			if v < 0 || v > MaxNodeScore {
				return 0, refusal(Error, s.Name(), fmt.Sprintf("plugin %s gives placement %s the score %d: want 0 to %d", s.Name(), list[i].Name, v, MaxNodeScore))
			}
			totals[i] += weight * v
		}
	}
	return c.best(totals, g.pods[0]), nil
}

// tryGroup places the pods of a group one after the other, each beside those before it, and takes that back.
// A pod that has room when others are ended counts as placed, and these as gone.
func (c *Cluster) tryGroup(p *Profile, g *PodGroup, how rooms) *groupDecision {
	w, mark := c.watch, c.Mark()
	defer func() {
		if !w.over() {
			c.Rollback(mark)
		}
	}()
	d := &groupDecision{status: NewStatus(Unschedulable, groupUnschedulable)}
	waits := false
	for _, pod := range g.pods {
		m := c.tryMember(p, g, pod, how)
		d.members = append(d.members, m)
		if m.failed != nil {
			d.status, d.waits = refusal(Error, m.failed.Plugin, "failed to schedule other pod from a pod group: "+m.failed.Message()), false
			return d
		}
		waits = waits || m.makesRoom
		switch {
		case !m.permitted:
		case waits:
			d.status, d.waits = NewStatus(Unschedulable, groupUnschedulable, "pod group is waiting for preemption to complete"), true
		default:
			d.status = nil
		}
	}
	return d
}

// tryMember places one pod of a group.
func (c *Cluster) tryMember(p *Profile, g *PodGroup, pod *Pod, how rooms) *member {
	cy := c.decide(p, pod, nil)
	m := &member{pod: pod, outcome: outcome{profile: p}}
	if cy.selected != nil {
		m.on = cy.selected.name
	}
	if cy.selected != nil && g.consult != nil {
		if m.on, cy.failed = g.consult(cy); m.on == "" {
			cy.feasible, cy.selected = cy.feasible[:0], nil
		}
	}
	if cy.selected == nil {
		m.Decision, m.failed, m.refused = cy.decision(), cy.failed, cy.refusedBy()
		if cy.failed != nil {
			return m
		}
		m.release = cy.unusable()
		if !m.findRoom(cy, g, how) {
			return m
		}
	}
	c.place(pod, m.on)
	at := c.pods[pod.pod.UID]
	m.plan, m.claims = at.plan, at.claims
	m.permitted, m.failed = c.permits(p, g)
	return m
}

// findRoom looks for a node where others can be ended for the pod, and removes them from it.
func (m *member) findRoom(cy *Cycle, g *PodGroup, how rooms) bool {
	c, p := cy.cluster, cy.profile
	if how == noRoom {
		return false
	}
	m.preemption = cy.preemptionMessage()
	var except []string
	if why := p.sparesOthers(g, how); why != "" {
		m.preemption, except = why, []string{(&DefaultPreemption{}).Name()}
	}
	nom := cy.makeRoom(except)
	if nom == nil {
		return false
	}
	m.on, m.makesRoom = nom.node, true
	for _, v := range nom.victims {
		m.ending = append(m.ending, v)
	}
	slices.SortFunc(m.ending, func(a, b *placed) int { return cmp.Compare(a.pod.UID, b.pod.UID) })
	going, _ := cy.lowerOn(c.byName[nom.node])
	for _, v := range slices.Concat(going, m.ending) {
		if c.pods[v.pod.UID] != nil {
			c.displace(v.pod.UID)
		}
	}
	return true
}

// sparesOthers says why pods of a group may not preempt others; empty if they may.
func (p *Profile) sparesOthers(g *PodGroup, how rooms) string {
	if p.placements() {
		obj := g.Object()
		switch {
		case obj == nil:
			return "pod group for pod not found"
		case obj.Spec.SchedulingConstraints != nil:
			return "not eligible due to placement-based pod group scheduling limitation"
		}
	}
	if how == groupMakesRoom {
		return "not eligible due to workload aware preemption enabled"
	}
	return ""
}

// permits reports whether enough pods of a group have nodes now for them to be bound.
func (c *Cluster) permits(p *Profile, g *PodGroup) (bool, *Status) {
	if !p.gangPermit {
		return true, nil
	}
	obj := g.Object()
	if obj == nil {
		return false, refusal(Error, gangScheduling, fmt.Sprintf("failed to get podGroup %s: it is not there", g.key))
	}
	return c.inGroup(g.key) >= minCount(obj), nil
}

// GroupDecision is the result of [Cluster.ScheduleGroup].
type GroupDecision struct {
	// Nodes are those that the pods get, in the order of the pods; empty for a pod that gets none. They are
	// all empty if the group does not fit.
	Nodes []string
	// Message says why the group does not fit; empty if it does.
	Message string
	// Reasons say why pods without a node have none.
	Reasons []string
	// Waits is set for a group that fits when the victims are gone. The Nodes are those where it will then.
	Waits   bool
	Victims []*corev1.Pod
}

// ScheduleGroup selects nodes for pods of one PodGroup, those of higher priority first, and places none. How
// many of them must have nodes, and which nodes are tried together, says the PodGroup, which
// [Cluster.SetObject] sets, and the plugins of the profile: [GangScheduling], [TopologyPlacementGenerator].
func (c *Cluster) ScheduleGroup(p *Profile, pods []*corev1.Pod) GroupDecision {
	out := GroupDecision{Nodes: make([]string, len(pods)), Reasons: make([]string, len(pods))}
	if len(pods) == 0 {
		return out
	}
	g := &PodGroup{cluster: c, key: groupKey(pods[0])}
	at := map[*Pod]int{}
	for i, pod := range pods {
		info := NewPod(pod)
		at[info] = i
		g.pods = append(g.pods, info)
	}
	slices.SortStableFunc(g.pods, func(a, b *Pod) int { return cmp.Compare(b.priority, a.priority) })
	d := c.decideGroup(p, g, false)
	out.Message, out.Waits = d.status.Message(), d.waits
	for _, m := range d.members {
		i := at[m.pod]
		if d.status.OK() || d.waits {
			out.Nodes[i] = m.on
		}
		if out.Nodes[i] == "" {
			out.Reasons[i] = m.why(d)
		}
		for _, v := range m.ending {
			if d.waits {
				out.Victims = append(out.Victims, v.pod)
			}
		}
	}
	return out
}

// why is the message of a pod that is not placed.
func (m *member) why(d *groupDecision) string {
	switch {
	case m.failed != nil:
		return m.failed.Message()
	case d.status != nil && d.status.Code == Error:
		return d.status.Message()
	case m.on == "" || m.makesRoom && d.waits:
		text := m.Message()
		if !m.makesRoom && m.preemption != "" && len(m.Reasons) > 0 {
			text += " preemption: " + m.preemption
		}
		return text
	case d.waits:
		return d.status.Message()
	case m.permitted:
		return groupUnschedulable
	}
	return groupUnschedulable + ", " + memberWaits
}
