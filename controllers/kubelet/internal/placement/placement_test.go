package placement

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// box is a machine of sockets with NUMA nodes with cores with two threads each: thread t of core c is CPU
// c + t*cores, as most machines number them.
func box(sockets, nodes, cores int, memory uint64) *Machine {
	m := &Machine{}
	all := sockets * nodes * cores
	for id := range 2 * all {
		core := id % all
		node := core / cores
		m.CPUs = append(m.CPUs, CPU{ID: id, Core: core, Node: node, Socket: node / nodes, Cache: core / max(cores/2, 1) * max(cores/2, 1)})
	}
	for i := range sockets * nodes {
		n := Node{ID: i, Memory: memory, HugePages: map[uint64]uint64{}}
		for j := range sockets * nodes {
			d := 10
			if i != j {
				d = 12 + 9*max(i/nodes-j/nodes, j/nodes-i/nodes)
			}
			n.Distances = append(n.Distances, d)
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

func set(t testing.TB, text string) Set {
	s, err := ParseSet(text)
	require.NoError(t, err)
	return s
}

func TestSets(t *testing.T) {
	s := set(t, "8,0-3\n")
	require.Equal(t, Set{0, 1, 2, 3, 8}, s)
	require.Equal(t, "0-3,8", s.String())
	require.Equal(t, "0-1,3-4,8", s.Union(Set{4}).Minus(Set{2}).String())
	require.Equal(t, "2-3", s.And(set(t, "2-7")).String())
	require.Empty(t, set(t, "").String())
	for _, bad := range []string{"a", "1-", "-1", "3-1", "1,,2", "0-99999999"} {
		_, err := ParseSet(bad)
		require.Error(t, err, bad)
	}
}

func FuzzParseSet(f *testing.F) {
	f.Add("0-3,8")
	f.Add("1,1,0")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSet(text)
		if err != nil {
			return
		}
		again, err := ParseSet(s.String())
		require.NoError(t, err)
		require.Equal(t, s, again)
		require.True(t, slices.IsSorted(s))
	})
}

func TestReadMachine(t *testing.T) {
	files := map[string]string{
		"cpu/online":                                         "0-1,4",
		"cpu/cpu0/cache/index3/level":                        "3",
		"cpu/cpu0/cache/index3/shared_cpu_list":              "0-1",
		"cpu/cpu0/cache/index0/level":                        "1",
		"cpu/cpu0/cache/index0/shared_cpu_list":              "0",
		"cpu/cpu0/cache/uevent":                              "",
		"node/online":                                        "0-1",
		"node/node0/cpulist":                                 "0-1",
		"node/node0/distance":                                "10 21",
		"node/node0/meminfo":                                 "Node 0 MemTotal:       1024 kB\nNode 0 MemFree: 12 kB\n",
		"node/node0/hugepages/hugepages-2048kB/nr_hugepages": "3",
		"node/node1/cpulist":                                 "4",
		"node/node1/distance":                                "21 10",
		"node/node1/meminfo":                                 "Node 1 MemTotal:       2048 kB\n",
	}
	for _, id := range []string{"0", "1", "4"} {
		files["cpu/cpu"+id+"/topology/physical_package_id"] = map[string]string{"0": "0", "1": "-1", "4": "1"}[id]
		files["cpu/cpu"+id+"/topology/thread_siblings_list"] = map[string]string{"0": "0-1", "1": "0-1", "4": "4"}[id]
	}
	sys := fstest.MapFS{}
	for name, text := range files {
		sys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	m, err := Read(sys, 77)
	require.NoError(t, err)
	require.Equal(t, []CPU{{0, 0, 0, 0, 0}, {1, 0, 0, 0, 1}, {4, 4, 1, 1, 4}}, m.CPUs)
	require.Equal(t, []Node{{0, 1 << 20, map[uint64]uint64{2 << 20: 6 << 20}, []int{10, 21}}, {1, 2 << 20, map[uint64]uint64{}, []int{21, 10}}}, m.Nodes)
	require.Equal(t, 1, m.threads())

	// Without NUMA.
	for name := range maps.Clone(sys) {
		if name[:4] == "node" {
			delete(sys, name)
		}
	}
	m, err = Read(sys, 77)
	require.NoError(t, err)
	require.Equal(t, []Node{{Memory: 77, Distances: []int{10}}}, m.Nodes)

	sys["cpu/cpu4/topology/physical_package_id"] = &fstest.MapFile{Data: []byte("x")}
	_, err = Read(sys, 77)
	require.ErrorContains(t, err, "cpu4/topology/physical_package_id")
	_, err = Read(fstest.MapFS{}, 77)
	require.Error(t, err)
}

// TestReadThisMachine reads what the kernel shows here.
func TestReadThisMachine(t *testing.T) {
	sys := sysfs()
	if sys == nil {
		t.Skip("this system has no /sys/devices/system/cpu")
	}
	m, err := Read(sys, 1<<30)
	require.NoError(t, err)
	require.NotEmpty(t, m.CPUs)
	for _, n := range m.Nodes {
		require.NotZero(t, n.Memory)
		require.Len(t, n.Distances, len(m.Nodes))
	}
}

func TestPick(t *testing.T) {
	m := box(2, 1, 4, 0) // socket 0: 0-3,8-11; socket 1: 4-7,12-15
	for _, c := range []struct {
		name string
		p    picker
		free string
		need int
		want string
	}{
		{"one CPU is the first of the first core", picker{}, "0-15", 1, "0"},
		{"a core", picker{}, "0-15", 2, "0,8"},
		{"a core and a CPU", picker{}, "0-15", 3, "0-1,8"},
		{"a single CPU of a core that is used", picker{}, "0-10,12-15", 1, "3"},
		{"a whole socket", picker{}, "0-15", 8, "0-3,8-11"},
		{"the socket that is whole", picker{}, "1-15", 8, "4-7,12-15"},
		{"of the socket with the fewest free CPUs", picker{}, "0-3,8-11,6-7,14-15", 2, "6,14"},
		{"all", picker{}, "0-15", 16, "0-15"},
		{"as many cores as possible", picker{spread: true}, "0-15", 4, "0-3"},
		{"as many cores as possible, then their other threads", picker{spread: true}, "0-3,8-11", 6, "0-3,8-9"},
		{"one cache", picker{caches: true}, "1-3,9-11,4-7,12-15", 4, "2-3,10-11"},
		{"one cache and a part of another", picker{caches: true}, "0-15", 6, "0-2,8-10"},
	} {
		c.p.machine = m
		got, err := c.p.pick(set(t, c.free), c.need)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got.String(), c.name)
	}
	_, err := picker{machine: m}.pick(set(t, "0-1"), 3)
	require.EqualError(t, err, "not enough cpus available to satisfy request: requested=3, available=2")
}

func TestPickSpread(t *testing.T) {
	m := box(2, 2, 4, 0) // four nodes of eight CPUs: node n has cores 4n to 4n+3
	spread := func(free string, need, unit int) map[int]int {
		got, err := picker{machine: m}.pickSpread(set(t, free), need, unit)
		require.NoError(t, err)
		require.Len(t, got, need)
		nodes := map[int]int{}
		for _, id := range got {
			c, _ := m.cpu(id)
			nodes[c.Node]++
		}
		return nodes
	}
	require.Equal(t, map[int]int{0: 8}, spread("0-31", 8, 1), "one node is enough")
	require.Equal(t, map[int]int{0: 6, 1: 6}, spread("0-31", 12, 1), "two halves")
	require.Equal(t, map[int]int{0: 7, 1: 6}, spread("0-31", 13, 1), "and one more")
	require.Equal(t, map[int]int{0: 8, 1: 6}, spread("0-31", 14, 2), "in whole cores")
	require.Equal(t, map[int]int{1: 5, 2: 5}, spread("3,19,4-11,20-27,12,28", 10, 1), "those that can give halves")
}

// TestPickIsSane picks at random and compares what must hold whatever is free.
func TestPickIsSane(t *testing.T) {
	for _, seed := range seeds.Of(t, 200) {
		r := seeds.Rand(seed)
		m := box(1+r.IntN(2), 1+r.IntN(2), 1+r.IntN(4), 0)
		p := picker{machine: m, spread: r.IntN(3) == 0, caches: r.IntN(2) == 0}
		free := m.all().keep(func(int) bool { return r.IntN(4) > 0 })
		need := r.IntN(len(free) + 1)
		for _, pick := range []func() (Set, error){
			func() (Set, error) { return p.pick(free, need) },
			func() (Set, error) { return p.pickSpread(free, need, 1+r.IntN(2)) },
		} {
			got, err := pick()
			require.NoError(t, err, seed)
			require.Len(t, got, need, seed)
			require.Equal(t, got, got.And(free), seed)
		}
		if p.spread || p.caches {
			continue
		}
		// Cores are broken only if there are not enough whole ones, and at most one of those that are whole.
		got, _ := p.pick(free, need)
		whole, broken := 0, 0
		for _, g := range (&picker{machine: m, free: free}).groups(byCore) {
			if len(g.cpus) == 2 {
				whole++
				if n := len(got.And(g.cpus)); n == 1 {
					broken++
				}
			}
		}
		require.LessOrEqual(t, broken, 1, "seed %d: %v of %v", seed, got, free)
		if need%2 == 0 && whole >= need/2 {
			require.Zero(t, broken, "seed %d: %v of %v", seed, got, free)
		}
	}
}

// naiveMerge combines the places of resources in all ways, one after the other, and keeps the best.
func naiveMerge(m *Machine, g merger, lists [][]Hint) (best Hint, found bool) {
	var next func(i int, chosen []Hint)
	next = func(i int, chosen []Hint) {
		if i < len(lists) {
			for _, h := range lists[i] {
				next(i+1, append(slices.Clone(chosen), h))
			}
			return
		}
		all, first := Hint{m.nodes(), true}, Nodes(0)
		for _, h := range chosen {
			if h.Nodes != 0 {
				if first == 0 {
					first = h.Nodes
				}
				all.Nodes &= h.Nodes
				all.Preferred = all.Preferred && h.Nodes == first
			}
			all.Preferred = all.Preferred && h.Preferred
		}
		if all.Nodes != 0 && (!found || g.better(all, best)) {
			best, found = all, true
		}
	}
	next(0, nil)
	return best, found
}

func TestMergeIsThatOfAllCombinations(t *testing.T) {
	for _, seed := range seeds.Of(t, 400) {
		r := seeds.Rand(seed)
		m := box(1+r.IntN(2), 1+r.IntN(2), 1, 0)
		g := merger{machine: m, closest: r.IntN(2) == 0, wanted: 1 + r.IntN(3)}
		var lists [][]Hint
		for range r.IntN(4) {
			var hints []Hint
			for n := range m.nodes().subsets() {
				if r.IntN(3) > 0 {
					hints = append(hints, Hint{n, r.IntN(2) == 0})
				}
			}
			if r.IntN(8) == 0 {
				hints = append(hints, Hint{})
			}
			lists = append(lists, hints)
		}
		want, wantFound := naiveMerge(m, g, lists)
		got, found := g.best(lists)
		require.Equal(t, wantFound, found, seed)
		require.Equal(t, want, got, seed)
	}
}

func TestAlignments(t *testing.T) {
	m := box(2, 1, 2, 0)
	one, two, both := Hint{1, true}, Hint{2, true}, Hint{3, false}
	for _, c := range []struct {
		alignment Alignment
		lists     [][]Hint
		want      Hint
		ok        bool
	}{
		{AlignRestricted, [][]Hint{{one, both}, {one, two, both}}, Hint{1, true}, true},
		{AlignRestricted, [][]Hint{{one, both}, {two, both}}, Hint{1, false}, false},
		{AlignBestEffort, [][]Hint{{one, both}, {two, both}}, Hint{1, false}, true},
		{AlignSingleNode, [][]Hint{{one, both}, {two, both}}, Hint{0, false}, false},
		{AlignSingleNode, [][]Hint{{Hint{3, true}}}, Hint{0, false}, false},
		{AlignRestricted, [][]Hint{{Hint{3, true}}}, Hint{3, true}, true},
		{AlignRestricted, [][]Hint{{}}, Hint{3, false}, false},
		{AlignSingleNode, nil, Hint{0, true}, true},
		{AlignSingleNode, [][]Hint{{two}}, Hint{2, true}, true},
	} {
		got, ok := m.merge(c.alignment, false, c.lists)
		require.Equal(t, c.want, got, "%+v", c)
		require.Equal(t, c.ok, ok, "%+v", c)
	}
}

// none are no devices.
type none struct{}

func (none) Hints(string) [][]Hint                     { return nil }
func (none) Take(context.Context, string, Nodes) error { return nil }

// two are devices at two nodes, one each.
type two struct {
	hints []Hint
	took  map[string]Nodes
	err   error
}

func (d *two) Hints(string) [][]Hint { return [][]Hint{d.hints} }
func (d *two) Take(_ context.Context, name string, n Nodes) error {
	d.took[name] = n
	return d.err
}

func TestCPUsOfTheirOwn(t *testing.T) {
	m, err := New(box(1, 1, 4, 0), Options{StaticCPUs: true, ReservedCount: 2})
	require.NoError(t, err)
	require.Equal(t, "0-7", m.Shared().String())
	require.Equal(t, "1-3,5-7", m.CPUs().String())
	a, err := m.Admit(t.Context(), Pod{"a", []Container{{Name: "init", Passing: true, CPUs: 4}, {Name: "main", CPUs: 2}, {Name: "shares"}}}, none{})
	require.NoError(t, err)
	require.Equal(t, map[string]Grant{"init": {CPUs: Set{1, 2, 5, 6}}, "main": {CPUs: Set{1, 5}}}, a.Containers)
	require.Equal(t, "0,3-4,7", m.Shared().String())
	require.Equal(t, map[int]int{0: 4}, m.Used())
	_, err = m.Admit(t.Context(), Pod{"b", []Container{{Name: "main", CPUs: 3}}}, none{})
	require.EqualError(t, err, "Allocate failed due to not enough cpus available to satisfy request: requested=3, available=2, which is unexpected")
	require.Equal(t, "0,3-4,7", m.Shared().String(), "what was refused has nothing")

	// A manager that starts again counts what was given.
	again, err := New(box(1, 1, 4, 0), Options{StaticCPUs: true, ReservedCount: 2})
	require.NoError(t, err)
	again.Restore("a", a)
	require.Equal(t, m.Shared(), again.Shared())
	m.Release("a")
	require.Equal(t, "0-7", m.Shared().String())
}

func TestOptionsOfCPUs(t *testing.T) {
	admit := func(opts Options, free string, need int) (Set, error) {
		m, err := New(box(2, 2, 4, 0), opts)
		require.NoError(t, err)
		m.Restore("others", Given{Containers: map[string]Grant{"c": {CPUs: m.machine.all().Minus(set(t, free))}}})
		given, err := m.Admit(t.Context(), Pod{"p", []Container{{Name: "c", CPUs: need}}}, none{})
		return given.Containers["c"].CPUs, err
	}
	static := func(change func(*Options)) Options {
		o := Options{StaticCPUs: true, ReservedCPUs: Set{0}}
		change(&o)
		return o
	}
	full := static(func(o *Options) { o.FullCores = true })
	_, err := admit(full, "0-31", 3)
	require.Equal(t, &Refusal{"SMTAlignmentError", "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2", "cpu"}, err)
	_, err = admit(full, "0-1,16-17", 4)
	require.Equal(t, &Refusal{"SMTAlignmentError", "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 2, requested CPUs = 4, CPUs per core = 2", "cpu"}, err)
	got, err := admit(full, "0-1,16-17", 2)
	require.NoError(t, err)
	require.Equal(t, "1,17", got.String(), "not the core of a reserved CPU")

	got, err = admit(static(func(o *Options) { o.SpreadNodes = true }), "4-11,20-27", 10)
	require.NoError(t, err)
	require.Equal(t, "4-6,8-10,20-21,24-25", got.String())

	m, err := New(box(1, 1, 2, 0), static(func(o *Options) { o.StrictReserved = true }))
	require.NoError(t, err)
	require.Equal(t, "1-3", m.Shared().String())
	require.Empty(t, m.Used())
}

func TestPlacesOfAllResourcesAreTheSame(t *testing.T) {
	opts := Options{StaticCPUs: true, ReservedCPUs: Set{0}, Alignment: AlignSingleNode}
	m, err := New(box(2, 1, 4, 0), opts)
	require.NoError(t, err)
	d := &two{hints: []Hint{{2, true}, {3, false}}, took: map[string]Nodes{}}
	given, err := m.Admit(t.Context(), Pod{"a", []Container{{Name: "c", CPUs: 2}}}, d)
	require.NoError(t, err)
	require.Equal(t, "4,12", given.Containers["c"].CPUs.String(), "CPUs at the node of the device")
	require.Equal(t, map[string]Nodes{"c": 2}, d.took)
	d.hints = []Hint{{1, true}}
	_, err = m.Admit(t.Context(), Pod{"b", []Container{{Name: "c", CPUs: 8}}}, d)
	require.Equal(t, &Refusal{"TopologyAffinityError", "Resources cannot be allocated with Topology locality", ""}, err)
	d.err = errors.New("a hiccup")
	_, err = m.Admit(t.Context(), Pod{"c", []Container{{Name: "c", CPUs: 1}}}, d)
	require.Equal(t, &Refusal{"UnexpectedAdmissionError", "Allocate failed due to a hiccup, which is unexpected", ""}, err)
	require.Equal(t, "0-3,5-11,13-15", m.Shared().String())

	// Of a pod, all containers are at one place.
	opts.PodScope = true
	m, err = New(box(2, 1, 4, 0), opts)
	require.NoError(t, err)
	pod := Pod{"a", []Container{{Name: "x", CPUs: 4}, {Name: "y", CPUs: 4}}}
	given, err = m.Admit(t.Context(), pod, none{})
	require.NoError(t, err)
	require.Equal(t, "4-7,12-15", given.Containers["x"].CPUs.Union(given.Containers["y"].CPUs).String())
	pod.UID = "b"
	_, err = m.Admit(t.Context(), pod, none{})
	require.EqualError(t, err, "Resources cannot be allocated with Topology locality")
}

func TestSocketsCountAsOnePlace(t *testing.T) {
	for sockets, want := range map[bool]string{false: "TopologyAffinityError", true: ""} {
		m, err := New(box(2, 2, 2, 0), Options{StaticCPUs: true, ReservedCPUs: Set{0}, Alignment: AlignRestricted, AlignSockets: sockets})
		require.NoError(t, err)
		m.Restore("others", Given{Containers: map[string]Grant{"c": {CPUs: set(t, "4,6,2")}}})
		// No node has four free CPUs, though each has four; both nodes of a socket have six.
		_, err = m.Admit(t.Context(), Pod{"p", []Container{{Name: "c", CPUs: 4}}}, none{})
		if want == "" {
			require.NoError(t, err)
			continue
		}
		r, _ := errors.AsType[*Refusal](err)
		require.NotNil(t, r)
		require.Equal(t, want, r.Reason)
	}
}

func TestMemoryOfNodes(t *testing.T) {
	const gib = 1 << 30
	machine := box(2, 1, 2, 8*gib)
	machine.Nodes[0].HugePages[2<<20] = gib
	m, err := New(machine, Options{StaticMemory: true, ReservedMemory: map[int]map[corev1.ResourceName]uint64{0: {corev1.ResourceMemory: gib}}})
	require.NoError(t, err)
	require.Equal(t, []Block{{[]int{0}, "hugepages-2Mi", gib}, {[]int{0}, "memory", 6 * gib}, {[]int{1}, "memory", 8 * gib}}, m.Memory())
	admit := func(uid types.UID, containers ...Container) (Given, error) {
		return m.Admit(t.Context(), Pod{uid, containers}, none{})
	}
	need := func(n uint64) map[corev1.ResourceName]uint64 {
		return map[corev1.ResourceName]uint64{corev1.ResourceMemory: n * gib}
	}
	a, err := admit("a", Container{Name: "i", Passing: true, Memory: need(4)}, Container{Name: "c", Memory: need(5)})
	require.NoError(t, err)
	require.Equal(t, map[string]Grant{"i": {Memory: []Block{{[]int{0}, "memory", 4 * gib}}}, "c": {Memory: []Block{{[]int{0}, "memory", 5 * gib}}}}, a.Containers)
	require.Equal(t, []Charge{{0, "memory", 4 * gib}, {0, "memory", gib}}, a.Charges, "the second uses what the first had")
	b, err := admit("b", Container{Name: "c", Memory: need(7)})
	require.NoError(t, err)
	require.Equal(t, []int{1}, b.Containers["c"].Memory[0].Nodes)
	_, err = admit("c", Container{Name: "c", Memory: need(2)})
	require.EqualError(t, err, "Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available, which is unexpected")
	m.Release("a")
	// Both nodes have enough together, but one of them is used alone.
	_, err = admit("d", Container{Name: "c", Memory: need(7)})
	require.Error(t, err)
	m.Release("b")
	d, err := admit("d", Container{Name: "c", Memory: need(9)})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, d.Containers["c"].Memory[0].Nodes)
	require.Equal(t, []Charge{{0, "memory", 6 * gib}, {1, "memory", 3 * gib}}, d.Charges)
	e, err := admit("e", Container{Name: "c", Memory: need(1)})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, e.Containers["c"].Memory[0].Nodes, "the nodes are used together")
	huge, err := admit("f", Container{Name: "c", Memory: map[corev1.ResourceName]uint64{"hugepages-2Mi": 4 << 20, corev1.ResourceMemory: 9 * gib}})
	require.Error(t, err, huge)
}

