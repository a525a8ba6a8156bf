package scheduler

import (
	"errors"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
)

const (
	unschedulableTaint = "node.kubernetes.io/unschedulable"
	hostnameLabel      = "kubernetes.io/hostname"
)

// The answers of the plugins that look at nodes only, in the words that users search for.
var (
	refusedUnschedulable = refusal(UnschedulableAndUnresolvable, "NodeUnschedulable", "node(s) were unschedulable")
	refusedName          = refusal(UnschedulableAndUnresolvable, "NodeName", "node(s) didn't match the requested node name")
	refusedTaint         = refusal(UnschedulableAndUnresolvable, "TaintToleration", "node(s) had untolerated taint(s)")
	refusedAffinity      = refusal(UnschedulableAndUnresolvable, "NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
	refusedAdded         = refusal(UnschedulableAndUnresolvable, "NodeAffinity", "node(s) didn't match scheduler-enforced node affinity")
	refusedPorts         = refusal(Unschedulable, "NodePorts", "node(s) didn't have free ports for the requested pod ports")
	refusedFeatures      = refusal(UnschedulableAndUnresolvable, "NodeDeclaredFeatures", "node(s) didn't match Pod's required features")
	refusedGates         = refusal(UnschedulableAndUnresolvable, "SchedulingGates", "waiting for scheduling gates")
)

// SchedulingGates keeps pods with scheduling gates out of the queue.
type SchedulingGates struct{}

// Name returns "SchedulingGates".
func (SchedulingGates) Name() string { return "SchedulingGates" }

// PreEnqueue refuses pods with scheduling gates.
func (SchedulingGates) PreEnqueue(p *Pod) *Status {
	if len(p.pod.Spec.SchedulingGates) > 0 {
		return refusedGates
	}
	return nil
}

// EventsToRegister implements EnqueueExtensions. It returns none: only a change of the pod opens gates.
func (SchedulingGates) EventsToRegister() EventKind { return 0 }

// PrioritySort orders pods by priority, then by how long they have waited.
type PrioritySort struct{}

// Name returns "PrioritySort".
func (PrioritySort) Name() string { return "PrioritySort" }

// Less reports whether a is to be tried before b.
func (PrioritySort) Less(a, b *QueuedPod) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	return a.Since.Before(b.Since)
}

// NodeUnschedulable refuses cordoned nodes, unless the pod tolerates their taint.
type NodeUnschedulable struct{}

// Name returns "NodeUnschedulable".
func (NodeUnschedulable) Name() string { return "NodeUnschedulable" }

// Sign signs the tolerations.
func (NodeUnschedulable) Sign(p *Pod, b []byte) []byte { return append(b, p.tolerationKey...) }

// Filter implements FilterPlugin.
func (NodeUnschedulable) Filter(p *Pod, n *Node) *Status {
	if n.obj.Spec.Unschedulable && !nodefit.Tolerates(p.pod.Spec.Tolerations, &corev1.Taint{Key: unschedulableTaint, Effect: corev1.TaintEffectNoSchedule}) {
		return refusedUnschedulable
	}
	return nil
}

// EventsToRegister implements EnqueueExtensions.
func (NodeUnschedulable) EventsToRegister() EventKind { return NodeAdd | NodeUpdate }

// QueueingHint implements QueueingHint.
func (x NodeUnschedulable) QueueingHint(e *Event, p *Pod) bool { return nodeMayPass(x, e, p) }

// NodeName refuses all nodes but the one that spec.nodeName names.
type NodeName struct{}

// Name returns "NodeName".
func (NodeName) Name() string { return "NodeName" }

// Sign signs spec.nodeName.
func (NodeName) Sign(p *Pod, b []byte) []byte { return append(b, p.pod.Spec.NodeName...) }

// Filter implements FilterPlugin.
func (NodeName) Filter(p *Pod, n *Node) *Status {
	if name := p.pod.Spec.NodeName; name != "" && name != n.name {
		return refusedName
	}
	return nil
}

// EventsToRegister implements EnqueueExtensions.
func (NodeName) EventsToRegister() EventKind { return NodeAdd | NodeUpdate }

// QueueingHint implements QueueingHint.
func (x NodeName) QueueingHint(e *Event, p *Pod) bool { return nodeMayPass(x, e, p) }

// nodeMayPass reports whether an event is of a node that the filter allows.
func nodeMayPass(f FilterPlugin, e *Event, p *Pod) bool {
	return e.NewNode != nil && f.Filter(p, &Node{name: e.NewNode.Name, obj: e.NewNode}).OK()
}

// TaintToleration refuses nodes with taints that the pod does not tolerate, and prefers nodes with few taints
// of effect PreferNoSchedule that it does not tolerate.
type TaintToleration struct{}

// Name returns "TaintToleration".
func (TaintToleration) Name() string { return "TaintToleration" }

// Sign signs the tolerations.
func (TaintToleration) Sign(p *Pod, b []byte) []byte { return append(b, p.tolerationKey...) }

