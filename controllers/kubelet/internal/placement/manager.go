package placement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Options say what containers get for themselves.
type Options struct {
	// StaticCPUs gives containers CPUs that no other container uses. ReservedCPUs are never given; without
	// them ReservedCount is how many are not, which are chosen.
	StaticCPUs    bool
	ReservedCPUs  Set
	ReservedCount int
	// FullCores refuses containers that do not need whole cores. SpreadNodes takes CPUs of several NUMA nodes
	// in equal numbers if one does not have enough. SpreadCores takes CPUs of as many cores as possible.
	// AlignCaches prefers CPUs of one cache. AlignSockets counts the nodes of one socket as one.
	FullCores, SpreadNodes, SpreadCores, AlignCaches, AlignSockets bool
	// StrictReserved keeps containers that share CPUs off the reserved ones too.
	StrictReserved bool
	// StaticMemory gives containers memory of as few nodes as possible. ReservedMemory is never given.
	StaticMemory   bool
	ReservedMemory map[int]map[corev1.ResourceName]uint64
	// Alignment compares the places of the resources of a container, or with PodScope of a pod; empty means
	// AlignNone. Closest prefers near nodes. MaxNodes is how many nodes a machine may have; 0 means 8. The
	// work doubles with each.
	Alignment Alignment
	PodScope  bool
	Closest   bool
	MaxNodes  int
}

// defaultMaxNodes is how many NUMA nodes a machine may have by default.
const defaultMaxNodes = 8

// Manager places containers. Safe for concurrent use.
type Manager struct {
	machine  *Machine
	opts     Options
	reserved Set

	mu    sync.Mutex
	pods  map[types.UID]Given
	order []types.UID // of pods, as they came
}

// Grant is what a container has for itself.
type Grant struct {
	CPUs   Set     `json:"cpus,omitempty"`
	Memory []Block `json:"memory,omitempty"`
}

// Given is what a pod has, by container, and what it is charged.
type Given struct {
	Containers map[string]Grant `json:"containers,omitempty"`
	Charges    []Charge         `json:"charges,omitempty"`
}

// Container is what a container demands.
type Container struct {
	Name string
	// Passing is true for an init container that ends before the next one starts, which uses what it had.
	Passing bool
	// CPUs is how many it has for itself; 0 if it shares those that are left. Memory is what it has of
	// certain nodes; nil if of any.
	CPUs   int
	Memory map[corev1.ResourceName]uint64
}

// Pod is what a pod demands. Its containers are in the order in which they start.
type Pod struct {
	UID        types.UID
	Containers []Container
}

// Devices are the devices that containers demand.
type Devices interface {
	// Hints returns the places of each resource of a container, or of all if name is empty. A resource that
	// comes from anywhere is left out.
	Hints(name string) [][]Hint
	// Take gives a container its devices, of those nodes as far as possible.
	Take(ctx context.Context, name string, nodes Nodes) error
}

// Refusal is why a pod cannot be placed: a reason of a pod's status and a sentence. Resource is cpu or memory
// if there is not enough of it.
type Refusal struct {
	Reason, Message string
	Resource        corev1.ResourceName
}

// Error returns the sentence.
func (r *Refusal) Error() string { return r.Message }

// New returns a manager of a machine. It returns an error if the options do not fit it.
func New(machine *Machine, opts Options) (*Manager, error) {
	opts.Alignment = cmp.Or(opts.Alignment, AlignNone)
	m := &Manager{machine: machine, opts: opts, pods: map[types.UID]Given{}}
	most := cmp.Or(opts.MaxNodes, defaultMaxNodes)
	switch n := len(machine.Nodes); {
	case n > most && (opts.Alignment != AlignNone || opts.StaticMemory):
		return nil, fmt.Errorf("placement: unsupported on machines with more than %d NUMA nodes, this one has %d", most, n)
	case opts.AlignSockets && machine.count(bySocket) > n:
		return nil, errors.New("placement: align-by-socket needs a machine with at least as many NUMA nodes as sockets")
	}
	if opts.StaticCPUs {
		m.reserved = opts.ReservedCPUs
		if len(m.reserved) == 0 {
			var err error
			if m.reserved, err = m.pick(machine.all(), opts.ReservedCount); err != nil {
				return nil, fmt.Errorf("placement: reserve CPUs: %w", err)
			}
		}
		if unknown := m.reserved.Minus(machine.all()); len(unknown) > 0 {
			return nil, fmt.Errorf("placement: the machine does not have the reserved CPUs %v", unknown)
		}
		if len(m.reserved) == 0 {
			return nil, errors.New("placement: the policy static needs at least one reserved CPU")
		}
	}
	for id := range opts.ReservedMemory {
		if !machine.nodes().Has(id) {
			return nil, fmt.Errorf("placement: memory is reserved of NUMA node %d, which does not exist on this machine", id)
		}
	}
	return m, nil
}

func (m *Manager) pick(free Set, need int) (Set, error) {
	p := picker{machine: m.machine, spread: m.opts.SpreadCores, caches: m.opts.AlignCaches}
	if m.opts.SpreadNodes {
		unit := 1
		if m.opts.FullCores {
			unit = m.machine.threads()
		}
		return p.pickSpread(free, need, unit)
	}
	return p.pick(free, need)
}

