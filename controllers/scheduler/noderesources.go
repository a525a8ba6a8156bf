package scheduler

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
)

// ScoringStrategy says how [NodeResourcesFit] scores nodes by what their pods request.
type ScoringStrategy string

// The scoring strategies.
const (
	// LeastAllocated prefers nodes with much left; it is the default.
	LeastAllocated ScoringStrategy = "LeastAllocated"
	// MostAllocated prefers nodes with little left.
	MostAllocated ScoringStrategy = "MostAllocated"
	// RequestedToCapacityRatio scores by a function of the requested share.
	RequestedToCapacityRatio ScoringStrategy = "RequestedToCapacityRatio"
)

// ResourceWeight is a resource and how much it counts, from 1 to 100.
type ResourceWeight struct {
	Name   corev1.ResourceName
	Weight int64
}

// ShapePoint is a point of a function that scores utilizations, for [RequestedToCapacityRatio] and
// [NewVolumeBinding]: the score, from 0 to 10, at a utilization, from 0 to 100 percent. Between two points
// the function is linear.
type ShapePoint struct{ Utilization, Score int64 }

// FitOptions are the arguments of [NodeResourcesFit].
type FitOptions struct {
	// IgnoredResources and IgnoredResourceGroups, the parts of names before the slash, are extended resources
	// that nodes are not refused for.
	IgnoredResources, IgnoredResourceGroups []string
	// Strategy is how nodes are scored; empty means LeastAllocated.
	Strategy ScoringStrategy
	// Resources are those that are scored; none means cpu and memory with weight 1.
	Resources []ResourceWeight
	// Shape is required for RequestedToCapacityRatio, with utilizations in strictly ascending order.
	Shape []ShapePoint
}

// NodeResourcesFit refuses nodes with too little of what the pod requests, and scores the others. The zero
// value scores as LeastAllocated.
type NodeResourcesFit struct{ opts FitOptions }

var coreResources = []ResourceWeight{{corev1.ResourceCPU, 1}, {corev1.ResourceMemory, 1}}

// NewNodeResourcesFit returns the plugin with arguments.
func NewNodeResourcesFit(opts FitOptions) (*NodeResourcesFit, error) {
	if err := checkWeights(opts.Resources); err != nil {
		return nil, fmt.Errorf("scoringStrategy.%w", err)
	}
	for _, g := range opts.IgnoredResourceGroups {
		if strings.Contains(g, "/") {
			return nil, fmt.Errorf("ignoredResourceGroups: %q: a group has no slash", g)
		}
	}
	switch opts.Strategy {
	case "", LeastAllocated, MostAllocated:
		if len(opts.Shape) > 0 {
			return nil, fmt.Errorf("scoringStrategy.requestedToCapacityRatio: it has no meaning for the type %q", opts.Strategy)
		}
	case RequestedToCapacityRatio:
		if err := checkShape(opts.Shape); err != nil {
			return nil, fmt.Errorf("scoringStrategy.requestedToCapacityRatio.%w", err)
		}
	default:
		return nil, fmt.Errorf("scoringStrategy.type: %q: want LeastAllocated, MostAllocated or RequestedToCapacityRatio", opts.Strategy)
	}
	return &NodeResourcesFit{opts}, nil
}

// Ignoring returns the plugin with further resources that nodes are not refused for.
func (a *NodeResourcesFit) Ignoring(names ...string) *NodeResourcesFit {
	out := *a
	out.opts.IgnoredResources = append(slices.Clone(a.opts.IgnoredResources), names...)
	return &out
}

func checkShape(shape []ShapePoint) error {
	if len(shape) == 0 {
		return fmt.Errorf("shape: want at least one point")
	}
	for i, p := range shape {
		if p.Utilization < 0 || p.Utilization > 100 || p.Score < 0 || p.Score > 10 || i > 0 && p.Utilization <= shape[i-1].Utilization {
			return fmt.Errorf("shape[%d]: want a utilization of 0 to 100 that ascends, and a score of 0 to 10", i)
		}
	}
	return nil
}

func checkWeights(list []ResourceWeight) error {
	for i, r := range list {
		if r.Name == "" || r.Weight < 1 || r.Weight > 100 {
			return fmt.Errorf("resources[%d]: want a name and a weight of 1 to 100", i)
		}
	}
	return nil
}

// Name returns "NodeResourcesFit".
func (*NodeResourcesFit) Name() string { return "NodeResourcesFit" }

// The answers for too little of the resources that all nodes have, by a bit for each.
const (
	shortPods = 1 << iota
	shortCPU
	shortMemory
	shortEphemeral
)

var (
	shortages      = newShortages(Unschedulable)
	finalShortages = newShortages(UnschedulableAndUnresolvable)
)

