package placement

import (
	"cmp"
	"fmt"
	"slices"
)

// picker picks CPUs from those that are free, so that as few cores, sockets and NUMA nodes as possible are
// shared by containers.
type picker struct {
	machine *Machine
	// spread takes CPUs of as many cores as possible; caches keeps containers on one cache if they fit.
	spread, caches bool

	free, got Set
	need      int
}

// group are free CPUs that have something in common.
type group struct {
	key  int
	cpus Set
}

// groups returns the free CPUs by their levels, the outermost first: within each level first the groups with
// the fewest free CPUs, so that whole ones are left for others.
func (p *picker) groups(levels ...level) []group {
	list := []group{{cpus: p.free}}
	for _, by := range levels {
		var next []group
		for _, g := range list {
			inner := map[int]Set{}
			for _, id := range g.cpus {
				c, _ := p.machine.cpu(id)
				inner[by(c)] = append(inner[by(c)], id)
			}
			var parts []group
			for key, cpus := range inner {
				parts = append(parts, group{key, cpus})
			}
			slices.SortFunc(parts, func(a, b group) int {
				return cmp.Or(cmp.Compare(len(a.cpus), len(b.cpus)), cmp.Compare(a.key, b.key))
			})
			next = append(next, parts...)
		}
		list = next
	}
	return list
}

func (p *picker) take(s Set) {
	p.got, p.free, p.need = p.got.Union(s), p.free.Minus(s), p.need-len(s)
}

// whole takes the groups of the last level that are free as a whole and not more than what is needed.
func (p *picker) whole(levels ...level) {
	by := levels[len(levels)-1]
	for _, g := range p.groups(levels...) {
		if len(g.cpus) <= p.need && len(p.machine.whole(g.cpus, by)) == len(g.cpus) {
			p.take(g.cpus)
		}
	}
}

// outer returns the levels above cores, the outermost first: a NUMA node has several sockets, or a socket
// several nodes.
func (p *picker) outer() []level {
	if p.machine.count(bySocket) >= p.machine.count(byNode) {
		return []level{byNode, bySocket}
	}
	return []level{bySocket, byNode}
}

// pick returns that many of the free CPUs.
func (p picker) pick(free Set, need int) (Set, error) {
	if need > len(free) {
		return nil, fmt.Errorf("not enough cpus available to satisfy request: requested=%d, available=%d", need, len(free))
	}
	p.free, p.got, p.need = free, nil, need
	outer := p.outer()
	p.whole(outer[0])
	p.whole(outer...)
	if p.caches {
		p.oneCache(outer)
	}
	cores := append(outer, byCore)
	if !p.spread {
		p.whole(cores...)
	}
	p.rest(cores)
	return p.got, nil
}

// oneCache takes whole caches, and what is needed beyond them from one cache.
func (p *picker) oneCache(outer []level) {
	levels := append(slices.Clone(outer), byCache)
	p.whole(levels...)
	for _, g := range p.groups(levels...) {
		if p.need == 0 || len(g.cpus) < p.need {
			continue
		}
		within := picker{machine: p.machine, spread: p.spread, free: g.cpus, need: p.need}
		if !p.spread {
			within.whole(byCore)
		}
		within.rest([]level{byCore})
		p.take(within.got)
		return
	}
}

// rest takes single CPUs: those of cores that are used already first, or of as many cores as possible.
func (p *picker) rest(cores []level) {
	var order Set
	groups := p.groups(cores...)
	if p.spread {
		slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(len(b.cpus), len(a.cpus)) })
		for i := 0; len(order) < len(p.free); i++ {
			for _, g := range groups {
				if i < len(g.cpus) {
					order = append(order, g.cpus[i])
				}
			}
		}
	} else {
		for _, g := range groups {
			order = append(order, g.cpus...)
		}
	}
	taken := slices.Clone(order[:p.need])
	slices.Sort(taken)
	p.take(taken)
}

// pickSpread returns that many CPUs, in units of so many, of as few NUMA nodes as have them, the same number
// of each as far as possible. Among several ways the one counts that leaves the nodes most alike.
func (p picker) pickSpread(free Set, need, unit int) (Set, error) {
	if need > len(free) || need == 0 || need%unit != 0 {
		return p.pick(free, need)
	}
	p.free = free
	nodes := p.groups(byNode)
	var best map[int]int
	for count := 1; count <= len(nodes) && best == nil; count++ {
		least := 0
		for chosen := range choices(len(nodes), count) {
			give, sum := share(nodes, chosen, need, unit)
			if give != nil && (best == nil || sum < least) {
				best, least = give, sum
			}
		}
	}
	if best == nil {
		return p.pick(free, need)
	}
	var got Set
	for _, n := range nodes {
		if best[n.key] == 0 {
			continue
		}
		part, err := p.pick(n.cpus, best[n.key])
		if err != nil {
			return nil, err
		}
		got = got.Union(part)
	}
	return got, nil
}

// share divides CPUs among the chosen nodes, all the same number, and single units of what remains to those
// that have most. It returns nothing if a node has too few, and otherwise how many each node gives and the
// sum of the squares of what all nodes have left, which is smallest if they have equally many.
func share(nodes []group, chosen []int, need, unit int) (give map[int]int, sum int) {
	each := need / len(chosen) / unit * unit
	left := make([]int, len(nodes))
	for i, n := range nodes {
		left[i] = len(n.cpus)
	}
	give = map[int]int{}
	for _, i := range chosen {
		if left[i] < each {
			return nil, 0
		}
		left[i] -= each
		give[nodes[i].key] = each
	}
	for rest := need - each*len(chosen); rest > 0; rest -= unit {
		most := slices.MaxFunc(chosen, func(a, b int) int { return cmp.Compare(left[a], left[b]) })
		if left[most] < unit {
			return nil, 0
		}
		left[most] -= unit
		give[nodes[most].key] += unit
	}
	for _, n := range left {
		sum += n * n
	}
	return give, sum
}

// choices yields all ways to choose count of n numbers, in order. The slice is used again.
func choices(n, count int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		chosen := make([]int, 0, count)
		var next func(from int) bool
		next = func(from int) bool {
			if len(chosen) == count {
				return yield(chosen)
			}
			for i := from; i <= n-(count-len(chosen)); i++ {
				chosen = append(chosen, i)
				if !next(i + 1) {
					return false
				}
				chosen = chosen[:len(chosen)-1]
			}
			return true
		}
		next(0)
	}
}
