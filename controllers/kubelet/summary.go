package kubelet

import (
	"cmp"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

// The types of /stats/summary, k8s.io/kubelet/pkg/apis/stats/v1alpha1 of v0.36.3 as far as this kubelet knows
// the values.

type summary struct {
	Node nodeUsage  `json:"node"`
	Pods []podUsage `json:"pods"`
}

type nodeUsage struct {
	Name    string        `json:"nodeName"`
	Started metav1.Time   `json:"startTime"`
	CPU     *cpuUsage     `json:"cpu,omitempty"`
	Memory  *memoryUsage  `json:"memory,omitempty"`
	Fs      *fsUsage      `json:"fs,omitempty"`
	Runtime *runtimeUsage `json:"runtime,omitempty"`
	Rlimit  *rlimitUsage  `json:"rlimit,omitempty"`
	Swap    *swapUsage    `json:"swap,omitempty"`
	IO      *ioUsage      `json:"io,omitempty"`
}

type runtimeUsage struct {
	ImageFs     *fsUsage `json:"imageFs,omitempty"`
	ContainerFs *fsUsage `json:"containerFs,omitempty"`
}

type rlimitUsage struct {
	Time    metav1.Time `json:"time"`
	MaxPID  uint64      `json:"maxpid"`
	Running uint64      `json:"curproc"`
}

type podUsage struct {
	Ref        podReference     `json:"podRef"`
	Started    metav1.Time      `json:"startTime"`
	Containers []containerStats `json:"containers"`
	CPU        *cpuUsage        `json:"cpu,omitempty"`
	Memory     *memoryUsage     `json:"memory,omitempty"`
	Network    *networkUsage    `json:"network,omitempty"`
	Volumes    []volumeUsage    `json:"volume,omitempty"`
	Ephemeral  *fsUsage         `json:"ephemeral-storage,omitempty"`
	Processes  *processUsage    `json:"process_stats,omitempty"`
	Swap       *swapUsage       `json:"swap,omitempty"`
	IO         *ioUsage         `json:"io,omitempty"`
}

type podReference struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
}

type processUsage struct {
	Count uint64 `json:"process_count"`
}

type containerStats struct {
	Name    string       `json:"name"`
	Started metav1.Time  `json:"startTime"`
	CPU     *cpuUsage    `json:"cpu,omitempty"`
	Memory  *memoryUsage `json:"memory,omitempty"`
	Rootfs  *fsUsage     `json:"rootfs,omitempty"`
	Logs    *fsUsage     `json:"logs,omitempty"`
	Swap    *swapUsage   `json:"swap,omitempty"`
	IO      *ioUsage     `json:"io,omitempty"`
}

type cpuUsage struct {
	Time      metav1.Time `json:"time"`
	NanoCores uint64      `json:"usageNanoCores,omitempty"`
	Nanos     uint64      `json:"usageCoreNanoSeconds"`
	Pressure  *stallUsage `json:"psi,omitempty"`
}

type memoryUsage struct {
	Time        metav1.Time `json:"time"`
	Available   uint64      `json:"availableBytes,omitempty"`
	Usage       uint64      `json:"usageBytes,omitempty"`
	WorkingSet  uint64      `json:"workingSetBytes"`
	RSS         uint64      `json:"rssBytes,omitempty"`
	Faults      uint64      `json:"pageFaults,omitempty"`
	MajorFaults uint64      `json:"majorPageFaults,omitempty"`
	Pressure    *stallUsage `json:"psi,omitempty"`
}

type ioUsage struct {
	Time     metav1.Time `json:"time"`
	Pressure *stallUsage `json:"psi,omitempty"`
}

type stallUsage struct {
	Full stallTimes `json:"full"`
	Some stallTimes `json:"some"`
}

