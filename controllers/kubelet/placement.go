package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/placement"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// PlacementPolicy says which containers of Guaranteed pods have CPUs and memory for themselves, and whether
// all that a container has must be near each other. The zero value gives none and compares nothing. Pods with
// resources of the pod as a whole have none. A change of the policy applies to pods that start after it.
type PlacementPolicy struct {
	// StaticCPUs gives containers that request whole CPUs those for themselves, without a CPU quota; all
	// other containers use those that are left. It needs ReservedCPUs or a reservation of CPU in
	// Options.Reserved.
	StaticCPUs bool
	// ReservedCPUs, such as 0,8-9, are never given; empty means as many as Options.Reserved has, rounded up.
	ReservedCPUs string
	// FullCores refuses containers that do not request whole cores, and gives none that is shared.
	// SpreadNodes takes the same number of CPUs from several NUMA nodes if one of them has too few.
	// SpreadCores takes CPUs of as many cores as possible, which excludes FullCores, SpreadNodes and
	// AlignCaches. AlignCaches takes CPUs of one cache if there are enough. AlignSockets counts the NUMA
	// nodes of a socket as one place. StrictReserved keeps all containers off the reserved CPUs.
	FullCores, SpreadNodes, SpreadCores, AlignCaches, AlignSockets, StrictReserved bool
	// Interval is the time between comparisons of the CPUs that containers should have with those that they
	// were given; 0 means 10 s. What changes is given at once.
	Interval time.Duration
	// StaticMemory gives containers memory and huge pages of as few NUMA nodes as possible. ReservedMemory,
	// by node, is never given; its sum is what Options.Reserved and the hard eviction threshold keep.
	StaticMemory   bool
	ReservedMemory map[int]corev1.ResourceList
	// Alignment is none, best-effort, restricted or single-numa-node; empty means none. Pods whose CPUs,
	// memory and devices do not come from the same NUMA nodes are admitted, refused unless nothing better is
	// possible on an empty machine, or refused unless it is one node. PodScope compares those of all
	// containers of a pod. Closest prefers near nodes among equally many. MaxNodes is how many NUMA nodes the
	// machine may have; 0 means 8. The work for each pod doubles with each node.
	Alignment string
	PodScope  bool
	Closest   bool
	MaxNodes  int
	// System is the folder that the kernel shows the machine in; nil means /sys/devices/system.
	System fs.FS
}

// check refuses what cannot be combined.
func (p *PlacementPolicy) check() error {
	alignments := []string{"", string(placement.AlignNone), string(placement.AlignBestEffort), string(placement.AlignRestricted), string(placement.AlignSingleNode)}
	switch {
	case !slices.Contains(alignments, p.Alignment):
		return fmt.Errorf("kubelet: Options.Placement.Alignment: %q is none of %q", p.Alignment, alignments[1:])
	case p.SpreadCores && (p.FullCores || p.SpreadNodes || p.AlignCaches):
		return errors.New("kubelet: Options.Placement: SpreadCores excludes FullCores, SpreadNodes and AlignCaches")
	case p.AlignCaches && p.SpreadNodes:
		return errors.New("kubelet: Options.Placement: AlignCaches excludes SpreadNodes")
	case p.AlignSockets && p.Alignment == string(placement.AlignSingleNode):
		return errors.New("kubelet: Options.Placement: AlignSockets excludes the alignment single-numa-node")
	}
	return nil
}

func (p *PlacementPolicy) on() bool {
	return p.StaticCPUs || p.StaticMemory || placement.Alignment(cmp.Or(p.Alignment, string(placement.AlignNone))) != placement.AlignNone
}

// placer gives containers CPUs and memory for themselves, and all others the CPUs that are left. A nil placer
// gives none. Safe for concurrent use.
type placer struct {
	*placement.Manager
	k      *Kubelet
	policy PlacementPolicy
	poked  chan struct{} // capacity 1; the CPUs of containers have changed

	counts *placementCounts
}

