package naive

import (
	"cmp"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// GroupDecision is the result of [Cluster.ScheduleGroup].
type GroupDecision struct {
	// Nodes are those that the pods get, empty for a pod that gets none.
	Nodes map[string]string
	// Refused says for each pod that fits nowhere why; it is that of the first set of nodes if none will do.
	Refused map[string]string
	// Fits is set for a group that fits; Waits if it does when the victims are gone.
	Fits, Waits bool
	Victims     []string
	// Broken is set for a group whose placed pods are not in one domain.
	Broken bool
}

// ScheduleGroup places pods on copies of the cluster: those of higher priority first, each beside those
// before it. At least least pods of the group must have nodes then. With a label, the nodes of all must have
// one value of it, which is that of the pods of the group on nodes; no other pods are ended then.
func (c *Cluster) ScheduleGroup(pods []*corev1.Pod, least int, label string) GroupDecision {
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(priorityOf(b), priorityOf(a)) })
	if label == "" {
		return c.clone().tryGroup(pods, least, true)
	}
	values := map[string]bool{}
	for _, n := range c.order {
		if v, ok := n.obj.Labels[label]; ok {
			values[v] = true
		}
	}
	for _, m := range c.membersOf(pods[0]) {
		n := c.nodes[m.node]
		v, ok := "", false
		if n.obj != nil {
			v, ok = n.obj.Labels[label]
		}
		if !ok || !values[v] {
			return GroupDecision{Broken: true}
		}
		values = map[string]bool{v: true}
	}
	var first *GroupDecision
	var good []GroupDecision
	var at []string
	for _, v := range slices.Sorted(maps.Keys(values)) {
		trial := c.clone()
		trial.only = map[string]bool{}
		for _, n := range c.order {
			if x, ok := n.obj.Labels[label]; ok && x == v {
				trial.only[n.name] = true
			}
		}
		d := trial.tryGroup(pods, least, false)
		if first == nil {
			first = &d
		}
		if d.Fits {
			good, at = append(good, d), append(at, v)
		}
	}
	switch {
	case first == nil:
		return GroupDecision{}
	case len(good) == 0:
		return *first
	}
	return good[c.bestGroup(pods, good, at, label)]
}

// bestGroup scores the values of the label: how many pods get nodes, and how much of the nodes is used then.
func (c *Cluster) bestGroup(pods []*corev1.Pod, good []GroupDecision, at []string, label string) int {
	counts, most := []int64{}, int64(1)
	for _, d := range good {
		n := int64(len(c.membersOf(pods[0])) + len(d.Nodes))
		counts, most = append(counts, n), max(most, n)
	}
	if len(good) == 1 {
		return 0
	}
	scores := []int64{}
	for i, d := range good {
		var cpu, memory, cpuHas, memoryHas int64
		for _, p := range pods {
			if d.Nodes[p.Name] != "" {
				info := inspect(p)
				cpu, memory = cpu+info.asked.cpu, memory+info.asked.memory
			}
		}
		for _, n := range c.order {
			if n.obj.Labels[label] == at[i] {
				cpu, memory = cpu+n.usedNonZero.cpu, memory+n.usedNonZero.memory
				cpuHas, memoryHas = cpuHas+n.allocatable.cpu, memoryHas+n.allocatable.memory
			}
		}
		used := (min(cpu, cpuHas)*maxScore/cpuHas + min(memory, memoryHas)*maxScore/memoryHas) / 2
		scores = append(scores, counts[i]*maxScore/most+used)
	}
	var ties []int
	for i, s := range scores {
		if s == slices.Max(scores) {
			ties = append(ties, i)
		}
	}
	return ties[c.random(len(ties))]
}

// membersOf are the pods on nodes that are in the group of a pod.
func (c *Cluster) membersOf(pod *corev1.Pod) (out []*placed) {
	for _, p := range c.pods {
		if g := p.pod.Spec.SchedulingGroup; g != nil && *g.PodGroupName == *pod.Spec.SchedulingGroup.PodGroupName && p.pod.Namespace == pod.Namespace {
			out = append(out, p)
		}
	}
	return out
}

// tryGroup places pods for good.
func (c *Cluster) tryGroup(pods []*corev1.Pod, least int, mayEnd bool) GroupDecision {
	out := GroupDecision{Nodes: map[string]string{}, Refused: map[string]string{}}
	ends := false
	for _, p := range pods {
		info := inspect(p)
		d := c.schedule(info)
		node := d.Node
		if node == "" && mayEnd {
			nom, victims := c.nominate(info, d.preemptable)
			if nom != nil {
				node, ends = nom.node, true
				for _, v := range victims {
					out.Victims = append(out.Victims, v.pod.Name)
				}
				for uid, o := range c.nodes[node].pods {
					if priorityOf(o.pod) < priorityOf(p) && (o.pod.DeletionTimestamp != nil || c.nominations.isVictim(uid)) {
						c.displace(uid)
					}
				}
			}
		}
		if node == "" {
			out.Refused[p.Name] = d.Message()
			continue
		}
		out.Nodes[p.Name] = node
		c.place(info, node)
		if len(c.membersOf(p)) >= least {
			out.Fits, out.Waits = !ends, ends
		}
	}
	slices.Sort(out.Victims)
	return out
}

// clone copies the cluster.
func (c *Cluster) clone() *Cluster {
	out := NewCluster(c.random)
	out.next, out.nextPreempted = c.next, c.nextPreempted
	out.selecting, out.namespaces = slices.Clone(c.selecting), maps.Clone(c.namespaces)
	out.budgets, out.spent, out.spared = maps.Clone(c.budgets), maps.Clone(c.spent), maps.Clone(c.spared)
	for _, n := range c.order {
		out.SetNode(n.obj)
	}
	for _, p := range c.pods {
		out.place(p.podInfo, p.node)
	}
	out.nominations = nominations{list: slices.Clone(c.nominations.list), leaving: maps.Clone(c.nominations.leaving)}
	return out
}
