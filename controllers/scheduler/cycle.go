package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Cycle is one decision about one pod. A cluster keeps one for each profile and uses its memory again, so
// that decisions allocate nothing.
type Cycle struct {
	cluster *Cluster
	profile *Profile
	pod     *Pod
	scratch map[string]any
	shapes  shapes

	shape  *shape
	checks []check
	// refused is the answer of a PreFilter plugin that refuses all nodes.
	refused *Status
	failed  *Status
	// running is the plugin that is being called, to name it if it panics.
	running string

	// ahead are the nominations whose room the pod must leave alone. bare says, by node, which nodes would
	// refuse the pod if the nominated pods were not there: a pod that wants others near must not be placed
	// beside one that is not there yet.
	ahead   []*nomination
	bare    []*Status
	hasBare bool
	// reserved are the nominated pods that a trial of preemption has put on their nodes.
	reserved []*placed
	// expected are the nominated pods whose terms are held now.
	expected [][]*placed
	// reserving are the Reserve plugins that are being called for the pod on the node reservingOn.
	reserving   []ReservePlugin
	reservingOn string
	watch       *watch
	// renewed is the nomination that PostFilter plugins made or kept for the pod.
	renewed *nomination

	feasible []*Node
	totals   []int64
	part     []int64
	refusals []turnedDown
	selected *Node
	// scored is set if totals are known; explained, if not nil, records what each plugin says.
	scored    bool
	explained *Explanation
	batch     batch
	called    *calls
	timing    timing
	// partial is set if the search has ended early, and compared if the score of a node depends on others.
	partial, compared bool
	stamps            []uint64
	stamp             uint64
}

// check is a filter of this cycle.
type check struct {
	plugin Plugin
	filter NodeFilter
	plain  FilterPlugin
	// monotone filters never allow with more pods what they refuse with fewer.
	monotone bool
	foreign  bool
	// local filters look at the pod and one node alone.
	local bool
	// calls counts those of the filter.
	calls *int64
	// said is the last answer without a name, named the same with it.
	said, named *Status
}

// turnedDown is a node that cannot take the pod.
type turnedDown struct {
	node   *Node
	status *Status
}

// Pod returns the pod that is being decided about.
func (cy *Cycle) Pod() *Pod { return cy.pod }

// Nodes calls yield for each node of the cluster, in the order in which they came.
func (cy *Cycle) Nodes(yield func(*Node) bool) {
	for _, n := range cy.cluster.order {
		if !yield(n) {
			return
		}
	}
}

// Scratch returns memory of a plugin that the cycles of one cluster share: zero at first, then as the
// previous cycle left it. Plugins keep what they know of a decision there, because they may be used for
// several clusters at a time.
func Scratch[T any](cy *Cycle, p Plugin) *T {
	if v, ok := cy.scratch[p.Name()].(*T); ok {
		return v
	}
	v := new(T)
	cy.scratch[p.Name()] = v
	return v
}

func (c *Cluster) cycle(p *Profile) *Cycle {
	cy := c.cycles[p]
	if cy == nil {
		cy = &Cycle{cluster: c, profile: p, scratch: map[string]any{}, shapes: newShapes(), called: c.callsOf(p)}
		c.cycles[p] = cy
	}
	return cy
}

// decide selects a node for a pod. The result stays in the cycle until the next decision with the profile. A
// plugin that panics makes it fail.
func (c *Cluster) decide(p *Profile, pod *Pod, why *Explanation) *Cycle {
	cy := c.cycle(p)
	if why == nil && cy.follows(pod) {
		return cy
	}
	cy.explained = why
	cy.begin(pod)
	if why == nil {
		cy.timed()
	}
	cy.guard((*Cycle).search)
	if cy.failed == nil && len(cy.feasible) > 0 {
		cy.guard((*Cycle).rank)
	}
	cy.timing.on = false
	if cy.failed != nil {
		cy.feasible, cy.selected = cy.feasible[:0], nil
	}
	if f := c.measured; f != nil && f.BatchKept != nil {
		began := time.Now()
		cy.batch.open(cy)
		f.BatchKept(p.name, time.Since(began))
	} else {
		cy.batch.open(cy)
	}
	return cy
}

// guard runs one part of the decision and turns a panic of a plugin into a failure of this decision.
func (cy *Cycle) guard(f func(cy *Cycle)) {
	defer func() {
		if r := recover(); r != nil {
			cy.watch.leave()
			cy.failed = &Status{Code: Error, Plugin: cy.running, Reasons: []string{fmt.Sprintf("plugin %s panicked: %v", cy.running, r)}}
		}
	}()
	f(cy)
}

