package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/scheduler/internal/devices"
)

// Dump writes all of a cluster that decisions depend on.
func (c *Cluster) Dump() string {
	var b strings.Builder
	fmt.Fprintln(&b, "next", c.next, c.nextPreempted)
	for _, n := range c.order {
		fmt.Fprintln(&b, "order", n.name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.byName)) {
		n := c.byName[name]
		fmt.Fprintf(&b, "node %d %s %p %d %v %v %v %v %v\n", n.id, name, n.obj, n.maxPods, n.allocatable, n.used, n.nonZero, n.ports, n.discouraged)
		for i, p := range n.pods {
			fmt.Fprintf(&b, "pod %p %s %d %v %v\n", p.pod, p.pod.Name, p.slot, p.slot == i, p.off)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
		fmt.Fprintln(&b, "placed", uid, c.pods[uid].node.name, c.byNamespace[c.pods[uid].pod.Namespace][uid] == c.pods[uid])
	}
	for _, g := range []*groups{&c.anti, &c.affine, &c.liked} {
		for _, key := range slices.Sorted(maps.Keys(g.byKey)) {
			fmt.Fprintln(&b, "group", key, g.byKey[key].holders, g.byKey[key].total)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(c.nominations.byPod)) {
		n := c.nominations.byPod[uid]
		fmt.Fprintln(&b, "nominated", uid, n.node, n.serial, n.planned, slices.Sorted(maps.Keys(n.victims)))
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.podGroups), types.NamespacedName.Compare) {
		g := c.podGroups[key]
		fmt.Fprintf(&b, "podgroup %s %p %v\n", key, g.obj, slices.Sorted(maps.Keys(g.placed)))
	}
	c.storage.dump(&b)
	c.devices.dump(&b)
	spent := map[string][]types.UID{}
	for key, budget := range c.budgets {
		spent[key.String()] = slices.Sorted(maps.Keys(budget.spent))
	}
	fmt.Fprintln(&b, "budgets", spent)
	fmt.Fprintln(&b, c.namespaces, c.Check())
	return b.String()
}

// PlannedVolumes are the volumes that the plan of a placed pod has for claims, with the claims.
func (c *Cluster) PlannedVolumes(uid types.UID) map[string]string {
	out := map[string]string{}
	if p := c.pods[uid].plan; p != nil {
		for _, b := range p.bind {
			out[b.volume.Name] = b.claim.Name
		}
	}
	return out
}

// dump writes what plans and users say of volumes.
func (s *storage) dump(b *strings.Builder) {
	for _, name := range slices.Sorted(maps.Keys(s.taken)) {
		fmt.Fprintln(b, "taken", name, s.taken[name].claim.Name, s.taken[name].plans)
	}
	lines := []string{}
	for key, p := range s.provisioned {
		lines = append(lines, fmt.Sprintln("provisioned", key, p.node, p.plans))
	}
	for key, n := range s.users {
		lines = append(lines, fmt.Sprintln("used", key, n))
	}
	for key, v := range s.volumes.all {
		lines = append(lines, fmt.Sprintf("volume %s %p %v\n", key, v, s.volumes.of[v.Spec.StorageClassName][key] == v))
	}
	slices.Sort(lines)
	fmt.Fprint(b, lines)
}

// Check counts again by hand what the counters hold, and returns what differs.
func (c *Cluster) Check() (wrong []string) {
	c.eachCounter(func(k *counter) {
		domains, nodes, total := map[string]int{}, map[string]bool{}, 0
		for _, n := range c.order {
			v, ok := n.obj.Labels[k.topo.key]
			if !ok || k.nodes != nil && !k.nodes.counts(n.obj) {
				continue
			}
			nodes[v] = true
			for _, p := range n.pods {
				if k.term != nil && slices.ContainsFunc(p.groups, func(g *counter) bool { return g == k }) {
					for _, g := range p.groups {
						if g == k {
							domains[v]++
							total++
						}
					}
				} else if k.term == nil && c.selected(&k.selects, p.Pod) {
					domains[v]++
					total++
				}
			}
		}
		least := -1
		for v := range nodes {
			d := k.topo.values[v]
			if int(k.domains[d].pods) != domains[v] {
				wrong = append(wrong, fmt.Sprintf("%s: domain %s has %d, not %d", k.key, v, domains[v], k.domains[d].pods))
			}
			if least < 0 || domains[v] < least {
				least = domains[v]
			}
		}
		if k.total != total || k.size != len(nodes) || k.ordered && k.least != max(least, 0) {
			wrong = append(wrong, fmt.Sprintf("%s: total %d, size %d, least %d; not %d, %d, %d", k.key, total, len(nodes), least, k.total, k.size, k.least))
		}
	})
	return wrong
}

// PlannedDevices are the allocations that the claims of a pod would get on a node, by claim.
func (c *Cluster) PlannedDevices(pod *corev1.Pod, node string) map[string]*resourcev1.AllocationResult {
	out := map[string]*resourcev1.AllocationResult{}
	if plan := c.planDevices(NewPod(pod), c.existing(node)); plan != nil {
		for _, p := range plan.claims {
			if p.allocation != nil {
				out[p.claim.Name] = p.allocation
			}
		}
	}
	return out
}

// dump writes what claims and plans say of devices.
func (d *deviceState) dump(b *strings.Builder) {
	var again devices.Allocated
	for key := range d.claims.all {
		again.Count(d.effective(key), 1)
	}
	lines := []string{}
	for key, p := range d.promised {
		if d.claims.all[key] == nil {
			again.Count(p.allocation, 1)
		}
		lines = append(lines, fmt.Sprintf("promised %s %p %d\n", key, p.allocation, p.plans))
	}
	for key, c := range d.claims.all {
		lines = append(lines, fmt.Sprintf("claim %s %p\n", key, c))
	}
	for key, s := range d.slices.all {
		lines = append(lines, fmt.Sprintf("slice %s %p\n", key, s))
	}
	for uid, c := range d.made {
		lines = append(lines, fmt.Sprintf("made %s %p\n", uid, c))
	}
	slices.Sort(lines)
	fmt.Fprintln(b, lines, "counted right:", again.Equal(&d.allocated))
}

// TwiceAllocated are devices that are not to be shared and that several claims have.
func (c *Cluster) TwiceAllocated() []string { return c.devices.allocated.Twice() }

// Spoil changes what a scheduler holds.
func (s *Scheduler) Spoil(f func(c *Cluster)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.cluster)
}