// Filter implements FilterPlugin.
func (TaintToleration) Filter(p *Pod, n *Node) *Status {
	for i := range n.obj.Spec.Taints {
		t := &n.obj.Spec.Taints[i]
		if (t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute) && !nodefit.Tolerates(p.pod.Spec.Tolerations, t) {
			return refusedTaint
		}
	}
	return nil
}

// Score counts the taints that discourage the pod.
func (TaintToleration) Score(p *Pod, n *Node) (count int64) {
	for i := range n.discouraged {
		if !nodefit.Tolerates(p.pod.Spec.Tolerations, &n.discouraged[i]) {
			count++
		}
	}
	return count
}

// NormalizeScore makes the nodes with the fewest taints the best.
func (TaintToleration) NormalizeScore(scores []int64) { scaleDown(scores) }

// EventsToRegister implements EnqueueExtensions.
func (TaintToleration) EventsToRegister() EventKind { return NodeAdd | NodeUpdate }

// QueueingHint implements QueueingHint.
func (x TaintToleration) QueueingHint(e *Event, p *Pod) bool { return nodeMayPass(x, e, p) }

// scaleUp brings values to 0..100 so that the largest becomes 100.
func scaleUp(v []int64) {
	if top := slices.Max(v); top > 0 {
		for i := range v {
			v[i] = v[i] * MaxNodeScore / top
		}
	}
}

// scaleDown is scaleUp with the smallest best.
func scaleDown(v []int64) {
	top := slices.Max(v)
	for i := range v {
		if top == 0 {
			v[i] = MaxNodeScore
			continue
		}
		v[i] = MaxNodeScore - v[i]*MaxNodeScore/top
	}
}

// NodeAffinity refuses nodes that do not match the pod's node selector and required node affinity, and
// prefers those that match its preferred node affinity.
type NodeAffinity struct{ added *nodeTerms }

// NewNodeAffinity returns the plugin with an affinity that is added to that of every pod; nil adds none.
func NewNodeAffinity(added *corev1.NodeAffinity) (*NodeAffinity, error) {
	if added == nil {
		return &NodeAffinity{}, nil
	}
	if r := added.RequiredDuringSchedulingIgnoredDuringExecution; r != nil && len(r.NodeSelectorTerms) == 0 {
		return nil, errors.New("addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: want at least one term")
	}
	for i, p := range added.PreferredDuringSchedulingIgnoredDuringExecution {
		if p.Weight < 1 || p.Weight > 100 {
			return nil, fmt.Errorf("addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[%d].weight: %d: want 1 to 100", i, p.Weight)
		}
	}
	return &NodeAffinity{added: compileNodeTerms(added)}, nil
}

// Name returns "NodeAffinity".
func (*NodeAffinity) Name() string { return "NodeAffinity" }

// Sign signs the node selector and the required node affinity.
func (*NodeAffinity) Sign(p *Pod, b []byte) []byte { return append(b, p.choiceKey...) }

// Filter implements FilterPlugin.
func (a *NodeAffinity) Filter(p *Pod, n *Node) *Status {
	if a.added != nil && !nodefit.MatchesAny(a.added.required, n.obj) {
		return refusedAdded
	}
	if !p.matchesNode(n.obj) {
		return refusedAffinity
	}
	return nil
}

// EventsToRegister implements EnqueueExtensions.
func (*NodeAffinity) EventsToRegister() EventKind { return NodeAdd | NodeUpdate }

// QueueingHint implements QueueingHint.
func (a *NodeAffinity) QueueingHint(e *Event, p *Pod) bool { return nodeMayPass(a, e, p) }

type nodePreference struct {
	pod   *Pod
	added *nodeTerms
}

// PreScore implements PreScorePlugin.
func (a *NodeAffinity) PreScore(cy *Cycle, _ []*Node) (NodeScore, *Status) {
	own := cy.pod.nodeAffinity
	if (own == nil || len(own.preferred) == 0) && (a.added == nil || len(a.added.preferred) == 0) {
		return nil, nil
	}
	s := Scratch[nodePreference](cy, a)
	*s = nodePreference{cy.pod, a.added}
	return s, nil
}

// Score adds up the weights of the preferred terms that match.
func (s *nodePreference) Score(n *Node) (sum int64) {
	if s.pod.nodeAffinity != nil {
		sum = s.pod.nodeAffinity.preference(n.obj)
	}
	if s.added != nil {
		sum += s.added.preference(n.obj)
	}
	return sum
}

// NormalizeScore makes the node with the largest sum the best.
func (s *nodePreference) NormalizeScore(scores []int64) { scaleUp(scores) }

// NodePorts refuses nodes where another pod uses one of the pod's host ports.
type NodePorts struct{}

// Name returns "NodePorts".
func (NodePorts) Name() string { return "NodePorts" }

type portFilter struct{ want []hostPort }

