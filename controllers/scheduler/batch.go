package scheduler

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// batch is a decision whose nodes and scores serve the next pod too, if that is like the one before, which
// was placed where it was decided, and if nothing else has changed: then what one node says is new. It holds
// for decisions in which all plugins look at the pod and one node each; see batchable. Where the search has
// ended early, it goes on with the nodes that were found, for as many pods as these are, and then searches
// on.
type batch struct {
	pod   *Pod
	shape *shape
	// serial is that of the journal after the last pod was placed; 0 if there is no batch.
	serial uint64
	// on is the node of the last pod, or will be.
	on *Node
	// placed is set when the last pod is there, and left is how many pods may follow.
	placed  bool
	left    int
	scorers []batchScorer
	// why is the reason why it ended.
	why string
	// hits is how many decisions were made so.
	hits int
}

// batchScorer scores one node. The scores of a plugin that compares nodes are all equal.
type batchScorer struct {
	*scorer
	by    NodeScore
	equal bool
	first int64 // the score of the first node
	calls *int64
}

// score calls the plugin.
func (s *batchScorer) score(p *Pod, n *Node) int64 {
	if s.by != nil {
		return s.by.Score(n)
	}
	return s.plain.Score(p, n)
}

// isNodeLocal are the plugins of this package whose answers depend on the pod and one node alone, and those
// whose scores do if all are equal before they are compared.
var isNodeLocal = map[string]bool{"NodeUnschedulable": true, "NodeName": true, "TaintToleration": true, "NodeAffinity": true, "NodePorts": true,
	"NodeResourcesFit": true, "NodeResourcesBalancedAllocation": true, "ImageLocality": true, "NodeDeclaredFeatures": true}

// batches reports whether pods like this one can follow each other in a batch.
func (p *Pod) batches() bool {
	a := &p.affinity
	prefers := p.nodeAffinity != nil && len(p.nodeAffinity.preferred) > 0
	return len(a.required)+len(a.requiredAnti)+len(a.preferred)+len(p.claims)+len(p.devices)+len(p.disks)+len(p.spread) == 0 && p.pinned == nil && !prefers && !p.attaches
}

// like reports whether two pods that batch are the same to all plugins of this package. What plugins sign is
// compared apart.
func (p *Pod) like(o *Pod) bool {
	return p.pod.Namespace == o.pod.Namespace && p.kinKey == o.kinKey && maps.Equal(p.pod.Labels, o.pod.Labels) &&
		p.need.equal(&o.need) && p.nonZero.equal(&o.nonZero) && p.asked.equal(&o.asked) &&
		slices.Equal(p.ports, o.ports) && slices.Equal(p.images, o.images) && p.containers() == o.containers() && slices.Equal(p.features, o.features)
}

// containers is how many containers a pod has.
func (p *Pod) containers() int { return len(p.pod.Spec.InitContainers) + len(p.pod.Spec.Containers) }

func (a *amounts) equal(b *amounts) bool {
	return a.cpu == b.cpu && a.memory == b.memory && a.ephemeral == b.ephemeral && maps.Equal(a.others, b.others)
}

// open begins a batch with the decision that was made, if it can have one.
func (b *batch) open(cy *Cycle) {
	b.serial, b.placed = 0, false
	c := cy.cluster
	if c.unbatched || cy.failed != nil || cy.explained != nil || len(cy.feasible) < 2 || !cy.batchable() {
		return
	}
	b.pod, b.shape, b.on, b.serial, b.left = cy.pod, cy.shape, cy.selected, c.journal.serial, len(cy.feasible)
	if !cy.partial {
		b.left = math.MaxInt
	}
}

// batchable reports whether all that was asked looks at one node at a time.
func (cy *Cycle) batchable() bool {
	if len(cy.ahead)+len(cy.cluster.nominations.byPod) > 0 || cy.profile.unsigned || cy.shape == &cy.shapes.unsigned || !cy.pod.batches() || cy.compared {
		return false
	}
	return !slices.ContainsFunc(cy.checks, func(k check) bool { return !k.local })
}