func (cy *Cycle) begin(pod *Pod) {
	cy.pod, cy.watch = pod, cy.cluster.watch
	cy.cluster.counters.pinned = cy.cluster.counters.clock
	clear(cy.feasible)
	clear(cy.refusals)
	cy.feasible, cy.refusals, cy.checks = cy.feasible[:0], cy.refusals[:0], cy.checks[:0]
	cy.expected, cy.reserving = cy.expected[:0], nil
	cy.renewed, cy.refused, cy.failed, cy.selected, cy.scored, cy.hasBare, cy.running = nil, nil, nil, nil, false, false, ""
	cy.ahead = cy.cluster.nominations.ahead(pod, cy.ahead[:0])
	cy.partial, cy.compared, cy.batch.serial = false, false, 0
	cy.batch.scorers = cy.batch.scorers[:0]
	cy.timing.on, cy.timing.sampled, cy.timing.atNode = false, false, false
}

// prepare calls the PreFilter plugins. It is false if one refuses the pod.
func (cy *Cycle) prepare() bool {
	ok := cy.prefilter()
	cy.passed("PreFilter", cmp.Or(cy.failed, cy.refused))
	return ok
}

func (cy *Cycle) prefilter() bool {
	if cy.shape = cy.shapeOf(cy.pod); cy.shape == nil {
		cy.shape = &cy.shapes.unsigned
		clear(cy.shape.cells)
	}
	cy.passed("Sign", nil)
	for i := range cy.profile.filter {
		k, calls := &cy.profile.filter[i], &cy.called.filter[i]
		if k.pre == nil {
			cy.checks = append(cy.checks, check{plugin: k.plugin, plain: k.plain, foreign: cy.watchOf(k.plugin) != nil, local: k.local, calls: calls})
			continue
		}
		cy.running = k.plugin.Name()
		cy.called.preFilter[i]++
		w := cy.watchOf(k.plugin)
		var f NodeFilter
		st := cy.call(w, k.plugin, "PreFilter", func() (st *Status) {
			f, st = k.pre.PreFilter(cy)
			return st
		})
		switch {
		case st.OK() && f != nil:
			_, grows := f.(monotone)
			cy.checks = append(cy.checks, check{plugin: k.plugin, filter: f, monotone: grows, foreign: w != nil, local: k.local, calls: calls})
		case st.OK() || st.Code == Skip:
		case st.Code == Error:
			cy.failed = named(st, k.plugin)
			return false
		default:
			cy.refused = named(st, k.plugin)
			return false
		}
	}
	return true
}

// call calls a plugin once for the decision.
func (cy *Cycle) call(w *watch, p Plugin, point string, f func() *Status) *Status {
	var st *Status
	w.enter()
	if cy.timing.sampled {
		st = cy.sample(p, point, f)
	} else {
		st = f()
	}
	w.leave()
	return st
}

// watchOf is what follows the calls of a plugin, nil for those of this package.
func (cy *Cycle) watchOf(p Plugin) *watch {
	if cy.watch == nil || !isForeign(p) {
		return nil
	}
	return cy.watch
}

// monotone is implemented by filters that never allow with more pods what they refuse with fewer.
type monotone interface{ monotone() }

// named returns the status with the name of its plugin.
func named(st *Status, p Plugin) *Status {
	if st.Plugin != "" {
		return st
	}
	out := *st
	out.Plugin = p.Name()
	return &out
}

// search finds feasible nodes.
func (cy *Cycle) search() {
	cy.withRoom(func(cy *Cycle) {
		cy.timing.atNode = cy.timing.sampled
		cy.look()
		cy.passed("Filter", cy.failed)
	})
}

// withRoom calls f with the filters prepared and with the room that nominations keep taken.
func (cy *Cycle) withRoom(f func(cy *Cycle)) {
	c := cy.cluster
	reserved := cy.expect()
	defer cy.unexpect(reserved)
	if !cy.prepare() {
		return
	}
	cy.judgeBare()
	c.reserve(reserved)
	f(cy)
}

// expect notes the terms of the pods that nominations keep room for, until unexpect is called.
func (cy *Cycle) expect() []*placed {
	reserved := cy.cluster.expect(cy.ahead)
	if len(reserved) > 0 {
		cy.expected = append(cy.expected, reserved)
	}
	return reserved
}

// unexpect takes back what was reserved and expected. A goroutine whose decision was abandoned does not: that
// was done when it was.
func (cy *Cycle) unexpect(reserved []*placed) {
	if len(reserved) == 0 || cy.watch.over() {
		return
	}
	cy.expected = cy.expected[:len(cy.expected)-1]
	cy.cluster.unreserve(reserved)
}