// TestRandomPods lets pods come and go, and compares all that must hold after each.
func TestRandomPods(t *testing.T) {
	for _, seed := range seeds.Of(t, 60) {
		r := seeds.Rand(seed)
		machine := box(1+r.IntN(2), 1+r.IntN(2), 2+r.IntN(3), 1000)
		opts := Options{StaticCPUs: true, ReservedCount: 1, StaticMemory: true, FullCores: r.IntN(3) == 0, PodScope: r.IntN(2) == 0, Closest: r.IntN(2) == 0, AlignCaches: r.IntN(2) == 0,
			Alignment: []Alignment{AlignNone, AlignBestEffort, AlignRestricted, AlignSingleNode}[r.IntN(4)]}
		m, err := New(machine, opts)
		require.NoError(t, err)
		live := map[types.UID]Pod{}
		for i := range 60 {
			if r.IntN(3) == 0 && len(live) > 0 {
				uid := slices.Sorted(maps.Keys(live))[r.IntN(len(live))]
				m.Release(uid)
				delete(live, uid)
			} else {
				p := Pod{UID: types.UID(fmt.Sprint(i))}
				for j := range 1 + r.IntN(3) {
					p.Containers = append(p.Containers, Container{Name: fmt.Sprint(j), Passing: j == 0 && r.IntN(2) == 0, CPUs: r.IntN(4),
						Memory: map[corev1.ResourceName]uint64{corev1.ResourceMemory: uint64(1 + r.IntN(500))}})
				}
				if _, err := m.Admit(t.Context(), p, none{}); err == nil {
					live[p.UID] = p
				}
			}
			checkManager(t, m, live, fmt.Sprintf("seed %d step %d", seed, i))
		}
	}
}