// SetUsed makes the sum of a node's requests one of CPU only, in thousandths.
func (c *Cluster) SetUsed(node string, cpu int64) { c.byName[node].used = amounts{cpu: cpu} }

// Overdue sets what says that a decision takes too long, in place of Options.DecisionTimeout.
func (s *Scheduler) Overdue(f func() <-chan time.Time) { s.overdue = f }

// OverdueCalls sets what says that calls at a point of the queue take too long; there is no limit at others.
func (s *Scheduler) OverdueCalls(point string, limit <-chan time.Time) {
	s.calls.overdue = func(c call) <-chan time.Time {
		if c.at == point {
			return limit
		}
		return nil
	}
}

// PauseStalled sets how long a plugin that has stalled is not called.
func (s *Scheduler) PauseStalled(d time.Duration) { s.stallPause = d }

// SearchAside lets all searches for devices be made aside.
func (s *Scheduler) SearchAside() { s.searchBudget = 0 }

// Searching reports whether devices can be searched for.
func (s *Scheduler) Searching() (found bool) {
	s.Spoil(func(c *Cluster) {
		found = len(c.devices.slices.all)*len(c.devices.classes.all)*len(c.devices.claims.all) > 0
	})
	return found
}

// Batched is how many decisions have continued a batch.
func (c *Cluster) Batched() (n int) {
	for _, cy := range c.cycles {
		n += cy.batch.hits
	}
	return n
}

// Unbatch decides about each pod from the start.
func (c *Cluster) Unbatch(off bool) { c.unbatched = off }

// Follow lets the batch go on as if the pod that was decided about last had been placed.
func (c *Cluster) Follow() {
	for _, cy := range c.cycles {
		cy.batch.placed = true
	}
}

// BreakTies sets how ties are broken; nil is by the pod's UID.
func (c *Cluster) BreakTies(random func(n int) int) { c.random = random }

// Measure sets the metrics, before the scheduler runs.
func (s *Scheduler) Measure(m Metrics) { s.opts.Metrics = m }
