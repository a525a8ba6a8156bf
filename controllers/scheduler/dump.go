package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/informers"
)

// Dump is what a scheduler holds at one moment, for the search for mistakes.
type Dump struct {
	// Nodes are those of the cluster by name, also those that are known by their pods only.
	Nodes []NodeDump
	// Queue are the pods that wait, in the order in which they came.
	Queue []QueueDump
	// Differences are sentences about what the scheduler holds and the copies of its informers do not, or the
	// other way round, and about sums that are wrong. An event on its way may be the reason of one that a
	// second dump does not have.
	Differences []string
}

// NodeDump is a node with what is on it. Requests and allocatable amounts are in base units: CPU
// in thousandths, the rest in units.
type NodeDump struct {
	Name                   string
	Requested, Allocatable map[corev1.ResourceName]int64
	// Pods are those on the node, Assumed those of them whose binding was not seen yet, and Nominated those
	// that room is kept for.
	Pods, Assumed, Nominated []types.NamespacedName
}

// QueueDump is a pod that waits.
type QueueDump struct {
	Pod types.NamespacedName
	// State is "active", "backoff", "unschedulable", "gated", or "in flight" for a pod that is being tried.
	State    string
	Attempts int
	Since    time.Time
	// NotUntil is the end of the back-off of the last attempt; RefusedBy are the plugins whose events an
	// unschedulable pod waits for.
	NotUntil  time.Time
	RefusedBy []string
}

// Dump returns what the scheduler holds, compared with the copies of its informers. Decisions wait meanwhile.
func (s *Scheduler) Dump() Dump {
	seen := s.seen()
	s.mu.Lock()
	defer s.mu.Unlock()
	d := Dump{Queue: s.queue.dump()}
	names := map[types.NamespacedName]string{}
	for name, n := range s.cluster.byName {
		d.Nodes = append(d.Nodes, s.dumpNode(n))
		if n.obj != nil {
			names[types.NamespacedName{Name: name}] = ""
		}
	}
	slices.SortFunc(d.Nodes, func(a, b NodeDump) int { return strings.Compare(a.Name, b.Name) })
	placed, queued := map[types.NamespacedName]string{}, map[types.NamespacedName]string{}
	for _, p := range d.Queue {
		queued[p.Pod] = "in the queue"
	}
	for _, p := range s.cluster.pods {
		key := p.pod.Key()
		if _, assumed := s.assumed[p.pod.UID]; assumed {
			delete(seen.waiting, key) // its binding was not seen yet
			delete(queued, key)
		} else if !strings.HasPrefix(string(p.pod.UID), lateRoom) {
			placed[key] = "on node " + p.node.name
		}
	}
	d.Differences = slices.Concat(seen.failed, differences("node", seen.nodes, names), differences("pod", seen.placed, placed),
		differences("pod", seen.waiting, queued), s.cluster.wrongSums())
	return d
}

func (s *Scheduler) dumpNode(n *Node) NodeDump {
	d := NodeDump{Name: n.name, Requested: n.used.list(), Allocatable: n.allocatable.list()}
	for _, p := range n.pods {
		key := p.pod.Key()
		d.Pods = append(d.Pods, key)
		if _, ok := s.assumed[p.pod.UID]; ok {
			d.Assumed = append(d.Assumed, key)
		}
	}
	for _, nom := range s.cluster.nominations.byNode[n.name] {
		d.Nominated = append(d.Nominated, nom.info.pod.Key())
	}
	for _, list := range [][]types.NamespacedName{d.Pods, d.Assumed, d.Nominated} {
		slices.SortFunc(list, types.NamespacedName.Compare)
	}
	return d
}

// list returns the amounts that are not zero.
func (a *amounts) list() map[corev1.ResourceName]int64 {
	out := map[corev1.ResourceName]int64{corev1.ResourceCPU: a.cpu, corev1.ResourceMemory: a.memory, corev1.ResourceEphemeralStorage: a.ephemeral}
	maps.Copy(out, a.others)
	maps.DeleteFunc(out, func(_ corev1.ResourceName, v int64) bool { return v == 0 })
	return out
}

// seenObjects are those that the informers of a scheduler have, with where they should be.
type seenObjects struct {
	nodes, placed, waiting map[types.NamespacedName]string
	failed                 []string
}