func checkManager(t *testing.T, m *Manager, live map[types.UID]Pod, when string) {
	require.Len(t, m.pods, len(live), when)
	owner, charged := map[int]types.UID{}, map[int]uint64{}
	for uid, given := range m.pods {
		lasting := Set{}
		for _, c := range live[uid].Containers {
			g := given.Containers[c.Name]
			require.Len(t, g.CPUs, c.CPUs, when)
			for _, id := range g.CPUs {
				require.False(t, m.reserved.Has(id), when)
				require.Contains(t, []types.UID{"", uid}, owner[id], when)
				owner[id] = uid
			}
			if !c.Passing {
				require.Empty(t, lasting.And(g.CPUs), when)
				lasting = lasting.Union(g.CPUs)
			}
			if m.opts.FullCores {
				require.Equal(t, g.CPUs, append(Set(nil), m.machine.whole(g.CPUs, byCore)...), when)
			}
			if m.opts.Alignment == AlignSingleNode && len(g.CPUs) > 0 {
				c, _ := m.machine.cpu(g.CPUs[0])
				require.Equal(t, g.CPUs, m.machine.in(g.CPUs, NodesOf(c.Node)), when)
				require.Equal(t, []int{c.Node}, g.Memory[0].Nodes, when)
			}
		}
		for _, c := range given.Charges {
			charged[c.Node] += c.Bytes
		}
	}
	require.Len(t, m.Shared(), len(m.machine.CPUs)-len(owner), when)
	for _, n := range m.machine.Nodes {
		require.LessOrEqual(t, charged[n.ID], n.Memory, when)
	}
}

