package scheduler

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
)

// topology numbers the values of one node label.
type topology struct {
	key    string
	values map[string]int32
	// of is the number of each node's value, by node; noDomain for a node without the label.
	of []int32
}

const noDomain = int32(-1)

func (t *topology) set(n *Node) {
	t.of = grow(t.of, n.id, noDomain)
	t.of[n.id] = noDomain
	if n.obj == nil {
		return
	}
	v, ok := n.obj.Labels[t.key]
	if !ok {
		return
	}
	d, known := t.values[v]
	if !known {
		d = int32(len(t.values))
		t.values[v] = d
	}
	t.of[n.id] = d
}

// grow extends a list that is indexed by nodes to the given one.
func grow[T any](list []T, id int32, zero T) []T {
	for len(list) <= int(id) {
		list = append(list, zero)
	}
	return list
}

// counter counts pods by the domains of a topology, as pods come and go, so that decisions read counts
// instead of looking at pods. Invariants:
//
//  1. perNode is what the pods of each node add up to, whether the node counts or not.
//  2. A domain's count is the sum of perNode over its nodes that count.
//  3. byCount, if kept, has for each count the number of domains with nodes that count; least is the first
//     that is not zero.
type counter struct {
	key     string
	topo    *topology
	selects podSelection
	// nodes says which nodes count; nil for all that have the topology's label.
	nodes   *nodeSelection
	perNode []int32
	counted []bool
	domains []domain
	// total is the sum of the domains' counts, size is how many domains have nodes.
	total, size int
	byCount     []int32
	least       int
	ordered     bool
	used        uint64
	// holders is how many placed pods have the term that is counted, for counters of terms; see groups.
	holders int
	term    *podTerm
}

type domain struct{ pods, nodes int32 }

// podSelection says which pods a counter counts.
type podSelection struct {
	// terms must all match, if there are any.
	terms []podTerm
	// constraint and namespace select otherwise; pods that are being deleted do not count.
	constraint *spreadConstraint
	namespace  string
}

func (c *Cluster) selected(s *podSelection, p *Pod) bool {
	if s.constraint != nil {
		return p.pod.Namespace == s.namespace && p.pod.DeletionTimestamp == nil && s.constraint.selector.Matches(p.pod.Labels)
	}
	for i := range s.terms {
		if !c.matches(&s.terms[i], p.pod) {
			return false
		}
	}
	return true
}

// nodeSelection says which nodes are domains of a spread constraint of a pod.
type nodeSelection struct {
	pod *Pod
	by  *spreadConstraint
}

func (s *nodeSelection) counts(n *corev1.Node) bool {
	for _, k := range s.by.keys {
		if _, ok := n.Labels[k]; !ok {
			return false
		}
	}
	if s.by.honourAffinity && !s.pod.matchesNode(n) {
		return false
	}
	if s.by.honourTaints {
		for i := range n.Spec.Taints {
			t := &n.Spec.Taints[i]
			if t.Effect != corev1.TaintEffectPreferNoSchedule && !nodefit.Tolerates(s.pod.pod.Spec.Tolerations, t) {
				return false
			}
		}
	}
	return true
}

// include takes a node with its pods into the count, if it counts.
func (k *counter) include(n *Node) {
	k.perNode = grow(k.perNode, n.id, 0)
	k.counted = grow(k.counted, n.id, false)
	d := k.topo.of[n.id]
	if n.obj == nil || d == noDomain || k.nodes != nil && !k.nodes.counts(n.obj) {
		return
	}
	k.counted[n.id] = true
	k.domains = grow(k.domains, d, domain{})
	dom := &k.domains[d]
	if dom.nodes++; dom.nodes == 1 {
		k.size++
		k.enter(int(dom.pods))
	}
	k.change(d, k.perNode[n.id])
}

// exclude takes a node out of the count, with its pods.
func (k *counter) exclude(n *Node) {
	if int(n.id) >= len(k.counted) || !k.counted[n.id] {
		return
	}
	k.counted[n.id] = false
	d := k.topo.of[n.id]
	k.change(d, -k.perNode[n.id])
	dom := &k.domains[d]
	if dom.nodes--; dom.nodes == 0 {
		k.size--
		k.leave(int(dom.pods))
	}
}

// add counts one pod of a node; by is 1 or -1.
func (k *counter) add(n *Node, by int32) {
	k.perNode = grow(k.perNode, n.id, 0)
	k.perNode[n.id] += by
	if int(n.id) < len(k.counted) && k.counted[n.id] {
		k.change(k.topo.of[n.id], by)
	}
}

