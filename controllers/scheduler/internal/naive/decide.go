package naive

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
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

	// preemptable are the nodes where deleting other pods might help.
	preemptable []*node
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

// decision is the work on one pod.
type decision struct {
	cluster *Cluster
	info    *podInfo
	// filterOnly leaves out what only scores need.
	filterOnly   bool
	affinity     *affinityState
	spread       []spreadState
	softDefaults bool
	// reserved is the room kept for other pods; filters count it as taken.
	reserved map[*node]*reserved
	// bare is the decision without that room. It is nil where it cannot refuse what the other allows: a pod
	// that wants others near must not be placed beside one that is not there yet.
	bare *decision
}

func (c *Cluster) newDecision(info *podInfo, filterOnly bool) *decision {
	d := &decision{cluster: c, info: info, filterOnly: filterOnly, reserved: c.reserve(c.nominations.ahead(info))}
	d.prepare()
	if len(d.reserved) > 0 && (len(info.affinity.required) > 0 || slices.ContainsFunc(info.spread, func(s spreadConstraint) bool { return s.hard })) {
		d.bare = &decision{cluster: c, info: info, filterOnly: true}
		d.bare.prepare()
	}
	return d
}

func (d *decision) prepare() {
	d.prepareAffinity()
	d.prepareSpread()
}

// Schedule selects a node for pod. It changes only the node at which the next search begins.
func (c *Cluster) Schedule(pod *corev1.Pod) Decision { return c.schedule(inspect(pod)) }

// zoneByZone takes one node of each zone in turn, the zones in the order in which their first nodes came.
func (c *Cluster) zoneByZone() []*node {
	zoneOf := func(n *node) [2]string {
		return [2]string{n.obj.Labels[corev1.LabelTopologyRegion], n.obj.Labels[corev1.LabelTopologyZone]}
	}
	place := func(n *node) (turn, zone int) {
		seen := map[[2]string]int{}
		for _, o := range c.order {
			if _, ok := seen[zoneOf(o)]; !ok {
				seen[zoneOf(o)] = len(seen)
			}
		}
		for _, o := range c.order {
			if o == n {
				return turn, seen[zoneOf(n)]
			}
			if zoneOf(o) == zoneOf(n) {
				turn++
			}
		}
		return turn, 0
	}
	out := slices.Clone(c.order)
	slices.SortFunc(out, func(a, b *node) int {
		turnA, zoneA := place(a)
		turnB, zoneB := place(b)
		return cmp.Or(cmp.Compare(turnA, turnB), cmp.Compare(zoneA, zoneB))
	})
	return out
}

func (c *Cluster) schedule(info *podInfo) Decision {
	d := c.newDecision(info, false)
	order := slices.DeleteFunc(c.zoneByZone(), func(n *node) bool { return c.only != nil && !c.only[n.name] })
	out := Decision{Nodes: len(order), Reasons: map[string]int{}}
	if n := c.nominatedNode(info); n != nil && slices.Contains(order, n) {
		if reasons, _ := d.filter(n); len(reasons) == 0 {
			out.Feasible, out.Node = d.score([]*node{n}), n.name
			return out
		}
	}
	enough := enoughFeasible(len(order))
	var feasible []*node
	for i := range order {
		n := order[(c.next+i)%len(order)]
		if names := info.pinned; names != nil && !slices.Contains(names, n.name) {
			out.Reasons[reasonNodeAffinity]++
			continue
		}
		reasons, final := d.filter(n)
		if len(reasons) == 0 {
			if feasible = append(feasible, n); len(feasible) >= enough {
				c.next = (c.next + i + 1) % len(order)
				break
			}
			continue
		}
		for _, r := range reasons {
			out.Reasons[r]++
		}
		if !final {
			out.preemptable = append(out.preemptable, n)
		}
	}
	if len(feasible) == 0 {
		return out
	}
	out.Feasible = d.score(feasible)
	out.Node = d.best(out.Feasible)
	return out
}

// nominatedNode is the node where room is kept for the pod, nil if there is none.
func (c *Cluster) nominatedNode(info *podInfo) *node {
	nom, _ := c.nominations.of(info.pod.UID)
	if nom == nil {
		return nil
	}
	if n := c.nodes[nom.node]; n != nil && n.obj != nil {
		return n
	}
	return nil
}