// fitsNow reports whether a pod fits on one node. It uses the profile's cycle.
func (c *Cluster) fitsNow(p *Profile, pod *Pod, n *Node) (ok bool) {
	cy := c.cycle(p)
	cy.explained = nil
	cy.begin(pod)
	cy.guard(func(cy *Cycle) { cy.withRoom(func(cy *Cycle) { ok = cy.filter(n) == nil }) })
	return ok && cy.failed == nil
}

// look visits the nodes until enough of them are feasible.
func (cy *Cycle) look() {
	c := cy.cluster
	if n := c.nominatedNode(cy.pod); n != nil && c.within.has(n) && cy.filter(n) == nil {
		cy.feasible = append(cy.feasible, n)
		return
	}
	if cy.pod.pinned != nil && cy.explained == nil {
		for _, name := range cy.pod.pinned {
			if n := c.existing(name); n != nil && c.within.has(n) {
				cy.visit(n)
			}
		}
		return
	}
	enough, nodes := cy.enough(), c.candidates()
	k := c.next % max(len(nodes), 1)
	for range nodes {
		if found := cy.visit(nodes[k]); cy.failed != nil {
			return
		} else if found && len(cy.feasible) >= enough {
			c.next = (k + 1) % len(nodes)
			cy.partial = true
			return
		}
		if k++; k == len(nodes) {
			k = 0
		}
	}
}

// visit calls the filters for a node and notes their answer, which is true if the node is feasible.
func (cy *Cycle) visit(n *Node) bool {
	st := cy.filter(n)
	cy.timing.atNode = false
	if st != nil && st.Code == Error {
		cy.failed = st
		return false
	}
	if st == nil {
		cy.feasible = append(cy.feasible, n)
		return true
	}
	cy.refusals = append(cy.refusals, turnedDown{n, st})
	return false
}

// filter returns why a node cannot take the pod, nil if it can.
func (cy *Cycle) filter(n *Node) *Status {
	if st := cy.staticFilter(n); st != nil {
		return st
	}
	for i := range cy.checks {
		if st := cy.ask(&cy.checks[i], n); !st.OK() {
			return st
		}
	}
	if cy.hasBare { // last: a node that refuses in both ways says why with the room kept
		return cy.bare[n.id]
	}
	return nil
}

func (cy *Cycle) ask(k *check, n *Node) *Status {
	if cy.timing.atNode {
		return cy.askAndSample(k, n)
	}
	cy.running = k.plugin.Name()
	*k.calls++
	var st *Status
	if k.foreign {
		cy.watch.enter()
	}
	if k.filter != nil {
		st = k.filter.Filter(n)
	} else {
		st = k.plain.Filter(cy.pod, n)
	}
	if k.foreign {
		cy.watch.leave()
	}
	if st == nil || st.Plugin != "" {
		return st
	}
	if st != k.said {
		k.said, k.named = st, named(st, k.plugin)
	}
	return k.named
}

// staticFilter calls the filters that depend on nothing but the node's object and the signed part of the pod,
// if they were not asked yet.
func (cy *Cycle) staticFilter(n *Node) *Status {
	s := cy.shape
	s.cells = grow(s.cells, n.id, cell{})
	known := &s.cells[n.id]
	if known.version == n.version && !cy.timing.atNode {
		return known.status
	}
	*known = cell{version: n.version}
	for i, p := range cy.profile.static {
		cy.running = p.Name()
		cy.called.static[i]++
		w := cy.watchOf(p)
		w.enter()
		var st *Status
		if cy.timing.atNode {
			st = cy.sample(p, "Filter", func() *Status { return p.Filter(cy.pod, n) })
		} else {
			st = p.Filter(cy.pod, n)
		}
		w.leave()
		if !st.OK() {
			known.status = named(st, p)
			if st.Code == Error {
				known.version = 0 // is not remembered
			}
			break
		}
	}
	return known.status
}

// judgeBare calls the filters that nominated pods could satisfy, before room is kept for these.
func (cy *Cycle) judgeBare() {
	if len(cy.ahead) == 0 {
		return
	}
	for i := range cy.checks {
		k := &cy.checks[i]
		if k.monotone {
			continue
		}
		if !cy.hasBare {
			cy.hasBare = true
			cy.bare = slices.Grow(cy.bare[:0], len(cy.cluster.nodes))[:len(cy.cluster.nodes)]
			clear(cy.bare)
		}
		for _, n := range cy.cluster.order {
			if cy.bare[n.id] == nil {
				if st := cy.ask(k, n); !st.OK() {
					cy.bare[n.id] = st
				}
			}
		}
	}
}

// enough is how many feasible nodes are enough to stop searching: all of a small cluster, and a share of a
// large one that falls from half to a twentieth, but never fewer than a hundred.
func (cy *Cycle) enough() int {
	const least = 100
	nodes, percent := cy.cluster.size(), cy.profile.percentage
	if nodes < least || percent == 100 || cy.explained != nil && cy.explained.All {
		return nodes
	}
	if percent == 0 {
		percent = max(50-nodes/125, 5)
	}
	return max(nodes*percent/100, least)
}

