package scheduler

import (
	"fmt"
	"math"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// The answers of the plugins that look at the pods of nodes.
var (
	refusedSpread      = refusal(Unschedulable, "PodTopologySpread", "node(s) didn't match pod topology spread constraints")
	refusedSpreadLabel = refusal(UnschedulableAndUnresolvable, "PodTopologySpread", "node(s) didn't match pod topology spread constraints (missing required label)")
	refusedNear        = refusal(UnschedulableAndUnresolvable, "InterPodAffinity", "node(s) didn't match pod affinity rules")
	refusedApart       = refusal(Unschedulable, "InterPodAffinity", "node(s) didn't match pod anti-affinity rules")
	refusedByExisting  = refusal(Unschedulable, "InterPodAffinity", "node(s) didn't satisfy existing pods anti-affinity rules")
)

// PodTopologySpread keeps the numbers of equal pods in the domains of a topology close to each other. The
// zero value spreads pods without constraints softly over hosts and zones, as clusters do by default.
type PodTopologySpread struct {
	// defaults are for pods without constraints; listed is set if they come from the configuration.
	defaults []corev1.TopologySpreadConstraint
	listed   bool
}

var systemDefaults = []corev1.TopologySpreadConstraint{
	{TopologyKey: hostnameLabel, MaxSkew: 3, WhenUnsatisfiable: corev1.ScheduleAnyway},
	{TopologyKey: corev1.LabelTopologyZone, MaxSkew: 5, WhenUnsatisfiable: corev1.ScheduleAnyway},
}

// NewPodTopologySpread returns the plugin with constraints for pods that have none themselves, instead of the
// usual ones. They have no label selector: they count the pods that the Services of the pod and its
// controller select.
func NewPodTopologySpread(defaults []corev1.TopologySpreadConstraint) (*PodTopologySpread, error) {
	for i, c := range defaults {
		switch {
		case c.LabelSelector != nil:
			return nil, fmt.Errorf("defaultConstraints[%d].labelSelector: a default constraint has none", i)
		case c.TopologyKey == "":
			return nil, fmt.Errorf("defaultConstraints[%d].topologyKey: required", i)
		case c.MaxSkew < 1:
			return nil, fmt.Errorf("defaultConstraints[%d].maxSkew: %d: want at least 1", i, c.MaxSkew)
		case c.WhenUnsatisfiable != corev1.DoNotSchedule && c.WhenUnsatisfiable != corev1.ScheduleAnyway:
			return nil, fmt.Errorf("defaultConstraints[%d].whenUnsatisfiable: %q: want DoNotSchedule or ScheduleAnyway", i, c.WhenUnsatisfiable)
		}
	}
	return &PodTopologySpread{defaults: defaults, listed: true}, nil
}

// Name returns "PodTopologySpread".
func (*PodTopologySpread) Name() string { return "PodTopologySpread" }

// spreading is what the plugin knows of a decision.
type spreading struct {
	constraints []spreadConstraint
	filters     []spreadFilter
	scores      []spreadScore
	// ignored are the feasible nodes that lack a label, by their place in the list; they score nothing.
	ignored []bool
	at      int
	skip    bool // nodes that lack a label
	list    spreadFilters
	// compiled are the default constraints of pods, by what they depend on.
	compiled map[string][]spreadConstraint
	version  uint64 // of the groupings that they are made of
	key      []byte
}

type spreadFilter struct {
	by *spreadConstraint
	*counter
}

type spreadFilters struct{ of *spreading }

type spreadScore struct {
	by *spreadConstraint
	*counter
	weight float64
}

// constraintsOf returns the constraints of a pod, or the defaults.
func (a *PodTopologySpread) constraintsOf(c *Cluster, p *Pod, s *spreading) []spreadConstraint {
	if len(p.spread) > 0 {
		return p.spread
	}
	defaults := systemDefaults
	if a.listed {
		defaults = a.defaults
	}
	if p.kinKey == "" || len(defaults) == 0 {
		return nil
	}
	s.key = append(append(append(append(s.key[:0], p.pod.Namespace...), 0), p.kinKey...), 0)
	s.key = append(append(append(s.key, p.choiceKey...), 0), p.tolerationKey...)
	if s.version != c.groupings.version {
		clear(s.compiled)
		s.version = c.groupings.version
	}
	if list, ok := s.compiled[string(s.key)]; ok {
		return list
	}
	if s.compiled == nil || len(s.compiled) > maxCounters {
		s.compiled = map[string][]spreadConstraint{}
	}
	var list []spreadConstraint
	if kin := c.groupings.kin(p.pod); !kin.Empty() {
		list = compileConstraints(p, defaults, &kin, a.listed)
	}
	s.compiled[string(s.key)] = list
	return list
}

// PreFilter implements PreFilterPlugin.
func (a *PodTopologySpread) PreFilter(cy *Cycle) (NodeFilter, *Status) {
	if len(cy.pod.spread) == 0 && cy.pod.kinKey == "" {
		return nil, nil
	}
	s := Scratch[spreading](cy, a)
	s.constraints = a.constraintsOf(cy.cluster, cy.pod, s)
	s.filters = s.filters[:0]
	for i := range s.constraints {
		if c := &s.constraints[i]; c.hard {
			s.filters = append(s.filters, spreadFilter{c, cy.cluster.spreadCounter(cy.pod, c)})
		}
	}
	if len(s.filters) == 0 {
		return nil, nil
	}
	s.list.of = s
	return &s.list, nil
}

// Filter implements NodeFilter.
func (f *spreadFilters) Filter(n *Node) *Status {
	for i := range f.of.filters {
		k := &f.of.filters[i]
		pods, ok := k.at(n)
		if !ok {
			return refusedSpreadLabel
		}
		least := k.least
		if k.size < k.by.minDomains {
			least = 0
		}
		if pods+k.by.selfMatch-least > k.by.maxSkew {
			return refusedSpread
		}
	}
	return nil
}

// PreScore implements PreScorePlugin.
func (a *PodTopologySpread) PreScore(cy *Cycle, feasible []*Node) (NodeScore, *Status) {
	if len(cy.pod.spread) == 0 && cy.pod.kinKey == "" {
		return nil, nil
	}
	s := Scratch[spreading](cy, a)
	s.constraints = a.constraintsOf(cy.cluster, cy.pod, s)
	s.scores = s.scores[:0]
	for i := range s.constraints {
		if c := &s.constraints[i]; !c.hard {
			s.scores = append(s.scores, spreadScore{by: c, counter: cy.cluster.spreadCounter(cy.pod, c)})
		}
	}
	if len(s.scores) == 0 {
		return nil, nil
	}
	s.skip = len(cy.pod.spread) > 0 || a.listed
	s.ignored, s.at = s.ignored[:0], 0
	scored := 0
	for _, n := range feasible {
		ignored := s.skip && slices.ContainsFunc(s.scores, func(k spreadScore) bool { return k.topo.of[n.id] == noDomain })
		s.ignored = append(s.ignored, ignored)
		if !ignored {
			scored++
		}
	}
	for i := range s.scores {
		k := &s.scores[i]
		size := scored
		if k.by.topology != hostnameLabel {
			size = cy.distinct(k.topo, feasible, s.ignored)
		}
		k.weight = math.Log(float64(size + 2))
	}
	return s, nil
}

// distinct counts the domains of nodes that are not ignored; nodes without one share one.
func (cy *Cycle) distinct(t *topology, nodes []*Node, ignored []bool) (size int) {
	cy.stamp++
	for i, n := range nodes {
		if ignored[i] {
			continue
		}
		d := t.of[n.id] + 1
		cy.stamps = grow(cy.stamps, d, 0)
		if cy.stamps[d] != cy.stamp {
			cy.stamps[d] = cy.stamp
			size++
		}
	}
	return size
}

// Score is how crowded the node's domains are; -1 for one that lacks a label.
func (s *spreading) Score(n *Node) int64 {
	ignored := s.ignored[s.at]
	if s.at++; ignored {
		return -1
	}
	score := 0.0
	for i := range s.scores {
		k := &s.scores[i]
		pods, ok := k.at(n)
		if !ok {
			continue
		}
		if k.by.topology == hostnameLabel {
			pods = k.on(n)
		}
		score += float64(pods)*k.weight + float64(k.by.maxSkew-1)
	}
	return int64(math.Round(score))
}

// NormalizeScore makes the least crowded nodes the best.
func (s *spreading) NormalizeScore(scores []int64) {
	low, high := int64(math.MaxInt64), int64(0)
	for _, v := range scores {
		if v >= 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	for i, v := range scores {
		switch {
		case v < 0:
			scores[i] = 0
		case high == 0:
			scores[i] = MaxNodeScore
		default:
			scores[i] = MaxNodeScore * (high + low - v) / high
		}
	}
}

// EventsToRegister implements EnqueueExtensions.
func (*PodTopologySpread) EventsToRegister() EventKind { return NodeEvents | AssignedPodEvents }

// QueueingHint implements QueueingHint: pods that a constraint counts and that come, go or change, and nodes
// with its label.
func (a *PodTopologySpread) QueueingHint(e *Event, p *Pod) bool {
	list := p.spread
	if len(list) == 0 {
		return true // what its default constraints select is known to the cluster only
	}
	if e.Kind&NodeEvents != 0 {
		return slices.ContainsFunc(list, func(c spreadConstraint) bool {
			return hasLabel(e.OldNode, c.topology) || hasLabel(e.NewNode, c.topology)
		})
	}
	return slices.ContainsFunc(list, func(c spreadConstraint) bool { return selects(&c, p, e.OldPod) || selects(&c, p, e.NewPod) })
}

func hasLabel(n *corev1.Node, key string) bool {
	if n == nil {
		return false
	}
	_, ok := n.Labels[key]
	return ok
}

func selects(c *spreadConstraint, p *Pod, of *corev1.Pod) bool {
	return of != nil && of.Namespace == p.pod.Namespace && c.selector.Matches(of.Labels)
}

// InterPodAffinity places pods near to or apart from others.
type InterPodAffinity struct {
	// HardPodAffinityWeight is how much a pod with a required affinity to the incoming one counts, from 0 to
	// 100; 1 by default.
	HardPodAffinityWeight int64
	// IgnorePreferredTermsOfExistingPods leaves those out of the score of pods without terms of their own.
	IgnorePreferredTermsOfExistingPods bool
}

// Name returns "InterPodAffinity".
func (*InterPodAffinity) Name() string { return "InterPodAffinity" }

// neighbors is what the plugin knows of a decision.
type neighbors struct {
	pod            *Pod
	required, anti []*counter
	// existing are the terms of placed pods that refuse the pod.
	existing  []*counter
	selfMatch bool
	scores    []neighborScore
	matched   []*counter
	filter    neighborFilter
}

type neighborFilter struct{ of *neighbors }

type neighborScore struct {
	*counter
	weight int64
}

// PreFilter implements PreFilterPlugin.
func (a *InterPodAffinity) PreFilter(cy *Cycle) (NodeFilter, *Status) {
	c, own := cy.cluster, &cy.pod.affinity
	if len(own.required)+len(own.requiredAnti)+len(c.anti.byKey) == 0 {
		return nil, nil
	}
	s := Scratch[neighbors](cy, a)
	s.pod, s.filter.of = cy.pod, s
	s.required, s.anti, s.selfMatch = s.required[:0], s.anti[:0], true
	for i := range own.required {
		t := &own.required[i]
		s.selfMatch = s.selfMatch && c.matches(t, cy.pod.pod)
		s.required = append(s.required, c.termCounter(t.together, t.topology, own.required))
	}
	for i := range own.requiredAnti {
		t := &own.requiredAnti[i]
		s.anti = append(s.anti, c.termCounter(t.key, t.topology, own.requiredAnti[i:i+1]))
	}
	s.existing = c.anti.match(c, cy.pod, s.existing[:0])
	if len(s.required)+len(s.anti)+len(s.existing) == 0 {
		return nil, nil
	}
	return &s.filter, nil
}

// Filter implements NodeFilter.
func (f *neighborFilter) Filter(n *Node) *Status {
	s := f.of
	ok, total := true, 0
	for _, k := range s.required {
		pods, has := k.at(n)
		if !has {
			return refusedNear
		}
		ok = ok && pods > 0
		total += k.total
	}
	// If no pod matches all terms, and the pod matches its own, it may be the first.
	if !ok && (total > 0 || !s.selfMatch) {
		return refusedNear
	}
	for _, k := range s.anti {
		if pods, has := k.at(n); has && pods > 0 {
			return refusedApart
		}
	}
	for _, k := range s.existing {
		if pods, has := k.at(n); has && pods > 0 {
			return refusedByExisting
		}
	}
	return nil
}

// PreScore implements PreScorePlugin.
func (a *InterPodAffinity) PreScore(cy *Cycle, _ []*Node) (NodeScore, *Status) {
	c, own := cy.cluster, cy.pod.affinity.preferred
	others := len(c.affine.byKey) > 0 && a.HardPodAffinityWeight > 0
	liked := len(c.liked.byKey) > 0 && (!a.IgnorePreferredTermsOfExistingPods || len(own) > 0)
	if len(own) == 0 && !others && !liked {
		return nil, nil
	}
	s := Scratch[neighbors](cy, a)
	s.scores = s.scores[:0]
	for i := range own {
		t := &own[i]
		s.scores = append(s.scores, neighborScore{c.termCounter(t.key, t.topology, own[i:i+1]), t.weight})
	}
	if others {
		s.matched = c.affine.match(c, cy.pod, s.matched[:0])
		for _, k := range s.matched {
			s.scores = append(s.scores, neighborScore{k, a.HardPodAffinityWeight})
		}
	}
	if liked {
		s.matched = c.liked.match(c, cy.pod, s.matched[:0])
		for _, k := range s.matched {
			s.scores = append(s.scores, neighborScore{k, k.term.weight})
		}
	}
	s.scores = slices.DeleteFunc(s.scores, func(k neighborScore) bool { return k.total == 0 })
	if len(s.scores) == 0 {
		return nil, nil
	}
	return s, nil
}

// Score adds up the weights of the pods in the node's domains.
func (s *neighbors) Score(n *Node) (sum int64) {
	for i := range s.scores {
		k := &s.scores[i]
		if pods, ok := k.at(n); ok {
			sum += int64(pods) * k.weight
		}
	}
	return sum
}

// NormalizeScore maps the smallest sum to 0 and the largest to 100.
func (s *neighbors) NormalizeScore(scores []int64) {
	low, high := slices.Min(scores), slices.Max(scores)
	for i, v := range scores {
		scores[i] = 0
		if high > low {
			scores[i] = int64(MaxNodeScore * (float64(v-low) / float64(high-low)))
		}
	}
}

// EventsToRegister implements EnqueueExtensions. Pods that come may be those that the pod wants near, pods
// that go those that it or that themselves want it apart.
func (*InterPodAffinity) EventsToRegister() EventKind {
	return NodeAdd | NodeUpdate | AssignedPodEvents | NamespaceUpdate
}

// QueueingHint implements QueueingHint: pods that a term of the pod selects, or that have terms themselves.
func (a *InterPodAffinity) QueueingHint(e *Event, p *Pod) bool {
	if e.Kind&AssignedPodEvents == 0 || e.Kind == AssignedPodUpdate {
		return true
	}
	if e.Kind == AssignedPodDelete {
		return e.OldPod == nil || e.OldPod.Spec.Affinity != nil || len(p.affinity.requiredAnti) > 0
	}
	return slices.ContainsFunc(p.affinity.required, func(t podTerm) bool { return t.selector.Matches(e.NewPod.Labels) })
}