// best picks among the highest scores, at random among equals.
func (d *decision) best(list []Scored) string {
	top := slices.MaxFunc(list, func(a, b Scored) int { return cmp.Compare(a.Score, b.Score) }).Score
	var ties []string
	for _, s := range list {
		if s.Score == top {
			ties = append(ties, s.Node)
		}
	}
	return ties[d.cluster.random(len(ties))]
}

// enoughFeasible is how many feasible nodes are enough to stop searching: all of a small cluster, and a share
// of a large one that falls from half to a twentieth, but never fewer than a hundred.
func enoughFeasible(nodes int) int {
	const least = 100
	if nodes < least {
		return nodes
	}
	percent := max(50-nodes/125, 5)
	return max(nodes*percent/100, least)
}

// The weights of the scores, as clusters have them by default.
const (
	weightTaints   = 3
	weightAffinity = 2
	weightSpread   = 2
	weightPods     = 2
	maxScore       = 100
)

// score ranks feasible nodes. Every part is brought to 0..100 and weighted.
func (d *decision) score(nodes []*node) []Scored {
	if len(d.reserved) > 0 { // pods that are not there yet count for filters only
		d = &decision{cluster: d.cluster, info: d.info}
		d.prepare()
	}
	total := make([]int64, len(nodes))
	part := make([]int64, len(nodes))
	each := func(weight int64, normalize func([]int64), f func(n *node) int64) {
		for i, n := range nodes {
			part[i] = f(n)
		}
		if normalize != nil {
			normalize(part)
		}
		for i := range nodes {
			total[i] += weight * part[i]
		}
	}
	each(1, nil, d.leastAllocated)
	if w := &d.info.need; w.cpu > 0 || w.memory > 0 {
		// A pod that requests nothing changes no balance: all such pods would go to the best balanced node.
		each(1, nil, d.balanced)
	}
	each(weightTaints, scaleDown, d.untoleratedPreferences)
	if a := d.info.nodeAffinity; a != nil && len(a.preferred) > 0 {
		each(weightAffinity, scaleUp, d.preferredNodes)
	}
	if st := d.affinity; st != nil && len(st.score) > 0 {
		each(weightPods, stretch, d.nearPods)
	}
	if d.hasSoftSpread() {
		each(weightSpread, spreadOut, func(n *node) int64 { return d.crowding(n, nodes) })
	}
	each(1, nil, d.imageLocality)
	out := make([]Scored, len(nodes))
	for i, n := range nodes {
		out[i] = Scored{n.name, total[i]}
	}
	return out
}

// leastAllocated prefers nodes with much left of what pods ask for.
func (d *decision) leastAllocated(n *node) int64 {
	var sum, kinds int64
	free := func(have, requested int64) {
		if have == 0 {
			return
		}
		kinds++
		if requested <= have {
			sum += (have - requested) * maxScore / have
		}
	}
	w := &d.info.asked
	free(n.allocatable.cpu, n.usedNonZero.cpu+w.cpu)
	free(n.allocatable.memory, n.usedNonZero.memory+w.memory)
	if kinds == 0 {
		return 0
	}
	return sum / kinds
}

// balanced prefers nodes where the pod makes the shares of CPU and memory more alike.
func (d *decision) balanced(n *node) int64 {
	score := func(w amounts) int64 {
		var shares []float64
		if have := n.allocatable.cpu; have > 0 {
			shares = append(shares, min(float64(n.used.cpu+w.cpu)/float64(have), 1))
		}
		if have := n.allocatable.memory; have > 0 {
			shares = append(shares, min(float64(n.used.memory+w.memory)/float64(have), 1))
		}
		if len(shares) < 2 {
			return maxScore
		}
		return int64((1 - math.Abs(shares[0]-shares[1])/2) * maxScore)
	}
	return maxScore/2 + (maxScore/2+score(d.info.need)-score(amounts{}))/2
}

func (d *decision) untoleratedPreferences(n *node) (count int64) {
	for i := range n.obj.Spec.Taints {
		t := &n.obj.Spec.Taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule && !nodefit.Tolerates(d.info.pod.Spec.Tolerations, t) {
			count++
		}
	}
	return count
}

func (d *decision) preferredNodes(n *node) (sum int64) {
	for i := range d.info.nodeAffinity.preferred {
		if t := &d.info.nodeAffinity.preferred[i]; t.Matches(n.obj) {
			sum += t.weight
		}
	}
	return sum
}