func (k *counter) change(d, by int32) {
	if by == 0 {
		return
	}
	dom := &k.domains[d]
	was := int(dom.pods)
	dom.pods += by
	k.total += int(by)
	k.enter(int(dom.pods))
	k.leave(was)
}

func (k *counter) enter(count int) {
	if !k.ordered {
		return
	}
	for len(k.byCount) <= count {
		k.byCount = append(k.byCount, 0)
	}
	k.byCount[count]++
	if k.size == 1 || count < k.least {
		k.least = count
	}
}

func (k *counter) leave(count int) {
	if !k.ordered {
		return
	}
	k.byCount[count]--
	if count != k.least || k.byCount[count] > 0 {
		return
	}
	if k.size == 0 {
		k.least = 0
		return
	}
	for k.byCount[k.least] == 0 {
		k.least++
	}
}

// at returns how many pods share the node's domain, and whether the node has one.
func (k *counter) at(n *Node) (pods int, ok bool) {
	d := k.topo.of[n.id]
	if d == noDomain {
		return 0, false
	}
	if int(d) >= len(k.domains) {
		return 0, true
	}
	return int(k.domains[d].pods), true
}

// on returns how many pods the node itself has.
func (k *counter) on(n *Node) int {
	if int(n.id) >= len(k.perNode) {
		return 0
	}
	return int(k.perNode[n.id])
}

// maxCounters is how many counters are kept up to date, beside those in use; the others are built again when
// they are needed.
const maxCounters = 256

// counters are those in use, by key and by the namespaces of the pods that they may count.
type counters struct {
	byKey       map[string]*counter
	byNamespace map[string][]*counter
	// wide are those that select namespaces by label.
	wide []*counter
	// serial changes with the set of counters; placed pods remember theirs.
	serial uint64
	// clock counts uses; counters used after pinned belong to the present decision and are kept.
	clock, pinned uint64
}

func newCounters() counters {
	return counters{byKey: map[string]*counter{}, byNamespace: map[string][]*counter{}}
}

func (c *Cluster) topology(key string) *topology {
	if t := c.topologies[key]; t != nil {
		return t
	}
	t := &topology{key: key, values: map[string]int32{}}
	for _, n := range c.nodes {
		t.set(n)
	}
	c.topologies[key] = t
	return t
}

// counted returns the counter with a key, nil if there is none yet.
func (c *Cluster) counted(key string) *counter {
	k := c.counters.byKey[key]
	if k != nil {
		c.counters.clock++
		k.used = c.counters.clock
	}
	return k
}

// spreadCounter counts the pods that a constraint of pod selects.
func (c *Cluster) spreadCounter(p *Pod, s *spreadConstraint) *counter {
	if k := c.counted(s.key); k != nil {
		return k
	}
	return c.newCounter(&counter{key: s.key, topo: c.topology(s.topology), nodes: &nodeSelection{p, s}, ordered: true,
		selects: podSelection{constraint: s, namespace: p.pod.Namespace}})
}

// termCounter counts the pods that match all terms, by the topology of one of them.
func (c *Cluster) termCounter(key, topology string, terms []podTerm) *counter {
	if k := c.counted(key); k != nil {
		return k
	}
	return c.newCounter(&counter{key: key, topo: c.topology(topology), selects: podSelection{terms: terms}})
}

func (c *Cluster) newCounter(k *counter) *counter {
	c.dropOldest()
	all := &c.counters
	all.clock++
	all.serial++
	k.used = all.clock
	all.byKey[k.key] = k
	names, wide := k.selects.namespaces()
	if wide {
		all.wide = append(all.wide, k)
	}
	for _, ns := range names {
		all.byNamespace[ns] = append(all.byNamespace[ns], k)
	}
	for _, n := range c.nodes {
		k.include(n)
	}
	if wide {
		for ns := range c.byNamespace {
			c.countAll(k, ns)
		}
		return k
	}
	for _, ns := range names {
		c.countAll(k, ns)
	}
	return k
}

func (c *Cluster) countAll(k *counter, namespace string) {
	for _, p := range c.byNamespace[namespace] {
		if !p.off && c.selected(&k.selects, p.Pod) {
			k.add(p.node, 1)
		}
	}
}

