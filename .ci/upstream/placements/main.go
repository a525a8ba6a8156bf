//go:build upstream

// Placements by the CPU, memory and topology managers of the real kubelet, as lines of JSON: what
// TestPlacementsBeside compares with. A line on the standard input is a machine, policies and pods that come
// and go. The line on the standard output says for each pod that came what its containers got, or why it was
// refused. .ci/peers builds it; the build tag keeps it out of this module.
package main

import (
	"flag"
	"io"
	"maps"
	"slices"

	cadvisor "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"

	"upstream/lines"
)

type world struct {
	CPUs []struct{ ID, Core, Socket, Node, Cache int }
	// Distances are those between NUMA nodes, which have so many bytes of memory each.
	Distances [][]uint64
	Memory    uint64

	ReservedCPUs    int
	ReservedMemory  uint64 // of node 0
	CPUOptions      map[string]string
	Policy, Scope   string
	TopologyOptions map[string]string
	Steps           []step
}

// step is a pod that comes, or the name of one that goes.
type step struct {
	Gone       string
	Name       string
	Containers []struct {
		Name    string
		Passing bool
		CPUs    int
		Memory  uint64
	}
}

type answer struct {
	Reason, Message string
	CPUs            map[string][]int
	Nodes           map[string][]int
}

func main() {
	klog.InitFlags(nil)
	for name, value := range map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		_ = flag.Set(name, value)
	}
	klog.SetOutput(io.Discard)
	if err := utilfeature.DefaultMutableFeatureGate.Set("CPUManagerPolicyAlphaOptions=true"); err != nil {
		panic(err)
	}
	lines.Answer((*world).place)
}

// managers are both resource managers as one hint provider each.
type managers struct {
	cpus    cpumanager.Policy
	cpu     cpustate.State
	memory  memorymanager.Policy
	memorys memorystate.State
}

type cpuProvider struct{ *managers }

func (m cpuProvider) GetTopologyHints(p *v1.Pod, c *v1.Container) map[string][]topologymanager.TopologyHint {
	return m.cpus.GetTopologyHints(klog.Background(), m.cpu, p, c)
}
func (m cpuProvider) GetPodTopologyHints(p *v1.Pod) map[string][]topologymanager.TopologyHint {
	return m.cpus.GetPodTopologyHints(klog.Background(), m.cpu, p)
}
func (m cpuProvider) Allocate(p *v1.Pod, c *v1.Container) error {
	return m.cpus.Allocate(klog.Background(), m.cpu, p, c)
}
func (m cpuProvider) AllocatePod(p *v1.Pod) error {
	return m.cpus.AllocatePod(klog.Background(), m.cpu, p)
}

type memoryProvider struct{ *managers }

func (m memoryProvider) GetTopologyHints(p *v1.Pod, c *v1.Container) map[string][]topologymanager.TopologyHint {
	return m.memory.GetTopologyHints(klog.Background(), m.memorys, p, c)
}
func (m memoryProvider) GetPodTopologyHints(p *v1.Pod) map[string][]topologymanager.TopologyHint {
	return m.memory.GetPodTopologyHints(klog.Background(), m.memorys, p)
}
func (m memoryProvider) Allocate(p *v1.Pod, c *v1.Container) error {
	return m.memory.Allocate(klog.Background(), m.memorys, p, c)
}
func (m memoryProvider) AllocatePod(p *v1.Pod) error {
	return m.memory.AllocatePod(klog.Background(), m.memorys, p)
}

// start makes the managers of the machine.
func (w *world) start() (*managers, topologymanager.Manager, error) {
	topo := &topology.CPUTopology{NumCPUs: len(w.CPUs), NumNUMANodes: len(w.Distances), CPUDetails: topology.CPUDetails{}}
	cores, sockets, caches := map[int]bool{}, map[int]bool{}, map[int]bool{}
	info := &cadvisor.MachineInfo{NumCores: len(w.CPUs)}
	for _, c := range w.CPUs {
		topo.CPUDetails[c.ID] = topology.CPUInfo{NUMANodeID: c.Node, SocketID: c.Socket, CoreID: c.Core, UncoreCacheID: c.Cache}
		cores[c.Core], sockets[c.Socket], caches[c.Cache] = true, true, true
	}
	topo.NumCores, topo.NumSockets, topo.NumUncoreCache = len(cores), len(sockets), len(caches)
	for id, d := range w.Distances {
		info.Topology = append(info.Topology, cadvisor.Node{Id: id, Memory: w.Memory, Distances: d})
	}
	manager, err := topologymanager.NewManager(info.Topology, w.Policy, w.Scope, w.TopologyOptions)
	if err != nil {
		return nil, nil, err
	}
	log := klog.Background()
	m := &managers{cpu: cpustate.NewMemoryState(log), memorys: memorystate.NewMemoryState(log)}
	if m.cpus, err = cpumanager.NewStaticPolicy(log, topo, w.ReservedCPUs, cpuset.New(), manager, w.CPUOptions); err != nil {
		return nil, nil, err
	}
	if err := m.cpus.Start(log, m.cpu); err != nil {
		return nil, nil, err
	}
	reserved := map[int]map[v1.ResourceName]uint64{0: {v1.ResourceMemory: w.ReservedMemory}}
	if m.memory, err = memorymanager.NewPolicyStatic(log, info, reserved, manager); err != nil {
		return nil, nil, err
	}
	if err := m.memory.Start(log, m.memorys); err != nil {
		return nil, nil, err
	}
	manager.AddHintProvider(log, cpuProvider{m})
	manager.AddHintProvider(log, memoryProvider{m})
	return m, manager, nil
}

func (w *world) place() ([]answer, error) {
	m, manager, err := w.start()
	if err != nil {
		return nil, err
	}
	var answers []answer
	pods := map[string]*v1.Pod{}
	remove := func(p *v1.Pod) {
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			_ = m.cpus.RemoveContainer(klog.Background(), m.cpu, string(p.UID), c.Name)
			m.memory.RemoveContainer(klog.Background(), m.memorys, string(p.UID), c.Name)
		}
	}
	for _, s := range w.Steps {
		if s.Gone != "" {
			remove(pods[s.Gone])
			continue
		}
		p := s.pod()
		pods[s.Name] = p
		result := manager.Admit(&lifecycle.PodAdmitAttributes{Pod: p})
		a := answer{Reason: result.Reason, Message: result.Message, CPUs: map[string][]int{}, Nodes: map[string][]int{}}
		if result.Admit {
			for name, set := range m.cpu.GetCPUAssignments()[string(p.UID)] {
				a.CPUs[name] = set.List()
			}
			for name, blocks := range m.memorys.GetMemoryAssignments()[string(p.UID)] {
				for _, b := range blocks {
					a.Nodes[name] = b.NUMAAffinity
				}
			}
		} else {
			remove(p)
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// pod is a Guaranteed pod.
func (s *step) pod() *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: "default", UID: types.UID(s.Name)}}
	for _, c := range s.Containers {
		milli := int64(c.CPUs) * 1000
		if milli == 0 {
			milli = 500
		}
		r := v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(int64(c.Memory), resource.BinarySI)}
		one := v1.Container{Name: c.Name, Resources: v1.ResourceRequirements{Requests: r, Limits: maps.Clone(r)}}
		if c.Passing {
			p.Spec.InitContainers = append(p.Spec.InitContainers, one)
		} else {
			p.Spec.Containers = append(p.Spec.Containers, one)
		}
	}
	return p
}