func newShortages(code Code) (out [16]*Status) {
	for bits := range out {
		st := refusal(code, "NodeResourcesFit")
		for i, text := range []string{"Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage"} {
			if bits&(1<<i) != 0 {
				st.Reasons = append(st.Reasons, text)
			}
		}
		out[bits] = st
	}
	return out
}

type fitFilter struct {
	need amounts
	// others are the extended resources that the pod requests and that are not ignored.
	others []corev1.ResourceName
	// devices, if not nil, says which of them DynamicResources looks at.
	devices *deviceState
	// by and pod are who scores what, and scored, if not nil, the devices that count in scores.
	by     *NodeResourcesFit
	pod    *Pod
	scored *deviceState
}

// skips reports whether a node has a resource as devices, which this plugin does not count.
func (f *fitFilter) skips(name corev1.ResourceName, n *Node) bool {
	return f.devices != nil && f.devices.fromDevices(name, n)
}

// PreFilter implements PreFilterPlugin.
func (a *NodeResourcesFit) PreFilter(cy *Cycle) (NodeFilter, *Status) {
	f := Scratch[fitFilter](cy, a)
	f.need, f.others = cy.pod.need, f.others[:0]
	f.devices = nil
	for name, want := range cy.pod.need.others {
		if want > 0 && !a.ignores(string(name)) {
			f.others = append(f.others, name)
		}
	}
	slices.Sort(f.others)
	if len(f.others) > 0 && cy.profile.index("DynamicResources") >= 0 {
		f.devices = &cy.cluster.devices
	}
	return f, nil
}

// EventsToRegister implements EnqueueExtensions.
func (*NodeResourcesFit) EventsToRegister() EventKind {
	return NodeAdd | NodeUpdate | AssignedPodDelete | AssignedPodUpdate | DeviceClassEvent
}

// QueueingHint implements QueueingHint: pods that end or request less, nodes that are new or have more, if
// they are large enough at all, and classes of devices that serve a resource of the pod.
func (a *NodeResourcesFit) QueueingHint(e *Event, p *Pod) bool {
	if e.Kind == AssignedPodUpdate {
		return shrinks(e.OldPod, e.NewPod)
	}
	if e.Kind == DeviceClassEvent {
		class, ok := e.New.(*resourcev1.DeviceClass)
		return ok && (p.need.others[corev1.ResourceName(deref(class.Spec.ExtendedResourceName))] > 0 ||
			p.need.others[corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix+class.Name)] > 0)
	}
	if e.NewNode == nil {
		return true
	}
	n := &Node{obj: e.NewNode, allocatable: amountsOf(e.NewNode.Status.Allocatable), maxPods: podsAllowed(e.NewNode.Status.Allocatable)}
	f := &fitFilter{need: p.need}
	for name, want := range p.need.others {
		mayHaveDevices := n.allocatable.others[name] == 0 && resourcev1.MayHaveClass(name)
		if want > 0 && !a.ignores(string(name)) && !mayHaveDevices {
			f.others = append(f.others, name)
		}
	}
	if !f.Filter(n).OK() {
		return false
	}
	if e.OldNode == nil {
		return true
	}
	was := amountsOf(e.OldNode.Status.Allocatable)
	for _, name := range append([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}, f.others...) {
		if n.allocatable.of(name) > was.of(name) {
			return true
		}
	}
	return n.maxPods > podsAllowed(e.OldNode.Status.Allocatable)
}

// shrinks reports whether a pod requests less of something than before.
func shrinks(was, now *corev1.Pod) bool {
	a, _ := requestOf(was)
	b, _ := requestOf(now)
	if b.cpu < a.cpu || b.memory < a.memory || b.ephemeral < a.ephemeral {
		return true
	}
	for name, v := range a.others {
		if b.others[name] < v {
			return true
		}
	}
	return false
}

func (a *NodeResourcesFit) ignores(name string) bool {
	if slices.Contains(a.opts.IgnoredResources, name) {
		return true
	}
	group, _, ok := strings.Cut(name, "/")
	return ok && slices.Contains(a.opts.IgnoredResourceGroups, group)
}

func (*fitFilter) monotone() {}

// Filter implements NodeFilter.
func (f *fitFilter) Filter(n *Node) *Status {
	bits := 0
	if len(n.pods)+1 > n.maxPods {
		bits = shortPods
	}
	if w := f.need.cpu; w > 0 && w > n.allocatable.cpu-n.used.cpu {
		bits |= shortCPU
	}
	if w := f.need.memory; w > 0 && w > n.allocatable.memory-n.used.memory {
		bits |= shortMemory
	}
	if w := f.need.ephemeral; w > 0 && w > n.allocatable.ephemeral-n.used.ephemeral {
		bits |= shortEphemeral
	}
	for _, name := range f.others {
		if f.need.others[name] > n.allocatable.others[name]-n.used.others[name] && !f.skips(name, n) {
			return f.shortOfOthers(n, bits)
		}
	}
	if bits == 0 {
		return nil
	}
	if f.neverFits(n) {
		return finalShortages[bits]
	}
	return shortages[bits]
}