// stallTimes has the total in the kernel's microseconds, as kubelet 1.36 serves it, whose documentation says
// nanoseconds.
type stallTimes struct {
	Total  uint64  `json:"total"`
	Avg10  float64 `json:"avg10"`
	Avg60  float64 `json:"avg60"`
	Avg300 float64 `json:"avg300"`
}

type swapUsage struct {
	Time      metav1.Time `json:"time"`
	Available *uint64     `json:"swapAvailableBytes,omitempty"`
	Usage     uint64      `json:"swapUsageBytes"`
}

type networkUsage struct {
	Time metav1.Time `json:"time"`
	interfaceUsage
	Interfaces []interfaceUsage `json:"interfaces,omitempty"`
}

type interfaceUsage struct {
	Name     string `json:"name"`
	RxBytes  uint64 `json:"rxBytes"`
	RxErrors uint64 `json:"rxErrors"`
	TxBytes  uint64 `json:"txBytes"`
	TxErrors uint64 `json:"txErrors"`
}

type fsUsage struct {
	Time       metav1.Time `json:"time"`
	Available  uint64      `json:"availableBytes"`
	Capacity   uint64      `json:"capacityBytes"`
	Used       uint64      `json:"usedBytes"`
	InodesFree uint64      `json:"inodesFree,omitempty"`
	Inodes     uint64      `json:"inodes,omitempty"`
	InodesUsed uint64      `json:"inodesUsed,omitempty"`
}

type volumeUsage struct {
	fsUsage
	Name  string          `json:"name"`
	Claim *claimReference `json:"pvcRef,omitempty"`
}

type claimReference struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// summarize puts a sample into the form of /stats/summary. With basic it holds CPU and memory only.
func summarize(name string, started time.Time, s *usage.Sample, groups *groupStats, basic bool) *summary {
	at := metav1.NewTime(s.At)
	out := &summary{Node: nodeUsage{Name: name, Started: metav1.NewTime(started)}, Pods: []podUsage{}}
	out.Node.CPU = &cpuUsage{Time: at, NanoCores: s.CPURate, Nanos: s.CPU}
	used := s.Memory - min(s.MemoryAvailable, s.Memory)
	out.Node.Memory = &memoryUsage{Time: at, Available: s.MemoryAvailable, Usage: used, WorkingSet: used}
	out.Node.CPU.Pressure, out.Node.Memory.Pressure = stallsUsage(groups.node.CPU), stallsUsage(groups.node.Memory)
	out.Node.Swap = swapOf(at, s.Swap)
	if !basic {
		out.Node.IO = waiting(at, groups.node.IO)
		out.Node.Fs = filesystemUsage(at, &s.Node, usage.Space{Bytes: s.Node.Used(), Inodes: s.Node.UsedInodes()})
		images := filesystemUsage(at, &s.Image, s.Images)
		out.Node.Runtime = &runtimeUsage{ImageFs: images, ContainerFs: filesystemUsage(at, &s.Layer, s.Layers)}
		out.Node.Rlimit = &rlimitUsage{at, s.MostPIDs, s.PIDs}
	}
	for _, p := range s.Pods {
		out.Pods = append(out.Pods, summarizePod(s, p, groups, basic))
	}
	slices.SortFunc(out.Pods, func(a, b podUsage) int {
		return cmp.Or(cmp.Compare(a.Ref.Namespace, b.Ref.Namespace), cmp.Compare(a.Ref.Name, b.Ref.Name), cmp.Compare(a.Ref.UID, b.Ref.UID))
	})
	return out
}

func filesystemUsage(at metav1.Time, f *usage.Filesystem, used usage.Space) *fsUsage {
	return &fsUsage{Time: at, Available: f.Available, Capacity: f.Capacity, Used: used.Bytes, InodesFree: f.AvailableInodes, Inodes: f.Inodes, InodesUsed: used.Inodes}
}