// nominatedNode is the node where room is kept for the pod, nil if there is none.
func (c *Cluster) nominatedNode(pod *Pod) *Node {
	if nom := c.nominations.byPod[pod.pod.UID]; nom != nil {
		return c.existing(nom.node)
	}
	return nil
}

// rank scores the feasible nodes and selects the best.
func (cy *Cycle) rank() {
	cy.totals = slices.Grow(cy.totals[:0], len(cy.feasible))[:len(cy.feasible)]
	clear(cy.totals)
	if len(cy.feasible) > 1 || cy.explained != nil {
		cy.score()
	}
	if cy.failed == nil {
		cy.selected = cy.best()
	}
}

func (cy *Cycle) score() {
	cy.scored = true
	cy.prescore()
	if cy.passed("PreScore", cy.failed); cy.failed != nil {
		return
	}
	cy.part = slices.Grow(cy.part[:0], len(cy.feasible))[:len(cy.feasible)]
	for i := range cy.batch.scorers {
		if cy.scoreWith(&cy.batch.scorers[i]); cy.failed != nil {
			break
		}
	}
	cy.passed("Score", cy.failed)
}

// prescore calls the PreScore plugins, and collects those that score.
func (cy *Cycle) prescore() {
	for i := range cy.profile.score {
		s := &cy.profile.score[i]
		x := batchScorer{scorer: s, calls: &cy.called.score[i]}
		if s.pre != nil {
			cy.running = s.plugin.Name()
			cy.called.preScore[i]++
			st := cy.call(cy.watchOf(s.plugin), s.plugin, "PreScore", func() (st *Status) {
				x.by, st = s.pre.PreScore(cy, cy.feasible)
				return st
			})
			if !st.OK() && st.Code != Skip {
				cy.failed = named(st, s.plugin)
				return
			}
			if x.by == nil {
				continue
			}
		}
		cy.batch.scorers = append(cy.batch.scorers, x)
	}
}

// scoreWith adds the scores of one plugin.
func (cy *Cycle) scoreWith(x *batchScorer) {
	s := x.scorer
	cy.running = s.plugin.Name()
	*x.calls += int64(len(cy.feasible))
	w := cy.watchOf(s.plugin)
	w.enter()
	nodes, part := cy.feasible, cy.part
	if cy.timing.sampled {
		cy.sample(s.plugin, "Score", func() *Status {
			part[0] = x.score(cy.pod, nodes[0])
			return nil
		})
		nodes, part = nodes[1:], part[1:]
	}
	if x.by != nil {
		for i, n := range nodes {
			part[i] = x.by.Score(n)
		}
	} else {
		for i, n := range nodes {
			part[i] = s.plain.Score(cy.pod, n)
		}
	}
	cy.explained.raw(s.plugin, cy)
	by, normalizes := x.by.(Normalizer)
	if !normalizes {
		by, normalizes = s.plugin.(Normalizer)
	}
	cy.compared = cy.compared || !s.local || normalizes && (s.foreign || slices.ContainsFunc(cy.part, func(v int64) bool { return v != 0 }))
	if normalizes {
		by.NormalizeScore(cy.part)
	}
	w.leave()
	x.equal, x.first = normalizes, cy.part[0]
	cy.explained.normalized(s, cy)
	for i, v := range cy.part {
		if v < 0 || v > MaxNodeScore {
			cy.failed = &Status{Code: Error, Plugin: cy.running, Reasons: []string{fmt.Sprintf(
				"plugin %s gives node %s the score %d: want 0 to %d", cy.running, cy.feasible[i].name, v, MaxNodeScore)}}
			return
		}
		cy.totals[i] += s.weight * v
	}
}

// best picks one among the highest scores.
func (cy *Cycle) best() *Node {
	return cy.feasible[cy.cluster.best(cy.totals, cy.pod)]
}

// best picks one among the highest scores for a pod.
func (c *Cluster) best(totals []int64, p *Pod) int {
	top, ties := totals[0], 0
	for _, v := range totals {
		switch {
		case v > top:
			top, ties = v, 1
		case v == top:
			ties++
		}
	}
	pick := c.tie(p, ties)
	for i, v := range totals {
		if v == top {
			if pick == 0 {
				return i
			}
			pick--
		}
	}
	return 0
}

// tie picks one of n equal nodes: at random, or by the pod's UID, so that an explanation equals the decision
// that follows.
func (c *Cluster) tie(p *Pod, n int) int {
	if c.random != nil {
		return c.random(n)
	}
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(p.pod.UID) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return int(h % uint64(n))
}
