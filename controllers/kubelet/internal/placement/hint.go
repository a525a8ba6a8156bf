package placement

import (
	"iter"
	"math/bits"
	"slices"
)

// maxNode is the highest number of a NUMA node.
const maxNode = 63

// Nodes is a set of NUMA nodes, a bit each. The zero value, as the place of a resource, is any node.
type Nodes uint64

// NodesOf returns a set of nodes. Numbers that are not of 0 to 63 are left out.
func NodesOf(ids ...int) Nodes {
	var n Nodes
	for _, id := range ids {
		if id >= 0 && id <= maxNode {
			n |= 1 << id
		}
	}
	return n
}

// Has reports whether a node is in the set.
func (n Nodes) Has(id int) bool { return id >= 0 && id <= maxNode && n&(1<<id) != 0 }

// Count returns how many nodes there are.
func (n Nodes) Count() int { return bits.OnesCount64(uint64(n)) }

// IDs returns the nodes in order.
func (n Nodes) IDs() []int {
	var ids []int
	for rest := uint64(n); rest != 0; rest &= rest - 1 {
		ids = append(ids, bits.TrailingZeros64(rest))
	}
	return ids
}

// less orders sets: the smaller ones first, then those with lower nodes.
func (n Nodes) less(o Nodes) bool {
	if a, b := n.Count(), o.Count(); a != b {
		return a < b
	}
	return n < o
}

// subsets yields all sets of some of the nodes, but the empty one.
func (n Nodes) subsets() iter.Seq[Nodes] {
	return func(yield func(Nodes) bool) {
		for s := (Nodes(0) - n) & n; s != 0; s = (s - n) & n {
			if !yield(s) {
				return
			}
		}
	}
}

// Hint is a place where a resource can come from. It is preferred if no smaller set of nodes could give as
// much, were they all free.
type Hint struct {
	Nodes     Nodes
	Preferred bool
}

// Hints returns the places for a resource: the sets of nodes that have enough of it at the moment. enough
// says whether a set would be enough if all of it were free, free whether what is free is.
func Hints(nodes Nodes, enough, free func(Nodes) bool) []Hint {
	hints, _ := hints(nodes, enough, free)
	return hints
}

// hints is Hints, with the size of the smallest set that would be enough.
func hints(nodes Nodes, enough, free func(Nodes) bool) (list []Hint, least int) {
	list, least = []Hint{}, nodes.Count()
	for n := range nodes.subsets() {
		if n.Count() < least && enough(n) {
			least = n.Count()
		}
		if free(n) {
			list = append(list, Hint{Nodes: n})
		}
	}
	for i := range list {
		list[i].Preferred = list[i].Nodes.Count() == least
	}
	return list, least
}

// Alignment says what is done if the resources of a container cannot come from the same nodes.
type Alignment string

// The values of Alignment: nothing is compared; as good as possible; refused unless each resource has the
// nodes that are best for it; the same, with a single node.
const (
	AlignNone       Alignment = "none"
	AlignBestEffort Alignment = "best-effort"
	AlignRestricted Alignment = "restricted"
	AlignSingleNode Alignment = "single-numa-node"
)

// merger finds the place that suits all resources.
type merger struct {
	machine   *Machine
	alignment Alignment
	closest   bool // the nodes with the least distance among equally many
	// wanted is how many nodes the resource needs that needs most.
	wanted int
}

// merge returns the best place for resources, each with the places that it can come from, and whether they
// may be given. A resource without any places has a list that is empty; one that comes from anywhere is left
// out.
func (m *Machine) merge(alignment Alignment, closest bool, resources [][]Hint) (best Hint, ok bool) {
	g := merger{machine: m, alignment: alignment, closest: closest && alignment != AlignSingleNode}
	var lists [][]Hint
	for _, hints := range resources {
		if len(hints) == 0 {
			hints = []Hint{{}} // any nodes, and not preferred
		}
		if alignment == AlignSingleNode {
			hints = slices.DeleteFunc(slices.Clone(hints), func(h Hint) bool { return !h.Preferred || h.Nodes.Count() != 1 })
		}
		least := Nodes(0)
		for _, h := range hints {
			if h.Nodes != 0 && (least == 0 || h.Nodes.less(least)) {
				least = h.Nodes
			}
		}
		g.wanted = max(g.wanted, least.Count())
		lists = append(lists, hints)
	}
	best, found := g.best(lists)
	if !found {
		best = Hint{Nodes: m.nodes()}
	}
	switch {
	case alignment == AlignSingleNode && best.Nodes == m.nodes():
		best.Nodes = 0
	case alignment == AlignBestEffort:
		return best, true
	}
	return best, best.Preferred
}

// partial is what some of the resources have in common: the nodes, which are those of each of them if all
// are preferred.
type partial struct {
	Hint
	set bool // one of the resources needs certain nodes
}

// best combines one place of each resource in all ways. What combinations of the first resources have in
// common is one of few sets of nodes, so the work is the number of sets times that of places, for each
// resource, instead of the product of all places.
func (g *merger) best(lists [][]Hint) (best Hint, found bool) {
	all := map[partial]bool{{Hint: Hint{g.machine.nodes(), true}}: true}
	for _, hints := range lists {
		next := map[partial]bool{}
		for p := range all {
			for _, h := range hints {
				q := p
				q.Preferred = p.Preferred && h.Preferred
				if h.Nodes != 0 {
					q.Preferred = q.Preferred && (!p.set || p.Nodes == h.Nodes)
					q.Nodes, q.set = p.Nodes&h.Nodes, true
				}
				next[q] = true
			}
		}
		all = next
	}
	for p := range all {
		if p.Nodes != 0 && (!found || g.better(p.Hint, best)) {
			best, found = p.Hint, true
		}
	}
	return best, found
}

// better reports whether a is a better place than b.
func (g *merger) better(a, b Hint) bool {
	if a.Preferred != b.Preferred {
		return a.Preferred
	}
	if a.Preferred {
		return g.nearer(a.Nodes, b.Nodes)
	}
	// Neither suits all resources: best are as many nodes as the largest demand needs, then the fewest of
	// more nodes than that only if there are none with less, of which those with most nodes are best.
	rank := func(n Nodes) int {
		switch c := n.Count(); {
		case c == g.wanted:
			return 0
		case c < g.wanted:
			return g.wanted - c
		}
		return g.wanted
	}
	if x, y := rank(a.Nodes), rank(b.Nodes); x != y {
		return x < y
	}
	return g.nearer(a.Nodes, b.Nodes)
}

// nearer reports whether a is to be had rather than b: fewer nodes, or nearer ones, or lower ones.
func (g *merger) nearer(a, b Nodes) bool {
	if g.closest && a.Count() == b.Count() {
		if x, y := g.machine.distance(a), g.machine.distance(b); x != y {
			return x < y
		}
	}
	return a.less(b)
}

// distance is the sum of the distances between nodes, which is comparable for sets of the same size.
func (m *Machine) distance(n Nodes) int {
	sum := 0
	for i := range m.Nodes {
		for j := range m.Nodes {
			if n.Has(m.Nodes[i].ID) && n.Has(m.Nodes[j].ID) && j < len(m.Nodes[i].Distances) {
				sum += m.Nodes[i].Distances[j]
			}
		}
	}
	return sum
}