// stallsUsage converts a pressure; nil if it is unknown.
func stallsUsage(s *usage.Stalls) *stallUsage {
	if s == nil {
		return nil
	}
	return &stallUsage{Full: stallTimes(s.Full), Some: stallTimes(s.Some)}
}

func swapOf(at metav1.Time, s *usage.Swap) *swapUsage {
	if s == nil {
		return nil
	}
	return &swapUsage{at, s.Available, s.Used}
}

func waiting(at metav1.Time, s *usage.Stalls) *ioUsage {
	if s == nil {
		return nil
	}
	return &ioUsage{at, stallsUsage(s)}
}

func summarizePod(s *usage.Sample, p *usage.Pod, groups *groupStats, basic bool) podUsage {
	out := podUsage{Ref: podReference{p.Name, p.Namespace, string(p.UID)}, Started: metav1.NewTime(p.Started), Containers: []containerStats{}}
	at, group := metav1.NewTime(s.At), groups.pods[p.UID]
	if n, when := p.CPU(); !when.IsZero() {
		out.CPU = &cpuUsage{Time: metav1.NewTime(when), Nanos: n, Pressure: stallsUsage(group.CPU)}
	}
	if n, when := p.WorkingSet(); !when.IsZero() {
		out.Memory = &memoryUsage{Time: metav1.NewTime(when), WorkingSet: n, Pressure: stallsUsage(group.Memory)}
	}
	out.Swap = swapOf(at, group.swap)
	for i := range p.Containers {
		c := &p.Containers[i]
		one := containerStats{Name: c.Name, Started: metav1.NewTime(c.Created)}
		own := groups.containers[c.ID]
		one.Swap = swapOf(at, own.swap)
		if !c.CPUAt.IsZero() {
			one.CPU = &cpuUsage{Time: metav1.NewTime(c.CPUAt), NanoCores: c.CPURate, Nanos: c.CPU, Pressure: stallsUsage(own.CPU)}
			out.CPU.NanoCores += c.CPURate
		}
		if !c.MemoryAt.IsZero() {
			one.Memory = &memoryUsage{Time: metav1.NewTime(c.MemoryAt), Available: c.MemoryAvailable, Usage: c.MemoryUsage, WorkingSet: c.WorkingSet, RSS: c.RSS,
				Faults: c.PageFaults, MajorFaults: c.MajorPageFaults, Pressure: stallsUsage(own.Memory)}
			out.Memory.Usage += c.MemoryUsage
			out.Memory.RSS += c.RSS
		}
		if !basic {
			one.IO = waiting(at, own.IO)
			one.Rootfs, one.Logs = filesystemUsage(at, &s.Image, c.Layer), filesystemUsage(at, &s.Node, c.Logs)
		}
		out.Containers = append(out.Containers, one)
	}
	if basic {
		return out
	}
	for i := range p.Volumes {
		v := &p.Volumes[i]
		out.Volumes = append(out.Volumes, volumeUsage{fsUsage: *filesystemUsage(metav1.NewTime(v.At), &v.On, v.Space), Name: v.Name})
	}
	for i := range p.Driven {
		v := &p.Driven[i]
		one := volumeUsage{fsUsage: *filesystemUsage(metav1.NewTime(v.At), &v.On, v.Space), Name: v.Name}
		if v.Claim != "" {
			one.Claim = &claimReference{v.Claim, p.Namespace}
		}
		out.Volumes = append(out.Volumes, one)
	}
	out.Ephemeral = filesystemUsage(at, &s.Node, p.Ephemeral())
	out.IO = waiting(at, group.IO)
	if n := p.Network; n != nil {
		one := interfaceUsage{n.Interface, n.RxBytes, n.RxErrors, n.TxBytes, n.TxErrors}
		out.Network = &networkUsage{Time: metav1.NewTime(n.At), interfaceUsage: one, Interfaces: []interfaceUsage{one}}
	}
	if p.Processes > 0 {
		out.Processes = &processUsage{p.Processes}
	}
	return out
}
