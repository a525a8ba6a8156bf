package fakecri

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Usage is what a container uses.
type Usage struct {
	// CPU is the CPU time it has used, Memory its working set and Disk what it has written to its own layer,
	// in bytes. Processes is how many it has.
	CPU                     time.Duration
	Memory, Disk, Processes uint64
}

func (r *Runtime) usage(c measured) Usage {
	if r.Measure == nil {
		return Usage{}
	}
	return r.Measure(c.config)
}

// measured is a container that runs, as it was at one moment.
type measured struct {
	id, sandbox string
	config      *cri.ContainerConfig
}

// running returns the containers that run.
func (r *Runtime) running() []measured {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []measured
	for _, c := range byID(r.containers) {
		if c.state == cri.ContainerState_CONTAINER_RUNNING {
			list = append(list, measured{c.id, c.sandbox, c.config})
		}
	}
	return list
}

// ListContainerStats implements CRI.
func (r *Runtime) ListContainerStats(context.Context, *cri.ListContainerStatsRequest) (*cri.ListContainerStatsResponse, error) {
	now := time.Now().UnixNano()
	number := func(n uint64) *cri.UInt64Value { return &cri.UInt64Value{Value: n} }
	out := &cri.ListContainerStatsResponse{}
	for _, c := range r.running() {
		u := r.usage(c)
		out.Stats = append(out.Stats, &cri.ContainerStats{
			Attributes:    &cri.ContainerAttributes{Id: c.id, Metadata: c.config.Metadata, Labels: c.config.Labels, Annotations: c.config.Annotations},
			Cpu:           &cri.CpuUsage{Timestamp: now, UsageCoreNanoSeconds: number(uint64(u.CPU))},
			Memory:        &cri.MemoryUsage{Timestamp: now, WorkingSetBytes: number(u.Memory), UsageBytes: number(u.Memory), RssBytes: number(u.Memory)},
			WritableLayer: &cri.FilesystemUsage{Timestamp: now, UsedBytes: number(u.Disk), InodesUsed: number(1)},
		})
	}
	return out, nil
}

// ListPodSandboxStats implements CRI.
func (r *Runtime) ListPodSandboxStats(context.Context, *cri.ListPodSandboxStatsRequest) (*cri.ListPodSandboxStatsResponse, error) {
	processes := map[string]uint64{}
	for _, c := range r.running() {
		processes[c.sandbox] += r.usage(c).Processes
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &cri.ListPodSandboxStatsResponse{}
	for _, s := range byID(r.sandboxes) {
		if s.state != cri.PodSandboxState_SANDBOX_READY {
			continue
		}
		out.Stats = append(out.Stats, &cri.PodSandboxStats{
			Attributes: &cri.PodSandboxAttributes{Id: s.id, Metadata: s.config.Metadata, Labels: s.config.Labels, Annotations: s.config.Annotations},
			Linux:      &cri.LinuxPodSandboxStats{Process: &cri.ProcessUsage{Timestamp: time.Now().UnixNano(), ProcessCount: &cri.UInt64Value{Value: processes[s.id]}}},
		})
	}
	return out, nil
}