// shortOfOthers is the answer for a node that has too little of an extended resource.
func (f *fitFilter) shortOfOthers(n *Node, bits int) *Status {
	st := refusal(Unschedulable, "NodeResourcesFit", shortages[bits].Reasons...)
	if f.neverFits(n) {
		st.Code = UnschedulableAndUnresolvable
	}
	for _, name := range f.others {
		if f.need.others[name] > n.allocatable.others[name]-n.used.others[name] && !f.skips(name, n) {
			st.Reasons = append(st.Reasons[:len(st.Reasons):len(st.Reasons)], "Insufficient "+string(name))
		}
	}
	return st
}

// neverFits reports whether the node is too small even when empty.
func (f *fitFilter) neverFits(n *Node) bool {
	if f.need.cpu > n.allocatable.cpu || f.need.memory > n.allocatable.memory || f.need.ephemeral > n.allocatable.ephemeral || n.maxPods < 1 {
		return true
	}
	for _, name := range f.others {
		if f.need.others[name] > n.allocatable.others[name] && !f.skips(name, n) {
			return true
		}
	}
	return false
}

// PreScore implements PreScorePlugin.
func (a *NodeResourcesFit) PreScore(cy *Cycle, _ []*Node) (NodeScore, *Status) {
	f := Scratch[fitFilter](cy, a)
	f.by, f.pod, f.scored = a, cy.pod, nil
	if d := &cy.cluster.devices; len(a.opts.Resources) > 0 && d.scores(a.opts.Resources) {
		f.scored, cy.compared = d, true // another node may take of them
	}
	return f, nil
}

// Score implements NodeScore.
func (f *fitFilter) Score(n *Node) int64 { return f.by.score(f.pod, n, f.scored) }

// Score scores by the strategy, without devices.
func (a *NodeResourcesFit) Score(p *Pod, n *Node) int64 { return a.score(p, n, nil) }

func (a *NodeResourcesFit) score(p *Pod, n *Node, d *deviceState) int64 {
	list := a.opts.Resources
	if list == nil && (a.opts.Strategy == "" || a.opts.Strategy == LeastAllocated) {
		return leastAllocated(p, n)
	}
	if list == nil {
		list = coreResources
	}
	var sum, weights int64
	for i := range list {
		r := &list[i]
		have, used, want := scored(p, n, r.Name, &p.asked, &n.nonZero, d)
		if have == 0 {
			continue
		}
		score := a.share(have, used+want)
		if a.opts.Strategy == RequestedToCapacityRatio && score <= 0 {
			continue
		}
		sum += score * r.Weight
		weights += r.Weight
	}
	switch {
	case weights == 0:
		return 0
	case a.opts.Strategy == RequestedToCapacityRatio:
		return int64(math.Round(float64(sum) / float64(weights)))
	}
	return sum / weights
}

// leastAllocated is the score by default, without any lookups.
func leastAllocated(p *Pod, n *Node) (sum int64) {
	kinds := int64(0)
	if have := n.allocatable.cpu; have > 0 {
		kinds++
		if left := have - n.nonZero.cpu - p.asked.cpu; left > 0 {
			sum = left * MaxNodeScore / have
		}
	}
	if have := n.allocatable.memory; have > 0 {
		kinds++
		if left := have - n.nonZero.memory - p.asked.memory; left > 0 {
			sum += left * MaxNodeScore / have
		}
	}
	if kinds == 2 {
		return sum / 2
	}
	return sum
}

// share scores the utilization of one resource.
func (a *NodeResourcesFit) share(have, requested int64) int64 {
	switch a.opts.Strategy {
	case MostAllocated:
		return min(requested, have) * MaxNodeScore / have
	case RequestedToCapacityRatio:
		if requested > have {
			requested = have
		}
		return scoreOfShape(a.opts.Shape, requested*100/have)
	}
	if requested > have {
		return 0
	}
	return (have - requested) * MaxNodeScore / have
}

// scoreOfShape is the function that points describe, with scores up to 100.
func scoreOfShape(s []ShapePoint, utilization int64) int64 {
	for i, p := range s {
		if utilization > p.Utilization {
			continue
		}
		if i == 0 {
			return p.Score * 10
		}
		q := s[i-1]
		return q.Score*10 + (p.Score-q.Score)*10*(utilization-q.Utilization)/(p.Utilization-q.Utilization)
	}
	return s[len(s)-1].Score * 10
}