// CPUs returns all that can be given to containers, used or not.
func (m *Manager) CPUs() Set {
	if !m.opts.StaticCPUs {
		return nil
	}
	return m.machine.all().Minus(m.reserved)
}

// Shared returns the CPUs of the containers that have none for themselves; Spare those of them that can still
// be given.
func (m *Manager) Shared() Set {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shared()
}

// Spare returns the CPUs that can be given to containers.
func (m *Manager) Spare() Set { return m.Shared().Minus(m.reserved) }

// Nodes returns the NUMA nodes of the machine.
func (m *Manager) Nodes() Nodes { return m.machine.nodes() }

func (m *Manager) shared() Set {
	all := m.machine.all()
	if m.opts.StrictReserved {
		all = all.Minus(m.reserved)
	}
	var used Set
	for _, pod := range m.pods {
		for _, g := range pod.Containers {
			used = append(used, g.CPUs...)
		}
	}
	slices.Sort(used)
	return all.Minus(used)
}

// Restore counts what a pod was given before.
func (m *Manager) Restore(uid types.UID, given Given) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(uid, given)
}

// put keeps what a pod has. The lock is held.
func (m *Manager) put(uid types.UID, given Given) {
	if _, known := m.pods[uid]; !known {
		m.order = append(m.order, uid)
	}
	m.pods[uid] = given
}

// Release gives back what a pod has, and reports whether it had anything.
func (m *Manager) Release(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.pods[uid]; !known {
		return false
	}
	delete(m.pods, uid)
	m.order = slices.DeleteFunc(m.order, func(o types.UID) bool { return o == uid })
	return true
}

// Of returns what a pod has; nothing if it has nothing for itself.
func (m *Manager) Of(uid types.UID) Given {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pods[uid]
}

// Used returns how many CPUs containers have for themselves, by NUMA node.
func (m *Manager) Used() map[int]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	used := map[int]int{}
	for _, id := range m.machine.all().Minus(m.shared()) {
		if c, ok := m.machine.cpu(id); ok && !(m.opts.StrictReserved && m.reserved.Has(id)) {
			used[c.Node]++
		}
	}
	return used
}

// admission is the placement of one pod.
type admission struct {
	*Manager
	free  Set // CPUs that can be given
	again Set // of ended init containers of the pod
	mem   *memoryState
	given Given
}

// Admit places the containers of a pod, which has nothing yet, and remembers it. An error is a [Refusal];
// the pod has nothing then but the devices that Take gave it.
func (m *Manager) Admit(ctx context.Context, pod Pod, devices Devices) (Given, error) {
	a := admission{Manager: m, given: Given{Containers: map[string]Grant{}}}
	var at Hint
	if m.opts.PodScope && m.opts.Alignment != AlignNone {
		m.mu.Lock()
		a.refresh()
		var ok bool
		at, ok = a.align(total(pod), "", devices)
		m.mu.Unlock()
		if !ok {
			return Given{}, unaligned
		}
	}
	for _, c := range pod.Containers {
		if err := m.admit(ctx, &a, pod.UID, c, at, devices); err != nil {
			m.Release(pod.UID)
			return Given{}, err
		}
	}
	return a.given, nil
}

// Unaligned is the reason of a refusal because resources cannot come from the same nodes.
const Unaligned = "TopologyAffinityError"

var unaligned = &Refusal{Reason: Unaligned, Message: "Resources cannot be allocated with Topology locality"}

// refresh takes up what other pods have. The lock is held.
func (a *admission) refresh() {
	if a.opts.StaticCPUs {
		a.free = a.shared().Minus(a.reserved)
	}
	if !a.opts.StaticMemory {
		return
	}
	mem := a.memory()
	if a.mem != nil {
		mem.again, mem.charged = a.mem.again, a.mem.charged
	}
	a.mem = mem
}

// admit places a container. The devices are taken without the lock, because their plugins are called.
func (m *Manager) admit(ctx context.Context, a *admission, uid types.UID, c Container, at Hint, devices Devices) error {
	m.mu.Lock()
	a.refresh()
	if !m.opts.PodScope && m.opts.Alignment != AlignNone {
		var ok bool
		if at, ok = a.align(c, c.Name, devices); !ok {
			m.mu.Unlock()
			return unaligned
		}
	} else if m.opts.Alignment == AlignNone {
		at = Hint{}
	}
	var g Grant
	var err error
	var lacks corev1.ResourceName
	if m.opts.StaticCPUs && c.CPUs > 0 {
		if g.CPUs, err = a.cpus(c, at); err != nil {
			lacks = corev1.ResourceCPU
		}
	}
	if err == nil && m.opts.StaticMemory {
		g.Memory, err = a.mem.give(m.machine.nodes(), at, c.Memory, c.Passing)
		if a.given.Charges = a.mem.charged; err != nil {
			lacks = corev1.ResourceMemory
		}
	}
	if err == nil && (len(g.CPUs) > 0 || len(g.Memory) > 0) {
		a.given.Containers[c.Name] = g
		m.put(uid, Given{Containers: maps.Clone(a.given.Containers), Charges: slices.Clone(a.given.Charges)})
	}
	m.mu.Unlock()
	if err == nil {
		err = devices.Take(ctx, c.Name, at.Nodes)
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	} else if err != nil {
		return &Refusal{"UnexpectedAdmissionError", fmt.Sprintf("Allocate failed due to %v, which is unexpected", err), lacks}
	}
	return nil
}