// namespaces are those whose pods may be selected; wide is true if these are any.
func (s *podSelection) namespaces() (names []string, wide bool) {
	if s.constraint != nil {
		return []string{s.namespace}, false
	}
	t := &s.terms[0] // a pod must match all terms
	return t.namespaces, t.byLabel != nil
}

// dropOldest makes room for a counter. A decision needs few, so those of the present one are never dropped.
func (c *Cluster) dropOldest() {
	all := &c.counters
	if len(all.byKey) < maxCounters {
		return
	}
	var ages []uint64
	for _, k := range all.byKey {
		ages = append(ages, k.used)
	}
	slices.Sort(ages)
	limit := ages[len(ages)/2]
	keep := func(k *counter) bool { return k.used >= limit || k.used > all.pinned }
	for key, k := range all.byKey {
		if !keep(k) {
			delete(all.byKey, key)
		}
	}
	for ns, list := range all.byNamespace {
		if list = slices.DeleteFunc(list, func(k *counter) bool { return !keep(k) }); len(list) == 0 {
			delete(all.byNamespace, ns)
			continue
		}
		all.byNamespace[ns] = list
	}
	all.wide = slices.DeleteFunc(all.wide, func(k *counter) bool { return !keep(k) })
}

// forgetCounters drops all counters of pods: something changed that they do not follow.
func (c *Cluster) forgetCounters() {
	serial, clock := c.counters.serial, c.counters.clock
	c.counters = newCounters()
	c.counters.serial, c.counters.clock = serial+1, clock
}

// hits returns the counters that count a placed pod.
func (c *Cluster) hits(p *placed) []*counter {
	all := &c.counters
	if p.hitsAt == all.serial {
		return p.hits
	}
	p.hits = p.hits[:0]
	for _, k := range all.byNamespace[p.pod.Namespace] {
		if c.selected(&k.selects, p.Pod) {
			p.hits = append(p.hits, k)
		}
	}
	for _, k := range all.wide {
		if !slices.Contains(p.hits, k) && c.selected(&k.selects, p.Pod) {
			p.hits = append(p.hits, k)
		}
	}
	p.hitsAt = all.serial
	return p.hits
}

// groups count, for each different term of placed pods, the pods that have it, by domain. An incoming pod is
// compared with terms, not with pods.
type groups struct {
	byKey       map[string]*counter
	byNamespace map[string][]*counter
	wide        []*counter
}

func newGroups() groups {
	return groups{byKey: map[string]*counter{}, byNamespace: map[string][]*counter{}}
}

// hold notes that a pod has a term.
func (g *groups) hold(c *Cluster, t *podTerm, known *counter) *counter {
	k := g.byKey[t.group]
	if k == nil {
		k = known
		if k == nil {
			k = &counter{key: t.group, topo: c.topology(t.topology), term: t}
			for _, n := range c.nodes {
				k.include(n)
			}
		}
		g.byKey[k.key] = k
		if t.byLabel != nil {
			g.wide = append(g.wide, k)
		} else {
			for _, ns := range t.namespaces {
				g.byNamespace[ns] = append(g.byNamespace[ns], k)
			}
		}
	}
	k.holders++
	return k
}

// release notes that a pod with the term of k is gone.
func (g *groups) release(k *counter) {
	if k.holders--; k.holders > 0 {
		return
	}
	delete(g.byKey, k.key)
	is := func(o *counter) bool { return o == k }
	if k.term.byLabel != nil {
		g.wide = slices.DeleteFunc(g.wide, is)
		return
	}
	for _, ns := range k.term.namespaces {
		if list := slices.DeleteFunc(g.byNamespace[ns], is); len(list) > 0 {
			g.byNamespace[ns] = list
		} else {
			delete(g.byNamespace, ns)
		}
	}
}

// match appends the groups whose term the pod matches.
func (g *groups) match(c *Cluster, p *Pod, out []*counter) []*counter {
	for _, k := range g.byNamespace[p.pod.Namespace] {
		if c.matches(k.term, p.pod) {
			out = append(out, k)
		}
	}
	for _, k := range g.wide {
		if c.matches(k.term, p.pod) {
			out = append(out, k)
		}
	}
	return out
}

func (c *Cluster) eachCounter(f func(k *counter)) {
	for _, k := range c.counters.byKey {
		f(k)
	}
	for _, g := range []*groups{&c.anti, &c.affine, &c.liked} {
		for _, k := range g.byKey {
			f(k)
		}
	}
}
