package placement

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Machine is which CPUs there are, and how near each other and the memory they are.
type Machine struct {
	CPUs  []CPU  // by ID
	Nodes []Node // NUMA nodes, by ID
}

// CPU is a logical CPU. Core is the lowest ID of the CPUs that share its core, Cache that of those that share
// its last cache.
type CPU struct{ ID, Core, Socket, Node, Cache int }

// Node is a NUMA node.
type Node struct {
	ID     int
	Memory uint64 // bytes
	// HugePages are the bytes of huge pages by the size of one in bytes.
	HugePages map[uint64]uint64
	// Distances are those to the nodes of the machine, in the order of their IDs.
	Distances []int
}

// Read reads the machine from the kernel's folder /sys/devices/system. A kernel without NUMA has one node
// with that many bytes of memory.
func Read(sys fs.FS, memory uint64) (*Machine, error) {
	online, err := readSet(sys, "cpu/online")
	if err != nil {
		return nil, err
	}
	m := &Machine{}
	for _, id := range online {
		c := CPU{ID: id}
		dir := "cpu/cpu" + strconv.Itoa(id)
		if c.Socket, err = readInt(sys, dir+"/topology/physical_package_id"); err != nil {
			return nil, err
		}
		c.Socket = max(c.Socket, 0) // some virtual machines have none: -1
		siblings, err := readSet(sys, dir+"/topology/thread_siblings_list")
		if err != nil {
			return nil, err
		}
		if c.Core = id; len(siblings) > 0 {
			c.Core = siblings[0]
		}
		if c.Cache, err = lastCache(sys, dir, id); err != nil {
			return nil, err
		}
		m.CPUs = append(m.CPUs, c)
	}
	if len(m.CPUs) == 0 {
		return nil, errors.New("placement: the kernel shows no CPUs")
	}
	return m, m.readNodes(sys, memory)
}

// lastCache returns the lowest CPU that shares the last level of caches with a CPU.
func lastCache(sys fs.FS, dir string, id int) (int, error) {
	entries, _ := fs.ReadDir(sys, dir+"/cache") // virtual machines may have none
	last, with := 0, id
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "index") {
			continue
		}
		at := path.Join(dir, "cache", e.Name())
		level, err := readInt(sys, at+"/level")
		if err != nil {
			return 0, err
		} else if level <= last {
			continue
		}
		shared, err := readSet(sys, at+"/shared_cpu_list")
		if err != nil {
			return 0, err
		}
		if last = level; len(shared) > 0 {
			with = shared[0]
		}
	}
	return with, nil
}

// readNodes reads the NUMA nodes. Those without CPUs count, since they have memory.
func (m *Machine) readNodes(sys fs.FS, memory uint64) error {
	entries, err := fs.ReadDir(sys, "node")
	if errors.Is(err, fs.ErrNotExist) {
		m.Nodes = []Node{{Memory: memory, Distances: []int{10}}}
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), "node")
		id, err := strconv.Atoi(number)
		if !ok || err != nil {
			continue
		}
		if id < 0 || id > maxNode {
			return fmt.Errorf("placement: NUMA node %d: only 0 to %d are supported", id, maxNode)
		}
		n := Node{ID: id, HugePages: map[uint64]uint64{}}
		dir := "node/" + e.Name()
		cpus, err := readSet(sys, dir+"/cpulist")
		if err != nil {
			return err
		}
		for i := range m.CPUs {
			if cpus.Has(m.CPUs[i].ID) {
				m.CPUs[i].Node = id
			}
		}
		if n.Memory, err = nodeMemory(sys, dir+"/meminfo"); err != nil {
			return err
		}
		if err := n.readHugePages(sys, dir+"/hugepages"); err != nil {
			return err
		}
		b, err := fs.ReadFile(sys, dir+"/distance")
		if err != nil {
			return err
		}
		for text := range strings.FieldsSeq(string(b)) {
			d, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("placement: %s/distance: %w", dir, err)
			}
			n.Distances = append(n.Distances, d)
		}
		m.Nodes = append(m.Nodes, n)
	}
	slices.SortFunc(m.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	if len(m.Nodes) == 0 {
		m.Nodes = []Node{{Memory: memory, Distances: []int{10}}}
	}
	return nil
}