func TestMachinesThatDoNotFit(t *testing.T) {
	for want, opts := range map[string]Options{
		"placement: unsupported on machines with more than 1 NUMA nodes, this one has 2":                   {Alignment: AlignRestricted, MaxNodes: 1},
		"placement: the machine does not have the reserved CPUs 99":                                        {StaticCPUs: true, ReservedCPUs: Set{99}},
		"placement: the policy static needs at least one reserved CPU":                                     {StaticCPUs: true},
		"placement: memory is reserved of NUMA node 5, which does not exist on this machine":               {ReservedMemory: map[int]map[corev1.ResourceName]uint64{5: nil}},
		"placement: reserve CPUs: not enough cpus available to satisfy request: requested=99, available=4": {StaticCPUs: true, ReservedCount: 99},
	} {
		_, err := New(box(2, 1, 1, 0), opts)
		require.EqualError(t, err, want)
	}
	_, err := New(&Machine{CPUs: []CPU{{Socket: 0}, {ID: 1, Socket: 1}}, Nodes: []Node{{}}}, Options{AlignSockets: true})
	require.ErrorContains(t, err, "align-by-socket")
}

func BenchmarkAdmit(b *testing.B) {
	m, err := New(box(2, 4, 16, 64<<30), Options{StaticCPUs: true, ReservedCount: 2, StaticMemory: true, Alignment: AlignSingleNode})
	require.NoError(b, err)
	pod := Pod{"p", []Container{{Name: "c", CPUs: 4, Memory: map[corev1.ResourceName]uint64{corev1.ResourceMemory: 1 << 30}}}}
	for b.Loop() {
		_, err := m.Admit(b.Context(), pod, none{})
		require.NoError(b, err)
		m.Release("p")
	}
}
