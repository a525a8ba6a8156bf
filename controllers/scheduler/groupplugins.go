package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

const gangScheduling = "GangScheduling"

// GangScheduling lets the pods of a PodGroup with the policy gang be bound only if as many of them as its
// minCount have nodes, and keeps them out of the queue until as many exist. It needs [Options.PodGroups].
type GangScheduling struct{}

// Name returns "GangScheduling".
func (GangScheduling) Name() string { return gangScheduling }

// PreEnqueue implements PreEnqueuePlugin. It returns nil: whether a group is complete says the scheduler's
// state, which the scheduler looks at where this plugin is.
func (GangScheduling) PreEnqueue(*Pod) *Status { return nil }

// EventsToRegister implements EnqueueExtensions. It returns none: what concerns groups is seen by the
// scheduler.
func (GangScheduling) EventsToRegister() EventKind { return 0 }

// Permit implements PermitPlugin. It returns nil, as PreEnqueue does.
func (GangScheduling) Permit(context.Context, *Pod, string) (*Status, time.Duration) { return nil, 0 }

// TopologyPlacementGenerator gives a PodGroup with a topology constraint one placement for each value of the
// label on nodes, or that of its pods which are placed already.
type TopologyPlacementGenerator struct{}

// Name returns "TopologyPlacementGenerator".
func (TopologyPlacementGenerator) Name() string { return "TopologyPlacementGenerator" }

// GeneratePlacements implements PlacementGeneratePlugin.
func (TopologyPlacementGenerator) GeneratePlacements(g *PodGroup, nodes []*Node) ([]*Placement, *Status) {
	obj := g.Object()
	if obj == nil {
		return nil, NewStatus(Error, fmt.Sprintf("podgroup.scheduling.k8s.io %q not found", g.key.Name))
	}
	if obj.Spec.SchedulingConstraints == nil || len(obj.Spec.SchedulingConstraints.Topology) == 0 {
		return []*Placement{{Nodes: nodes}}, nil
	}
	label := obj.Spec.SchedulingConstraints.Topology[0].Key
	required, known, st := domainOf(g, label)
	if !st.OK() {
		return nil, st
	}
	byValue := map[string]*Placement{}
	var out []*Placement
	for _, n := range nodes {
		value, ok := n.obj.Labels[label]
		if !ok || known && value != required {
			continue
		}
		p := byValue[value]
		if p == nil {
			p = &Placement{Name: value}
			byValue[value] = p
			out = append(out, p)
		}
		p.Nodes = append(p.Nodes, n)
	}
	slices.SortFunc(out, func(a, b *Placement) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// domainOf is the value of a label of the nodes that pods of the group are on, if there are any.
func domainOf(g *PodGroup, label string) (value string, known bool, st *Status) {
	refuse := func(format string, args ...any) *Status {
		return NewStatus(Error, "cannot determine domain for already scheduled pods: "+fmt.Sprintf(format, args...))
	}
	for p, n := range g.Scheduled {
		if n.obj == nil {
			return "", false, refuse("getting node for pod %s: nodeinfo not found for node name %q", p.pod.Key(), n.name)
		}
		v, ok := n.obj.Labels[label]
		switch {
		case !ok:
			return "", false, refuse("no topology domain found for pod %s", p.pod.Key())
		case known && v != value:
			return "", false, refuse("more than 1 domain found for pod group: %s, %s", min(v, value), max(v, value))
		}
		value, known = v, true
	}
	return value, known, nil
}

// PodGroupPodsCount prefers placements where more pods of the group have nodes.
type PodGroupPodsCount struct{}

// Name returns "PodGroupPodsCount".
func (PodGroupPodsCount) Name() string { return "PodGroupPodsCount" }

// ScorePlacement implements PlacementScorePlugin: it counts pods.
func (PodGroupPodsCount) ScorePlacement(g *PodGroup, p *Placement) int64 {
	return int64(g.cluster.inGroup(g.key) + len(p.Proposed))
}

// NormalizePlacementScore implements PlacementNormalizer.
func (PodGroupPodsCount) NormalizePlacementScore(scores []int64) {
	most := max(slices.Max(scores), 1)
	for i := range scores {
		scores[i] = scores[i] * MaxNodeScore / most
	}
}

// ScorePlacement implements PlacementScorePlugin: it prefers placements with little left, whatever the
// strategy.
func (a *NodeResourcesFit) ScorePlacement(_ *PodGroup, p *Placement) int64 {
	list := a.opts.Resources
	if list == nil {
		list = coreResources
	}
	var sum, weights int64
	for _, r := range list {
		var want, have int64
		for _, pod := range p.Proposed {
			want += pod.askedOf(r.Name)
		}
		for _, n := range p.Nodes {
			if want == 0 && !isCore(r.Name) || n.allocatable.of(r.Name) == 0 {
				continue // no pod before this node requests the extended resource, or the node has none
			}
			have += n.allocatable.of(r.Name)
			want += n.takenOf(r.Name)
		}
		if have > 0 {
			sum += min(want, have) * MaxNodeScore / have * r.Weight
			weights += r.Weight
		}
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

func isCore(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage
}

// askedOf is what scores count of a resource for a pod, and takenOf for the pods of a node.
func (p *Pod) askedOf(name corev1.ResourceName) int64 {
	if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
		return p.asked.of(name)
	}
	return p.need.of(name)
}

func (n *Node) takenOf(name corev1.ResourceName) int64 {
	if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
		return n.nonZero.of(name)
	}
	return n.used.of(name)
}