// follow notes that a pod was placed. before is the serial of the journal then.
func (c *Cluster) follow(uid types.UID, on *Node, before uint64) {
	for _, cy := range c.cycles {
		b := &cy.batch
		if b.serial == 0 {
			continue
		}
		if b.serial != before || b.placed || uid != b.pod.pod.UID || on != b.on {
			b.serial = 0
			continue
		}
		b.serial, b.placed = c.journal.serial, true
	}
}

// follows is again, measured.
func (cy *Cycle) follows(pod *Pod) bool {
	b, m := &cy.batch, cy.cluster.measured
	if m == nil || m.Batch == nil {
		return cy.again(pod)
	}
	began, was, result := time.Now(), b.serial != 0, "no_hint"
	b.why = ""
	hit := cy.again(pod)
	if hit {
		result = "hint_used"
	}
	m.Batch(cy.profile.name, result, time.Since(began))
	if m.BatchEnded != nil && was && b.why != "" {
		m.BatchEnded(cy.profile.name, b.why)
	}
	return hit
}

// end says why a batch does not go on with a pod; empty if it does.
func (b *batch) end(cy *Cycle, pod *Pod) string {
	c := cy.cluster
	switch {
	case b.serial == 0 || c.unbatched || b.serial != c.journal.serial || c.within != nil || len(c.nominations.byPod) > 0:
		return "cluster_changed"
	case !b.placed || pod.pod.UID == b.pod.pod.UID:
		return "pod_failed"
	case b.left == 0:
		return "empty_list"
	case !pod.batches():
		return "pod_not_batchable"
	case !pod.like(b.pod) || cy.shapeOf(pod) != b.shape:
		return "pod_incompatible"
	}
	return ""
}

// again decides about a pod that continues the batch. It is false if it does not, if no node is left, or if a
// plugin fails: then the decision is made from the start.
func (cy *Cycle) again(pod *Pod) (continues bool) {
	b := &cy.batch
	if b.serial == 0 {
		b.why = "cluster_changed"
		return false
	}
	if cy.watch = cy.cluster.watch; cy.profile.foreign {
		cy.guard(func(cy *Cycle) { continues = cy.next(pod) })
	} else {
		continues = cy.next(pod)
	}
	if cy.failed != nil {
		continues, b.why = false, "pod_failed"
	}
	if !continues {
		b.serial = 0
	}
	return continues
}

// next is again, without care for plugins that panic.
func (cy *Cycle) next(pod *Pod) bool {
	b := &cy.batch
	if b.why = b.end(cy, pod); b.why != "" {
		return false
	}
	i := slices.Index(cy.feasible, b.on)
	cy.pod, cy.renewed, cy.reserving = pod, nil, nil
	if st := cy.filter(b.on); st != nil {
		cy.refusals = append(cy.refusals, turnedDown{b.on, st})
		cy.feasible, cy.totals = slices.Delete(cy.feasible, i, i+1), slices.Delete(cy.totals, i, i+1)
		if st.Code == Error || len(cy.feasible) < 2 {
			b.why = "empty_list"
			return false
		}
	} else if cy.totals[i] = b.total(cy, b.on); cy.totals[i] < 0 {
		b.why = "pod_failed"
		return false
	}
	cy.selected = cy.best()
	b.pod, b.on, b.placed = pod, cy.selected, false
	b.left--
	b.hits++
	return true
}

// total is the score of a node, negative if a plugin gives a score out of range.
func (b *batch) total(cy *Cycle, n *Node) (sum int64) {
	for i := range b.scorers {
		s := &b.scorers[i]
		v := s.first
		if !s.equal {
			if v = cy.scoreOf(s, n); v < 0 || v > MaxNodeScore {
				return -1
			}
		}
		sum += s.weight * v
	}
	return sum
}

// scoreOf calls a plugin.
func (cy *Cycle) scoreOf(s *batchScorer, n *Node) int64 {
	*s.calls++
	if !s.foreign {
		return s.score(cy.pod, n)
	}
	cy.running = s.plugin.Name()
	cy.watch.enter()
	v := s.score(cy.pod, n)
	cy.watch.leave()
	return v
}
