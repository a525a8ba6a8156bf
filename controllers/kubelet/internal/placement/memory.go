package placement

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Block is memory, or huge pages, that a container has of nodes.
type Block struct {
	Nodes    []int               `json:"nodes"`
	Resource corev1.ResourceName `json:"resource"`
	Bytes    uint64              `json:"bytes"`
}

// Charge is how much of a node's memory a pod has. It is less than the blocks of its containers if some of
// them ran one after the other.
type Charge struct {
	Node     int                 `json:"node"`
	Resource corev1.ResourceName `json:"resource"`
	Bytes    uint64              `json:"bytes"`
}

// amounts are bytes by resource.
type amounts map[corev1.ResourceName]uint64

// HugePages is the name of the resource of huge pages of a size in bytes.
func HugePages(size uint64) corev1.ResourceName {
	q := resource.NewQuantity(int64(size), resource.BinarySI)
	return corev1.ResourceName(corev1.ResourceHugePagesPrefix + q.String())
}

// IsMemory reports whether a resource is memory of nodes.
func IsMemory(name corev1.ResourceName) bool {
	return name == corev1.ResourceMemory || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// allocatable is what containers can have of each node.
func (m *Manager) allocatable() map[int]amounts {
	all := map[int]amounts{}
	for _, n := range m.machine.Nodes {
		have := amounts{corev1.ResourceMemory: n.Memory}
		for size, bytes := range n.HugePages {
			have[HugePages(size)] = bytes
			have[corev1.ResourceMemory] -= min(bytes, have[corev1.ResourceMemory])
		}
		for name, bytes := range m.opts.ReservedMemory[n.ID] {
			have[name] -= min(bytes, have[name])
		}
		all[n.ID] = have
	}
	return all
}

// Memory returns what containers can have of each node, used or not.
func (m *Manager) Memory() []Block {
	if !m.opts.StaticMemory {
		return nil
	}
	var list []Block
	all := m.allocatable()
	for _, n := range m.machine.Nodes {
		for name, bytes := range all[n.ID] {
			if bytes > 0 {
				list = append(list, Block{Nodes: []int{n.ID}, Resource: name, Bytes: bytes})
			}
		}
	}
	sortBlocks(list)
	return list
}

func sortBlocks(list []Block) {
	slices.SortStableFunc(list, func(a, b Block) int {
		if c := slices.Compare(a.Nodes, b.Nodes); c != 0 {
			return c
		}
		return strings.Compare(string(a.Resource), string(b.Resource))
	})
}

// memoryState is who has the memory of the nodes.
type memoryState struct {
	all, free map[int]amounts
	// groups are the nodes that containers have together with each node, the last ones if there are several.
	// A node is used alone or as one of a group.
	groups map[int]Nodes
	// again is what the init containers of the pod had that have ended, by the nodes it is of.
	again map[Nodes]amounts
	// charged is what the pod has got so far.
	charged []Charge
}

// memory returns the state for the next pod. The lock is held.
func (m *Manager) memory() *memoryState {
	s := &memoryState{all: m.allocatable(), free: m.allocatable(), groups: map[int]Nodes{}, again: map[Nodes]amounts{}}
	for _, uid := range m.order {
		pod := m.pods[uid]
		for _, c := range pod.Charges {
			if have := s.free[c.Node]; have != nil {
				have[c.Resource] -= min(c.Bytes, have[c.Resource])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(pod.Containers)) {
			for _, b := range pod.Containers[name].Memory {
				s.group(NodesOf(b.Nodes...))
			}
		}
	}
	return s
}

func (s *memoryState) group(nodes Nodes) {
	for _, id := range nodes.IDs() {
		s.groups[id] = nodes
	}
}

// together reports whether nodes may be used together: none of them is used with other nodes or alone.
func (s *memoryState) together(nodes Nodes) bool {
	for _, id := range nodes.IDs() {
		if g, used := s.groups[id]; used && g != nodes {
			return false
		}
	}
	return true
}

func sum(of map[int]amounts, nodes Nodes, name corev1.ResourceName) uint64 {
	var n uint64
	for _, id := range nodes.IDs() {
		n += of[id][name]
	}
	return n
}

// has reports whether nodes have as much of each resource.
func has(of map[int]amounts, nodes Nodes, need amounts, again amounts) bool {
	for name, bytes := range need {
		if sum(of, nodes, name)+again[name] < bytes {
			return false
		}
	}
	return true
}

// hints are the places for memory, the same for all resources.
func (s *memoryState) hints(nodes Nodes, need amounts) []Hint {
	return Hints(nodes,
		func(n Nodes) bool { return has(s.all, n, need, nil) },
		func(n Nodes) bool {
			return has(s.all, n, need, nil) && s.together(n) && has(s.free, n, need, s.again[n])
		})
}

// give takes memory for a container from the nodes of a hint, or from more if they have too little.
func (s *memoryState) give(nodes Nodes, at Hint, need amounts, passing bool) ([]Block, error) {
	if len(need) == 0 {
		return nil, nil
	}
	if at.Nodes == 0 {
		best := bestHint(s.hints(nodes, need))
		if best.Nodes == 0 {
			return nil, errors.New("[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available")
		} else if at.Preferred && !best.Preferred {
			return nil, errors.New("[memorymanager] failed to find the default preferred hint")
		}
		at = best
	}
	if !has(s.free, at.Nodes, need, s.again[at.Nodes]) {
		wider := slices.DeleteFunc(s.hints(nodes, need), func(h Hint) bool { return h.Nodes&at.Nodes != at.Nodes })
		best := bestHint(wider)
		if best.Nodes == 0 {
			return nil, errors.New("[memorymanager] failed to find NUMA nodes to extend the current topology hint")
		} else if at.Preferred && !best.Preferred {
			return nil, errors.New("[memorymanager] failed to find the extended preferred hint")
		}
		at = best
	}
	// A single node of a group is given if no better place suits the other resources, as upstream does.
	if at.Nodes.Count() > 1 && !s.together(at.Nodes) {
		return nil, errors.New("[memorymanager] preferred hint violates NUMA node allocation")
	}
	var blocks []Block
	for name, bytes := range need {
		blocks = append(blocks, Block{Nodes: at.Nodes.IDs(), Resource: name, Bytes: bytes})
		s.charge(at.Nodes, name, bytes, passing)
	}
	s.group(at.Nodes)
	sortBlocks(blocks)
	return blocks, nil
}

// charge takes memory from nodes, in their order, but what ended init containers had of them first.
func (s *memoryState) charge(nodes Nodes, name corev1.ResourceName, bytes uint64, passing bool) {
	again := s.again[nodes]
	if again == nil {
		again = amounts{}
		s.again[nodes] = again
	}
	old := min(again[name], bytes)
	if passing {
		again[name] = max(again[name], bytes)
	} else {
		again[name] -= old
	}
	rest := bytes - old
	for _, id := range nodes.IDs() {
		n := min(rest, s.free[id][name])
		if n == 0 {
			continue
		}
		s.free[id][name] -= n
		rest -= n
		s.charged = append(s.charged, Charge{id, name, n})
	}
}

// bestHint returns a preferred hint if there is one, of the fewest nodes.
func bestHint(hints []Hint) (best Hint) {
	for _, h := range hints {
		if best.Nodes == 0 || h.Preferred && !best.Preferred || h.Preferred == best.Preferred && h.Nodes.less(best.Nodes) {
			best = h
		}
	}
	return best
}