// align returns the place that suits all resources of a container, or of the pod. The lock is held.
func (a *admission) align(c Container, name string, devices Devices) (Hint, bool) {
	lists := devices.Hints(name)
	if a.opts.StaticCPUs && c.CPUs > 0 {
		lists = append(lists, a.cpuHints(c.CPUs))
	}
	if a.opts.StaticMemory && len(c.Memory) > 0 {
		// Memory that is nowhere is refused when it is taken, with a sentence of its own.
		if hints := a.mem.hints(a.machine.nodes(), c.Memory); len(hints) > 0 {
			lists = append(lists, hints)
		}
	}
	return a.machine.merge(a.opts.Alignment, a.opts.Closest, lists)
}

// cpuHints are the places of that many CPUs.
func (a *admission) cpuHints(need int) []Hint {
	all, again, free := a.machine.perNode(a.machine.all()), a.machine.perNode(a.again), a.machine.perNode(a.free.Union(a.again))
	list, least := hints(a.machine.nodes(),
		func(n Nodes) bool { return all.sum(n) >= need },
		func(n Nodes) bool { return again.sum(n) == len(a.again) && free.sum(n) >= need })
	if a.opts.AlignSockets {
		// Preferred are the nodes of as few sockets as the smallest place needs.
		each := len(a.machine.Nodes) / a.machine.count(bySocket)
		for i, h := range list {
			if a.sockets(h.Nodes) == (least+each-1)/each {
				list[i].Preferred = true
			}
		}
	}
	return list
}

func (a *admission) sockets(nodes Nodes) int {
	seen := map[int]bool{}
	for _, c := range a.machine.CPUs {
		if nodes.Has(c.Node) {
			seen[c.Socket] = true
		}
	}
	return len(seen)
}

// cpus takes CPUs for a container, those of the place first.
func (a *admission) cpus(c Container, at Hint) (Set, error) {
	free := a.free.Union(a.again)
	if err := a.checkCores(c.CPUs, free); err != nil {
		return nil, err
	}
	if c.CPUs > len(free) {
		return nil, fmt.Errorf("not enough cpus available to satisfy request: requested=%d, available=%d", c.CPUs, len(free))
	}
	var got Set
	if at.Nodes != 0 {
		near := a.machine.in(free, at.Nodes)
		if a.opts.AlignSockets {
			near = a.machine.whole(a.machine.in(a.machine.all(), at.Nodes), bySocket).And(free)
		}
		var err error
		if got, err = a.pick(near, min(c.CPUs, len(near))); err != nil {
			return nil, err
		}
	}
	rest, err := a.pick(free.Minus(got), c.CPUs-len(got))
	if err != nil {
		return nil, err
	}
	got = got.Union(rest)
	if c.Passing {
		a.again = a.again.Union(got)
	} else {
		a.again = a.again.Minus(got)
	}
	return got, nil
}

// checkCores refuses a demand that is not one of whole cores, if it has to be.
func (a *admission) checkCores(need int, free Set) error {
	if !a.opts.FullCores {
		return nil
	}
	threads := a.machine.threads()
	if need%threads != 0 {
		return &Refusal{"SMTAlignmentError", fmt.Sprintf("SMT Alignment Error: requested %d cpus not multiple cpus per core = %d", need, threads), corev1.ResourceCPU}
	}
	if cores := free.Minus(a.machine.whole(a.reserved, byCore)); need > len(cores) {
		return &Refusal{"SMTAlignmentError", fmt.Sprintf("SMT Alignment Error: not enough free physical CPUs: available physical CPUs = %d, requested CPUs = %d, CPUs per core = %d",
			len(cores), need, threads), corev1.ResourceCPU}
	}
	return nil
}

// total is what all containers of a pod demand together.
func total(pod Pod) Container {
	var passing, lasting Container
	lasting.Memory = map[corev1.ResourceName]uint64{}
	most := map[corev1.ResourceName]uint64{}
	for _, c := range pod.Containers {
		if c.Passing { // beside the sidecars so far
			passing.CPUs = max(passing.CPUs, lasting.CPUs+c.CPUs)
			for name, n := range c.Memory {
				most[name] = max(most[name], lasting.Memory[name]+n)
			}
			continue
		}
		lasting.CPUs += c.CPUs
		for name, n := range c.Memory {
			lasting.Memory[name] += n
		}
	}
	lasting.CPUs = max(lasting.CPUs, passing.CPUs)
	for name, n := range most {
		lasting.Memory[name] = max(lasting.Memory[name], n)
	}
	return lasting
}