// newPlacer returns the placer of the machine; nil if the policy gives nothing.
func newPlacer(k *Kubelet) (*placer, error) {
	policy := k.opts.Placement
	if !policy.on() {
		return nil, nil
	}
	if policy.System == nil {
		policy.System = os.DirFS("/sys/devices/system")
	}
	policy.Interval = cmp.Or(policy.Interval, 10*time.Second)
	total := k.opts.Capacity[corev1.ResourceMemory]
	machine, err := placement.Read(policy.System, uint64(max(total.Value(), 0)))
	if err != nil {
		return nil, fmt.Errorf("kubelet: Options.Placement: read the machine: %w", err)
	}
	o := placement.Options{StaticCPUs: policy.StaticCPUs, FullCores: policy.FullCores, SpreadNodes: policy.SpreadNodes, SpreadCores: policy.SpreadCores, AlignCaches: policy.AlignCaches,
		AlignSockets: policy.AlignSockets, StrictReserved: policy.StrictReserved, StaticMemory: policy.StaticMemory, Alignment: placement.Alignment(policy.Alignment),
		PodScope: policy.PodScope, Closest: policy.Closest, MaxNodes: policy.MaxNodes}
	if o.ReservedCPUs, err = placement.ParseSet(policy.ReservedCPUs); err != nil {
		return nil, fmt.Errorf("kubelet: Options.Placement.ReservedCPUs: %w", err)
	}
	cpu := k.opts.Reserved[corev1.ResourceCPU]
	o.ReservedCount = int(math.Ceil(float64(cpu.MilliValue()) / 1000))
	if o.ReservedMemory, err = k.reservedMemory(); err != nil {
		return nil, err
	}
	p := &placer{k: k, policy: policy, poked: make(chan struct{}, 1)}
	if p.Manager, err = placement.New(machine, o); err != nil {
		return nil, fmt.Errorf("kubelet: %w", err)
	}
	p.counts = k.metrics.placements
	return p, nil
}

// reservedMemory returns the memory that is not given. It returns an error if that is not what the node
// keeps.
func (k *Kubelet) reservedMemory() (map[int]map[corev1.ResourceName]uint64, error) {
	if !k.opts.Placement.StaticMemory {
		return nil, nil
	}
	reserved, sum := map[int]map[corev1.ResourceName]uint64{}, corev1.ResourceList{}
	for node, list := range k.opts.Placement.ReservedMemory {
		reserved[node] = map[corev1.ResourceName]uint64{}
		for name, q := range list {
			if !placement.IsMemory(name) || q.Sign() < 0 {
				return nil, fmt.Errorf("kubelet: Options.Placement.ReservedMemory: %s %s of NUMA node %d cannot be reserved", q.String(), name, node)
			}
			reserved[node][name] = uint64(q.Value())
			all := sum[name]
			all.Add(q)
			sum[name] = all
		}
	}
	for _, of := range []corev1.ResourceList{k.opts.Reserved, sum} {
		for name := range of {
			if !placement.IsMemory(name) {
				continue
			}
			keeps := k.opts.Reserved[name].DeepCopy()
			keeps.Add(k.evictor.kept()[name])
			if has := sum[name]; keeps.Cmp(has) != 0 {
				return nil, fmt.Errorf("kubelet: Options.Placement.ReservedMemory: the total %s of %s is not %s, which Options.Reserved and the hard eviction threshold keep together",
					has.String(), name, keeps.String())
			}
		}
	}
	if q := sum[corev1.ResourceMemory]; q.Sign() <= 0 {
		return nil, errors.New("kubelet: Options.Placement.StaticMemory needs ReservedMemory")
	}
	return reserved, nil
}

// place gives a pod its devices, and CPUs and memory for itself. After an error it may have devices.
func (p *placer) place(ctx context.Context, pod *corev1.Pod, d *devices) (*placement.Given, map[string][]grant, error) {
	if p == nil {
		g := d.grant(pod, 0)
		if err := g.all(ctx); err != nil {
			return nil, nil, &placement.Refusal{Reason: "UnexpectedAdmissionError", Message: fmt.Sprintf("Allocate failed due to %v, which is unexpected", err)}
		}
		return nil, g.grants, nil
	}
	began := time.Now()
	g := d.grant(pod, p.Nodes())
	demand := demandOf(pod)
	given, err := p.Admit(ctx, demand, g)
	p.counts.placed(&p.policy, demand, err, time.Since(began))
	if err != nil {
		return nil, nil, err
	}
	if len(given.Containers) == 0 {
		return nil, g.grants, nil
	}
	p.poke()
	return &given, g.grants, nil
}

// demandOf is what the containers of a pod demand for themselves.
func demandOf(pod *corev1.Pod) placement.Pod {
	demand := placement.Pod{UID: pod.UID}
	r := pod.Spec.Resources
	own := corev1.QOSClass(pod) == corev1.PodQOSGuaranteed && (r == nil || len(r.Requests)+len(r.Limits) == 0)
	for c := range containersOf(pod) {
		one := placement.Container{Name: c.Name, Passing: passes(pod, c)}
		if own {
			// Requests and limits are equal.
			if cpu := c.Resources.Limits[corev1.ResourceCPU]; cpu.MilliValue()%1000 == 0 {
				one.CPUs = int(cpu.Value())
			}
			one.Memory = map[corev1.ResourceName]uint64{}
			for name, q := range c.Resources.Limits {
				if placement.IsMemory(name) && q.Sign() > 0 {
					one.Memory[name] = uint64(q.Value())
				}
			}
		}
		demand.Containers = append(demand.Containers, one)
	}
	return demand
}

// restore counts what a pod was given before.
func (p *placer) restore(uid types.UID, given *placement.Given) {
	if p != nil && given != nil {
		p.Restore(uid, *given)
	}
}