func (d *decision) nearPods(n *node) (sum int64) {
	for p, w := range d.affinity.score {
		if v, ok := n.obj.Labels[p.key]; ok && v == p.value {
			sum += w
		}
	}
	return sum
}

func (d *decision) hasSoftSpread() bool {
	return slices.ContainsFunc(d.spread, func(s spreadState) bool { return !s.constraint.hard })
}

// crowding is how many siblings share the node's domains, those of many small domains weighing like those of
// few large ones; -1 for a node that lacks a label.
func (d *decision) crowding(n *node, nodes []*node) int64 {
	if !d.softDefaults && !d.hasSoftKeys(n) {
		return -1
	}
	score := 0.0
	for i := range d.spread {
		st := &d.spread[i]
		if st.constraint.hard {
			continue
		}
		domains, having := map[string]bool{}, 0
		for _, o := range nodes {
			if d.softDefaults || d.hasSoftKeys(o) {
				domains[o.obj.Labels[st.constraint.topology]] = true
				having++
			}
		}
		size, value, ok := len(domains), n.obj.Labels[st.constraint.topology], false
		if _, ok = n.obj.Labels[st.constraint.topology]; !ok {
			continue
		}
		count := st.counts[value]
		if st.constraint.topology == hostnameLabel {
			size, count = having, 0
			for _, p := range n.pods {
				if d.isSibling(st.constraint, p.podInfo) {
					count++
				}
			}
		}
		score += float64(count)*math.Log(float64(size+2)) + float64(st.constraint.maxSkew-1)
	}
	return int64(math.Round(score))
}

// hasSoftKeys reports whether a node has the labels of all soft constraints.
func (d *decision) hasSoftKeys(n *node) bool {
	for i := range d.spread {
		if _, ok := n.obj.Labels[d.spread[i].constraint.topology]; !ok && !d.spread[i].constraint.hard {
			return false
		}
	}
	return true
}

// spreadOut makes the least crowded nodes the best.
func spreadOut(v []int64) {
	low, high := int64(math.MaxInt64), int64(0)
	for _, x := range v {
		if x >= 0 {
			low, high = min(low, x), max(high, x)
		}
	}
	for i, x := range v {
		switch {
		case x < 0:
			v[i] = 0
		case high == 0:
			v[i] = maxScore
		default:
			v[i] = maxScore * (high + low - x) / high
		}
	}
}

// Images below the first size save nothing worth a preference, and above the second all count alike, per
// container.
const (
	smallImage = 23 << 20
	largeImage = 1000 << 20
)

// imageLocality prefers nodes that have the pod's images, the less the rarer they are.
func (d *decision) imageLocality(n *node) int64 {
	var names []string
	for _, list := range [][]corev1.Container{d.info.pod.Spec.InitContainers, d.info.pod.Spec.Containers} {
		for i := range list {
			names = append(names, list[i].Image)
		}
	}
	var sum int64
	for _, name := range names {
		size, _ := imageSize(n, name)
		having := 0
		for _, o := range d.cluster.order {
			if _, ok := imageSize(o, name); ok { // of any size, also unknown
				having++
			}
		}
		sum += int64(float64(size) * (float64(having) / float64(len(d.cluster.order))))
	}
	top := int64(largeImage * len(names))
	sum = min(max(sum, smallImage), top)
	return maxScore * (sum - smallImage) / (top - smallImage)
}

func imageSize(n *node, name string) (size int64, ok bool) {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		name += ":latest"
	}
	for i := range n.obj.Status.Images {
		if img := &n.obj.Status.Images[i]; slices.Contains(img.Names, name) {
			return img.SizeBytes, true
		}
	}
	return 0, false
}

// scaleUp brings values to 0..100 so that the largest becomes 100.
func scaleUp(v []int64) {
	if top := slices.Max(v); top > 0 {
		for i := range v {
			v[i] = v[i] * maxScore / top
		}
	}
}

// scaleDown is scaleUp with the smallest best.
func scaleDown(v []int64) {
	top := slices.Max(v)
	for i := range v {
		if top == 0 {
			v[i] = maxScore
			continue
		}
		v[i] = maxScore - v[i]*maxScore/top
	}
}

// stretch maps the smallest value to 0 and the largest to 100.
func stretch(v []int64) {
	low, high := slices.Min(v), slices.Max(v)
	for i := range v {
		if high == low {
			v[i] = 0
			continue
		}
		v[i] = int64(maxScore * (float64(v[i]-low) / float64(high-low)))
	}
}
