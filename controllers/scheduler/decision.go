package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Decision is the result of [Cluster.Schedule].
type Decision struct {
	// Node is the selected node; empty if no node is feasible.
	Node string
	// Feasible are the feasible nodes found, with their scores. In large clusters the search stops early.
	Feasible []Scored
	// Reasons counts the other nodes by reason.
	Reasons map[string]int
	// Nodes is the number of nodes in the cluster.
	Nodes int
}

// Scored is a feasible node with its total score.
type Scored struct {
	Node  string
	Score int64
}

// Message returns the reasons why no node is feasible: "0/3 nodes are available: 2 Insufficient cpu, ...".
func (d *Decision) Message() string {
	if d.Nodes == 0 {
		return "no nodes available to schedule pods"
	}
	var parts []string
	for reason, n := range d.Reasons {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(parts)
	return fmt.Sprintf("0/%d nodes are available: %s.", d.Nodes, strings.Join(parts, ", "))
}

// Explanation says what the plugins answer about every node; see [Cluster.Explain].
type Explanation struct {
	Decision
	// All lets the search go on when enough feasible nodes are found. The decision may then be another one.
	All bool
	// Refused are the nodes that cannot take the pod.
	Refused []Refused
	// Scores are the answers of the plugins that score, in their order, for the nodes of Feasible.
	Scores []PluginScores
	// Failed is the failure of a plugin that ended the decision.
	Failed *Status
}

// Refused is a node with the answer of the plugin that refuses it.
type Refused struct {
	Node   string
	Status *Status
}

// PluginScores are the scores that a plugin gives: as it computes them, and after normalization. The total
// score of a node is the sum of its normalized ones, each multiplied by the weight of its plugin.
type PluginScores struct {
	Plugin          string
	Weight          int64
	Raw, Normalized []int64
}

func (x *Explanation) raw(p Plugin, cy *Cycle) {
	if x != nil {
		x.Scores = append(x.Scores, PluginScores{Plugin: p.Name(), Raw: slices.Clone(cy.part)})
	}
}

func (x *Explanation) normalized(s *scorer, cy *Cycle) {
	if x != nil {
		last := &x.Scores[len(x.Scores)-1]
		last.Weight, last.Normalized = s.weight, slices.Clone(cy.part)
	}
}

// Schedule selects a node for pod. It changes only the node at which the next search begins, and what breaks
// ties.
func (c *Cluster) Schedule(pod *corev1.Pod) Decision { return c.ScheduleWith(c.profile, pod) }

// ScheduleWith is Schedule with a profile of its own.
func (c *Cluster) ScheduleWith(p *Profile, pod *corev1.Pod) Decision {
	return c.decide(p, NewPod(pod), nil).decision()
}

// Select is Schedule for a pod that is prepared, without the reasons. It allocates nothing. The node is empty
// if none is feasible.
func (c *Cluster) Select(p *Profile, pod *Pod) (node string) {
	if cy := c.decide(p, pod, nil); cy.selected != nil {
		return cy.selected.name
	}
	return ""
}

// Place puts a pod on a node, as if it had been bound to it.
func (c *Cluster) Place(pod *Pod, node string) { c.place(pod, node) }

// PlaceAll selects a node for each pod in turn and places it there, so that the next ones count it. It
// returns the nodes in the order of the pods, empty for those that fit on none.
func (c *Cluster) PlaceAll(p *Profile, pods []*corev1.Pod) []string {
	out := make([]string, len(pods))
	for i, pod := range pods {
		info := NewPod(pod)
		if out[i] = c.Select(p, info); out[i] != "" {
			c.place(info, out[i])
		}
	}
	return out
}

// Explain decides as ScheduleWith does, says why, and changes nothing: if ties are not broken at random, it
// is the decision that comes next. With all, every node is looked at and scored, even in large clusters.
func (c *Cluster) Explain(p *Profile, pod *corev1.Pod, all bool) Explanation {
	defer c.cycle(p).rollback(c.Mark())
	x := Explanation{All: all}
	cy := c.decide(p, NewPod(pod), &x)
	x.Decision = cy.decision()
	x.Failed = cy.failed
	if cy.failed == nil {
		x.Failed = cy.refused
	}
	for _, r := range cy.refusals {
		x.Refused = append(x.Refused, Refused{r.node.name, r.status})
	}
	return x
}

// decision describes the result.
func (cy *Cycle) decision() Decision {
	out := Decision{Nodes: cy.cluster.size(), Reasons: map[string]int{}}
	if cy.selected != nil {
		out.Node = cy.selected.name
		if !cy.scored {
			cy.guard((*Cycle).score)
		}
	}
	for i, n := range cy.feasible {
		out.Feasible = append(out.Feasible, Scored{n.name, cy.totals[i]})
	}
	if st := cy.failed; st != nil {
		out.Reasons[st.Message()] = max(out.Nodes, 1)
		return out
	}
	if st := cy.refused; st != nil {
		out.Reasons[st.Message()] = out.Nodes
		return out
	}
	byStatus := map[*Status]int{}
	for _, r := range cy.refusals {
		byStatus[r.status]++
	}
	if cy.pod.pinned != nil && cy.explained == nil && cy.selected == nil {
		byStatus[refusedAffinity] += out.Nodes - len(cy.refusals)
	}
	for st, n := range byStatus {
		for _, reason := range st.Reasons {
			if n > 0 {
				out.Reasons[reason] += n
			}
		}
	}
	return out
}

// refusedBy are the names of the plugins that refused the pod or nodes.
func (cy *Cycle) refusedBy() (out []string) {
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if cy.refused != nil {
		add(cy.refused.Plugin)
	}
	for _, r := range cy.refusals {
		add(r.status.Plugin)
	}
	if cy.pod.pinned != nil {
		add("NodeAffinity")
	}
	if len(out) == 0 {
		add("NodeName") // there are no nodes: any new one may help
	}
	return out
}

// Moved is a pod that two states have on different nodes. From and To are empty for none.
type Moved struct {
	Pod      *corev1.Pod
	From, To string
}

// Diff returns the pods that are on other nodes in another state, such as a fork after a simulation, by
// namespace and name.
func (c *Cluster) Diff(other *Cluster) (out []Moved) {
	for uid, p := range c.pods {
		if to, _ := other.NodeOf(uid); to != p.node.name {
			out = append(out, Moved{p.pod, p.node.name, to})
		}
	}
	for uid, p := range other.pods {
		if c.pods[uid] == nil {
			out = append(out, Moved{p.pod, "", p.node.name})
		}
	}
	slices.SortFunc(out, func(a, b Moved) int {
		return cmp.Or(a.Pod.Key().Compare(b.Pod.Key()), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	return out
}

// Fork returns a copy of the cluster for another goroutine. The cost is that of the nodes and pods, which
// share their objects.
func (c *Cluster) Fork() *Cluster {
	out := newCluster()
	out.profile, out.random, out.next, out.nextPreempted = c.profile, nil, c.next, c.nextPreempted
	out.unbatched = c.unbatched
	out.namespaces, out.spared = maps.Clone(c.namespaces), maps.Clone(c.spared)
	out.budgets = cloneBudgets(c.budgets)
	for _, n := range c.order {
		out.SetNode(n.obj)
	}
	out.storage, out.groupings, out.devices = c.storage.clone(), c.groupings.clone(), c.devices.clone()
	for key, g := range c.podGroups {
		if g.obj != nil {
			out.setPodGroup(key, g.obj)
		}
	}
	for _, p := range c.pods {
		out.insert(&placed{Pod: p.Pod, node: out.node(p.node.name), plan: p.plan, claims: p.claims})
	}
	out.nominations = c.nominations.clone()
	for _, nom := range out.nominations.byPod {
		for uid := range nom.victims {
			nom.victims[uid] = out.pods[uid]
		}
	}
	return out
}