func (n *Node) readHugePages(sys fs.FS, dir string) error {
	entries, _ := fs.ReadDir(sys, dir) // without it the kernel has none
	for _, e := range entries {
		text, ok := strings.CutPrefix(e.Name(), "hugepages-")
		kb, err := strconv.ParseUint(strings.TrimSuffix(text, "kB"), 10, 64)
		if !ok || err != nil {
			continue
		}
		pages, err := readInt(sys, path.Join(dir, e.Name(), "nr_hugepages"))
		if err != nil {
			return err
		}
		n.HugePages[kb<<10] = uint64(max(pages, 0)) * kb << 10
	}
	return nil
}

// nodeMemory reads a line such as "Node 0 MemTotal: 16303912 kB".
func nodeMemory(sys fs.FS, name string) (uint64, error) {
	b, err := fs.ReadFile(sys, name)
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) >= 4 && f[2] == "MemTotal:" {
			kb, err := strconv.ParseUint(f[3], 10, 53)
			if err != nil {
				return 0, fmt.Errorf("placement: %s: %w", name, err)
			}
			return kb << 10, nil
		}
	}
	return 0, fmt.Errorf("placement: %s has no MemTotal", name)
}

func readSet(sys fs.FS, name string) (Set, error) {
	b, err := fs.ReadFile(sys, name)
	if err != nil {
		return nil, err
	}
	s, err := ParseSet(string(b))
	if err != nil {
		return nil, fmt.Errorf("placement: %s: %w", name, err)
	}
	return s, nil
}

func readInt(sys fs.FS, name string) (int, error) {
	b, err := fs.ReadFile(sys, name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("placement: %s: %w", name, err)
	}
	return n, nil
}

// level is how CPUs are grouped.
type level func(CPU) int

func byCore(c CPU) int   { return c.Core }
func bySocket(c CPU) int { return c.Socket }
func byNode(c CPU) int   { return c.Node }
func byCache(c CPU) int  { return c.Cache }

// all returns all CPUs.
func (m *Machine) all() Set {
	s := make(Set, len(m.CPUs))
	for i, c := range m.CPUs {
		s[i] = c.ID
	}
	return s
}

// cpu returns a CPU of the machine.
func (m *Machine) cpu(id int) (CPU, bool) {
	i, ok := slices.BinarySearchFunc(m.CPUs, id, func(c CPU, id int) int { return c.ID - id })
	if !ok {
		return CPU{}, false
	}
	return m.CPUs[i], true
}

// count returns how many groups there are.
func (m *Machine) count(by level) int {
	seen := map[int]bool{}
	for _, c := range m.CPUs {
		seen[by(c)] = true
	}
	return len(seen)
}

// threads returns how many CPUs a core has; those of the smallest one, where cores differ.
func (m *Machine) threads() int {
	cores := map[int]int{}
	for _, c := range m.CPUs {
		cores[c.Core]++
	}
	least := len(m.CPUs)
	for _, n := range cores {
		least = min(least, n)
	}
	return least
}

// whole returns all CPUs of the groups that CPUs of s belong to.
func (m *Machine) whole(s Set, by level) Set {
	groups := map[int]bool{}
	for _, id := range s {
		if c, ok := m.cpu(id); ok {
			groups[by(c)] = true
		}
	}
	var all Set
	for _, c := range m.CPUs {
		if groups[by(c)] {
			all = append(all, c.ID)
		}
	}
	return all
}

// in returns the CPUs of s that are at one of the nodes.
func (m *Machine) in(s Set, nodes Nodes) Set {
	return s.keep(func(id int) bool {
		c, ok := m.cpu(id)
		return ok && nodes.Has(c.Node)
	})
}

// counts are numbers of CPUs by NUMA node.
type counts [maxNode + 1]int

// perNode counts CPUs.
func (m *Machine) perNode(s Set) *counts {
	n := &counts{}
	for _, id := range s {
		if c, ok := m.cpu(id); ok {
			n[c.Node]++
		}
	}
	return n
}

func (c *counts) sum(nodes Nodes) int {
	n := 0
	for rest := uint64(nodes); rest != 0; rest &= rest - 1 {
		n += c[bits.TrailingZeros64(rest)]
	}
	return n
}

// nodes returns all NUMA nodes.
func (m *Machine) nodes() Nodes {
	var n Nodes
	for _, one := range m.Nodes {
		n |= NodesOf(one.ID)
	}
	return n
}