// scored returns what a node has of a resource, what its pods request and what the pod requests; nothing for
// an extended resource that the pod does not request. CPU and memory are taken from want and used, which may
// assume something for pods that request nothing. Extended resources that devices serve are those, unless d
// is nil.
func scored(p *Pod, n *Node, name corev1.ResourceName, want, used *amounts, d *deviceState) (int64, int64, int64) {
	switch name {
	case corev1.ResourceCPU:
		return n.allocatable.cpu, used.cpu, want.cpu
	case corev1.ResourceMemory:
		return n.allocatable.memory, used.memory, want.memory
	case corev1.ResourceEphemeralStorage:
		return n.allocatable.ephemeral, n.used.ephemeral, p.need.ephemeral
	}
	w := p.need.others[name]
	if w == 0 {
		return 0, 0, 0
	}
	if all, taken := d.countOn(name, n); all > 0 {
		return all, taken, w
	}
	return n.allocatable.others[name], n.used.others[name], w
}

// NodeResourcesBalancedAllocation prefers nodes where the pod makes the shares of the resources that are
// requested more alike. The zero value looks at cpu and memory.
type NodeResourcesBalancedAllocation struct{ resources []ResourceWeight }

// NewNodeResourcesBalancedAllocation returns the plugin for other resources; their weights must be 1.
func NewNodeResourcesBalancedAllocation(resources []ResourceWeight) (*NodeResourcesBalancedAllocation, error) {
	for i, r := range resources {
		if r.Name == "" || r.Weight != 1 {
			return nil, fmt.Errorf("resources[%d]: want a name and the weight 1", i)
		}
	}
	return &NodeResourcesBalancedAllocation{resources}, nil
}

// Name returns "NodeResourcesBalancedAllocation".
func (*NodeResourcesBalancedAllocation) Name() string { return "NodeResourcesBalancedAllocation" }

type balance struct {
	pod       *Pod
	resources []ResourceWeight
	core      bool // the resources are cpu and memory
	// devices, if not nil, are those that count.
	devices *deviceState
}

// PreScore leaves out pods that request nothing: they change no balance, and all of them would go to the best
// balanced node.
func (a *NodeResourcesBalancedAllocation) PreScore(cy *Cycle, _ []*Node) (NodeScore, *Status) {
	s := Scratch[balance](cy, a)
	s.pod, s.resources, s.core = cy.pod, a.resources, a.resources == nil
	if s.resources == nil {
		s.resources = coreResources
	}
	if s.devices = nil; !s.core && cy.cluster.devices.scores(s.resources) {
		s.devices, cy.compared = &cy.cluster.devices, true
	}
	for _, r := range s.resources {
		if s.pod.need.of(r.Name) != 0 {
			return s, nil
		}
	}
	return nil, nil
}

// Score compares the balance with and without the pod; 75 is no change.
func (s *balance) Score(n *Node) int64 {
	if s.core && n.allocatable.cpu > 0 && n.allocatable.memory > 0 {
		cpu, memory := float64(n.allocatable.cpu), float64(n.allocatable.memory)
		with := min(float64(n.used.cpu+s.pod.need.cpu)/cpu, 1) - min(float64(n.used.memory+s.pod.need.memory)/memory, 1)
		without := min(float64(n.used.cpu)/cpu, 1) - min(float64(n.used.memory)/memory, 1)
		return MaxNodeScore/2 + (MaxNodeScore/2+int64((1-math.Abs(with/2))*MaxNodeScore)-int64((1-math.Abs(without/2))*MaxNodeScore))/2
	}
	var with, without shares
	for i := range s.resources {
		have, used, want := scored(s.pod, n, s.resources[i].Name, &s.pod.need, &n.used, s.devices)
		if have == 0 {
			continue
		}
		with.add(float64(used+want) / float64(have))
		without.add(float64(used) / float64(have))
	}
	return MaxNodeScore/2 + (MaxNodeScore/2+with.score()-without.score())/2
}

// shares are the requested shares of resources.
type shares struct {
	n     int
	first [2]float64
	// sum and squares are those of all shares.
	sum, squares float64
}

func (s *shares) add(v float64) {
	v = min(v, 1)
	if s.n < 2 {
		s.first[s.n] = v
	}
	s.n++
	s.sum += v
	s.squares += v * v
}

// score falls with the standard deviation.
func (s *shares) score() int64 {
	deviation := 0.0
	switch {
	case s.n == 2:
		deviation = math.Abs((s.first[0] - s.first[1]) / 2)
	case s.n > 2:
		mean := s.sum / float64(s.n)
		deviation = math.Sqrt(max(s.squares/float64(s.n)-mean*mean, 0))
	}
	return int64((1 - deviation) * MaxNodeScore)
}