// PreFilter implements PreFilterPlugin.
func (a NodePorts) PreFilter(cy *Cycle) (NodeFilter, *Status) {
	if len(cy.pod.ports) == 0 {
		return nil, nil
	}
	f := Scratch[portFilter](cy, a)
	f.want = cy.pod.ports
	return f, nil
}

// EventsToRegister implements EnqueueExtensions.
func (NodePorts) EventsToRegister() EventKind { return NodeAdd | AssignedPodDelete }

// QueueingHint implements QueueingHint: a node that is new, or a pod that ended and had such a port, may
// help.
func (NodePorts) QueueingHint(e *Event, p *Pod) bool {
	return e.OldPod == nil || slices.ContainsFunc(hostPorts(e.OldPod), func(a hostPort) bool { return slices.ContainsFunc(p.ports, a.conflicts) })
}

func (*portFilter) monotone() {}

// Filter implements NodeFilter.
func (f *portFilter) Filter(n *Node) *Status {
	if len(n.ports) == 0 {
		return nil
	}
	for _, w := range f.want {
		if n.ports[w] > 0 {
			return refusedPorts
		}
		for used := range n.ports {
			if w.conflicts(used) {
				return refusedPorts
			}
		}
	}
	return nil
}

// NodeDeclaredFeatures refuses nodes that do not declare, in their status, the features that a pod needs of
// them.
type NodeDeclaredFeatures struct{}

// Name returns "NodeDeclaredFeatures".
func (NodeDeclaredFeatures) Name() string { return "NodeDeclaredFeatures" }

// neededFeatures are those that pods can need from the beginning, with what needs them.
var neededFeatures = []struct {
	name string
	by   func(spec *corev1.PodSpec) bool
}{
	{"RestartAllContainersOnContainerExits", corev1.MayRestartAllContainers},
	{"UserNamespacesHostNetworkSupport", func(spec *corev1.PodSpec) bool {
		return spec.HostNetwork && spec.HostUsers != nil && !*spec.HostUsers
	}},
}

type featureFilter struct{ needs []string }

// PreFilter implements PreFilterPlugin.
func (a NodeDeclaredFeatures) PreFilter(cy *Cycle) (NodeFilter, *Status) {
	if len(cy.pod.features) == 0 {
		return nil, nil
	}
	f := Scratch[featureFilter](cy, a)
	f.needs = cy.pod.features
	return f, nil
}

func featuresOf(pod *corev1.Pod) (out []string) {
	for i := range neededFeatures {
		if f := &neededFeatures[i]; f.by(&pod.Spec) {
			out = append(out, f.name)
		}
	}
	return out
}

func (*featureFilter) monotone() {}

// Filter implements NodeFilter.
func (f *featureFilter) Filter(n *Node) *Status {
	for _, name := range f.needs {
		if !slices.Contains(n.obj.Status.DeclaredFeatures, name) {
			return refusedFeatures
		}
	}
	return nil
}

// EventsToRegister implements EnqueueExtensions.
func (NodeDeclaredFeatures) EventsToRegister() EventKind { return NodeAdd | NodeUpdate }

// QueueingHint implements QueueingHint.
func (NodeDeclaredFeatures) QueueingHint(e *Event, p *Pod) bool {
	f := featureFilter{p.features}
	return e.NewNode != nil && f.Filter(&Node{obj: e.NewNode}).OK()
}

// Images below the first size save nothing worth a preference, and above the second all count alike, per
// container.
const (
	smallImage = 23 << 20
	largeImage = 1000 << 20
)

// ImageLocality prefers nodes that have the pod's images, the less the rarer they are, so that one node does
// not get all pods.
type ImageLocality struct{}

// Name returns "ImageLocality".
func (ImageLocality) Name() string { return "ImageLocality" }

type imageScore struct {
	images []*image
	nodes  int
	top    int64
}

// PreScore implements PreScorePlugin.
func (a ImageLocality) PreScore(cy *Cycle, _ []*Node) (NodeScore, *Status) {
	c := cy.cluster
	if len(c.images) == 0 {
		return nil, nil
	}
	s := Scratch[imageScore](cy, a)
	s.images, s.nodes = s.images[:0], len(c.order)
	for _, name := range cy.pod.images {
		if img := c.images[name]; img != nil {
			s.images = append(s.images, img)
		}
	}
	if len(s.images) == 0 {
		return nil, nil
	}
	s.top = largeImage * int64(len(cy.pod.pod.Spec.Containers)+len(cy.pod.pod.Spec.InitContainers))
	return s, nil
}

// Score is the share of the pod's images that the node has, by size.
func (s *imageScore) Score(n *Node) int64 {
	var sum int64
	for _, img := range s.images {
		if size := img.nodes[n.id]; size > 0 {
			sum += int64(float64(size) * (float64(len(img.nodes)) / float64(s.nodes)))
		}
	}
	sum = min(max(sum, smallImage), s.top)
	return MaxNodeScore * (sum - smallImage) / (s.top - smallImage)
}