// seen reads the informers.
func (s *Scheduler) seen() seenObjects {
	out := seenObjects{map[types.NamespacedName]string{}, map[types.NamespacedName]string{}, map[types.NamespacedName]string{}, nil}
	if !s.follows.Load() {
		return out // see Options.DelayCache
	}
	note := func(err error) {
		if err != nil {
			out.failed = append(out.failed, err.Error())
		}
	}
	nodes, pods := informers.For[*corev1.Node](s.informers), informers.For[*corev1.Pod](s.informers)
	defer nodes.Release()
	defer pods.Release()
	note(nodes.Lister().ViewAll(informers.ListOptions{}, func(n *corev1.Node) bool {
		out.nodes[n.Key()] = ""
		return true
	}))
	note(pods.Lister().ViewAll(informers.ListOptions{}, func(p *corev1.Pod) bool {
		switch {
		case p.HasEnded():
		case p.Spec.NodeName != "":
			out.placed[p.Key()] = "on node " + p.Spec.NodeName
		case s.ours(NewPod(p)):
			out.waiting[p.Key()] = "in the queue"
		}
		return true
	}))
	return out
}

// differences says in what two views of objects differ.
func differences(kind string, informer, scheduler map[types.NamespacedName]string) (out []string) {
	add := func(key types.NamespacedName, format string, args ...any) {
		name := strings.TrimPrefix(key.String(), "/")
		out = append(out, fmt.Sprintf("%s %s: %s", kind, name, strings.TrimSuffix(fmt.Sprintf(format, args...), " ")))
	}
	for key, where := range informer {
		if has, ok := scheduler[key]; !ok {
			add(key, "the informer has it and the scheduler does not %s", where)
		} else if has != where {
			add(key, "the informer has it %s, the scheduler %s", where, has)
		}
	}
	for key, where := range scheduler {
		if _, ok := informer[key]; !ok {
			add(key, "the scheduler has it and the informer does not %s", where)
		}
	}
	slices.Sort(out)
	return out
}

// wrongSums are the nodes whose sums are not those of their pods.
func (c *Cluster) wrongSums() (out []string) {
	for name, n := range c.byName {
		var sum amounts
		for _, p := range n.pods {
			sum.add(&p.need, 1)
		}
		if have, want := n.used.list(), sum.list(); !maps.Equal(have, want) {
			out = append(out, fmt.Sprintf("node %s: its requests are %v, those of its pods %v", name, have, want))
		}
	}
	slices.Sort(out)
	return out
}

// String returns the dump as text, a line for each node and pod.
func (d *Dump) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes:\n", len(d.Nodes))
	for i := range d.Nodes {
		n := &d.Nodes[i]
		fmt.Fprintf(&b, "  %s: %d pods, requested %v of %v\n", n.Name, len(n.Pods), n.Requested, n.Allocatable)
		for _, list := range []struct {
			text string
			pods []types.NamespacedName
		}{{"pods", n.Pods}, {"assumed", n.Assumed}, {"nominated", n.Nominated}} {
			if len(list.pods) > 0 {
				fmt.Fprintf(&b, "    %s: %s\n", list.text, strings.Trim(fmt.Sprint(list.pods), "[]"))
			}
		}
	}
	fmt.Fprintf(&b, "%d pods in the queue:\n", len(d.Queue))
	for i := range d.Queue {
		p := &d.Queue[i]
		fmt.Fprintf(&b, "  %s: %s since %s, %d attempts", p.Pod, p.State, p.Since.UTC().Format(time.RFC3339), p.Attempts)
		if !p.NotUntil.IsZero() {
			fmt.Fprintf(&b, ", back-off until %s", p.NotUntil.UTC().Format(time.RFC3339))
		}
		if len(p.RefusedBy) > 0 {
			fmt.Fprintf(&b, ", refused by %s", strings.Join(p.RefusedBy, ", "))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d differences from the informers:\n", len(d.Differences))
	for _, text := range d.Differences {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	return b.String()
}

// dump returns the pods of the queue, in the order in which they came.
func (q *queue) dump() (out []QueueDump) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := slices.SortedFunc(maps.Values(q.pods), func(a, b *queued) int { return int(a.serial) - int(b.serial) })
	for _, p := range all {
		d := QueueDump{Pod: p.pod.Key(), Attempts: p.Attempts, Since: p.Since, NotUntil: p.notUntil, RefusedBy: slices.Sorted(slices.Values(p.refused))}
		switch p.at {
		case nowhere:
			d.State = "in flight"
		case active:
			d.State = "active"
		case backing, failing:
			d.State = "backoff"
		case unplaced:
			d.State = "unschedulable"
		case gated:
			d.State = "gated"
		}
		out = append(out, d)
	}
	return out
}