// release gives back what a pod has.
func (p *placer) release(uid types.UID) {
	if p != nil && p.Release(uid) {
		p.poke()
	}
}

func (p *placer) poke() {
	select {
	case p.poked <- struct{}{}:
	default:
	}
}

// pin adds the CPUs and NUMA nodes of a container. One with CPUs of its own needs no quota.
func (p *placer) pin(r *cri.LinuxContainerResources, uid types.UID, name string) *cri.LinuxContainerResources {
	if p == nil {
		return r
	}
	own := p.Of(uid).Containers[name]
	if len(own.CPUs) > 0 {
		r.CpusetCpus, r.CpuQuota, r.CpuPeriod = own.CPUs.String(), 0, 0
	} else if p.policy.StaticCPUs {
		r.CpusetCpus = p.Shared().String()
	}
	var nodes placement.Nodes
	for _, b := range own.Memory {
		nodes |= placement.NodesOf(b.Nodes...)
	}
	r.CpusetMems = placement.Set(nodes.IDs()).String()
	return r
}

// pinnedPod reports whether containers of a pod have CPUs of their own.
func (p *placer) pinnedPod(uid types.UID) bool {
	if p == nil {
		return false
	}
	for _, g := range p.Of(uid).Containers {
		if len(g.CPUs) > 0 {
			return true
		}
	}
	return false
}

// fixed says why the resources of a pod cannot be changed while it runs; empty if they can.
func (p *placer) fixed(pod *corev1.Pod, given *allocation) string {
	if p == nil || corev1.QOSClass(pod) != corev1.PodQOSGuaranteed {
		return ""
	}
	for c := range containersOf(pod) {
		has, ok := given.Containers[c.Name]
		if !ok {
			continue
		}
		for name := range differing(&has, &c.Resources) {
			switch {
			case name == corev1.ResourceCPU && p.policy.StaticCPUs:
				return fixedCPUs
			case name == corev1.ResourceMemory && p.policy.StaticMemory:
				return fixedMemory
			}
		}
	}
	return ""
}

// run gives running containers their CPUs, when they change and every interval, until ctx ends.
func (p *placer) run(ctx context.Context) {
	given := map[string]string{} // by container ID
	for {
		if p.policy.StaticCPUs {
			p.give(ctx, given)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.poked:
		case <-time.After(p.policy.Interval):
		}
	}
}

// give gives running containers their CPUs, as far as that was not done before.
func (p *placer) give(ctx context.Context, given map[string]string) {
	live, shared := map[string]bool{}, p.Shared().String()
	for _, w := range p.k.allWorkers() {
		pod, v := w.active(), p.k.views.get(w.uid)
		if pod == nil || v == nil {
			continue
		}
		own := p.Of(w.uid).Containers
		for _, c := range v.all((*container).running) {
			live[c.id] = true
			set := shared
			if g := own[c.name]; len(g.CPUs) > 0 {
				set = g.CPUs.String()
			}
			if given[c.id] == set || ctx.Err() != nil {
				continue
			}
			_, err := p.k.rt.UpdateContainerResources(ctx, &cri.UpdateContainerResourcesRequest{ContainerId: c.id, Linux: &cri.LinuxContainerResources{CpusetCpus: set}})
			if err != nil {
				p.k.log.Warn("the CPUs of a container could not be changed, it is tried again", "namespace", pod.Namespace, "name", pod.Name, "container", c.name, "cpus", set, "err", status.Convert(err).Message())
				continue
			}
			given[c.id] = set
		}
	}
	for id := range given {
		if !live[id] {
			delete(given, id)
		}
	}
}

// placed are the CPUs and the memory of a container, for the API of pod resources.
func (p *placer) placed(uid types.UID, name string) (cpus []int64, memory []pluginapi.ContainerMemory) {
	if p == nil {
		return nil, nil
	}
	g := p.Of(uid).Containers[name]
	return ids(g.CPUs), memoryBlocks(g.Memory)
}

// all are the CPUs and the memory that can be given, used or not.
func (p *placer) all() (cpus []int64, memory []pluginapi.ContainerMemory) {
	if p == nil {
		return nil, nil
	}
	return ids(p.CPUs()), memoryBlocks(p.Memory())
}

func ids(s placement.Set) []int64 {
	var list []int64
	for _, id := range s {
		list = append(list, int64(id))
	}
	return list
}

func memoryBlocks(list []placement.Block) []pluginapi.ContainerMemory {
	var out []pluginapi.ContainerMemory
	for _, b := range list {
		m := pluginapi.ContainerMemory{Type: string(b.Resource), Size: b.Bytes, Topology: &pluginapi.Topology{}}
		for _, n := range b.Nodes {
			m.Topology.Nodes = append(m.Topology.Nodes, pluginapi.NUMANode{ID: int64(n)})
		}
		out = append(out, m)
	}
	return out
}
