package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

// stats measures the node and its pods. All readers share its samples: the summary, the metrics, the removal
// of images and evictions. Safe for concurrent use.
type stats struct {
	k     *Kubelet
	disks *diskMeter

	mu   sync.Mutex
	last *usage.Sample
}

// statsAge is how old a sample may be that is served.
const statsAge = 10 * time.Second

// recent returns a sample that is at most statsAge old.
func (s *stats) recent(ctx context.Context) (*usage.Sample, error) {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last != nil && time.Since(last.At) < statsAge {
		return last, nil
	}
	return s.take(ctx)
}

// take measures now.
func (s *stats) take(ctx context.Context) (*usage.Sample, error) {
	now := &usage.Sample{At: time.Now(), CPU: s.k.opts.Host.CPU(), Pods: map[types.UID]*usage.Pod{}}
	if err := s.node(ctx, now); err != nil {
		return nil, err
	}
	if err := s.pods(ctx, now); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		rates(s.last, now)
	}
	if s.last == nil || s.last.At.Before(now.At) {
		s.last = now
	}
	return now, nil
}

func (s *stats) node(ctx context.Context, now *usage.Sample) error {
	host := s.k.opts.Host
	now.Memory, now.MemoryAvailable = host.Memory()
	now.MostPIDs, now.PIDs = host.PIDs()
	now.Swap = machineSwap()
	if disk, err := host.Disk(s.k.opts.RootDir); err == nil {
		now.Node, now.Image = filesystemOf(disk), filesystemOf(disk)
	}
	info, err := s.k.rt.images.ImageFsInfo(ctx, &cri.ImageFsInfoRequest{})
	if err != nil {
		return fmt.Errorf("failed to get imageFs stats: %w", err)
	}
	if len(info.ImageFilesystems) == 0 {
		return errors.New("failed to get imageFs stats: imageFs information is unavailable")
	}
	images := info.ImageFilesystems[0]
	now.Images = usage.Space{Bytes: images.GetUsedBytes().GetValue(), Inodes: images.GetInodesUsed().GetValue()}
	if images.Timestamp > 0 {
		now.ImagesAt = timeOf(images.Timestamp)
	}
	if disk, err := host.Disk(images.GetFsId().GetMountpoint()); err == nil {
		now.Image = filesystemOf(disk)
	}
	// Most runtimes keep what containers write beside the images, and some of them do not say so.
	now.Layer, now.Layers = now.Image, now.Images
	if len(info.ContainerFilesystems) > 0 {
		layers := info.ContainerFilesystems[0]
		if disk, err := host.Disk(layers.GetFsId().GetMountpoint()); err == nil && disk.Device != now.Image.Device {
			now.Layer, now.Layers = filesystemOf(disk), usage.Space{Bytes: layers.GetUsedBytes().GetValue(), Inodes: layers.GetInodesUsed().GetValue()}
		}
	}
	return nil
}

func (s *stats) pods(ctx context.Context, now *usage.Sample) error {
	list, err := s.k.rt.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}}})
	if err != nil {
		return err
	}
	created := map[string]time.Time{}
	for _, c := range list.Containers {
		created[c.Id] = timeOf(c.CreatedAt)
	}
	measured, err := s.k.rt.ListContainerStats(ctx, &cri.ListContainerStatsRequest{})
	if err != nil {
		return err
	}
	for _, st := range measured.Stats {
		l := st.GetAttributes().GetLabels()
		uid := types.UID(l[labelPodUID])
		at, running := created[st.GetAttributes().GetId()]
		if uid == "" || !running {
			continue
		}
		p := podOf(now, uid, l[labelPodNamespace], l[labelPodName])
		c := containerUsage(st)
		c.Name, c.Created = l[labelContainerName], at
		p.Containers = append(p.Containers, c)
	}
	s.sandboxes(ctx, now)
	for uid, p := range now.Pods {
		slices.SortFunc(p.Containers, func(a, b usage.Container) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), b.Created.Compare(a.Created))
		})
		p.Containers = slices.CompactFunc(p.Containers, func(a, b usage.Container) bool { return a.Name == b.Name })
		if d := s.disks.get(uid); d != nil {
			p.Volumes, p.Driven, p.Other = d.volumes, d.driven, d.other
			for i := range p.Containers {
				p.Containers[i].Logs = d.logs[p.Containers[i].Name]
			}
		}
	}
	return nil
}

func podOf(now *usage.Sample, uid types.UID, namespace, name string) *usage.Pod {
	p := now.Pods[uid]
	if p == nil {
		p = &usage.Pod{Namespace: namespace, Name: name, UID: uid}
		now.Pods[uid] = p
	}
	return p
}

// sandboxes adds what is known of the pods as a whole. Runtimes without these statistics, as containerd
// before 1.7 has them only in part, leave it unknown.
func (s *stats) sandboxes(ctx context.Context, now *usage.Sample) {
	list, err := s.k.rt.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{State: &cri.PodSandboxStateValue{State: cri.PodSandboxState_SANDBOX_READY}}})
	if err != nil {
		return
	}
	for _, b := range list.Items {
		uid := types.UID(b.Labels[labelPodUID])
		if uid != "" {
			podOf(now, uid, b.Labels[labelPodNamespace], b.Labels[labelPodName]).Started = timeOf(b.CreatedAt)
		}
	}
	measured, err := s.k.rt.ListPodSandboxStats(ctx, &cri.ListPodSandboxStatsRequest{})
	if err != nil {
		return
	}
	for _, st := range measured.Stats {
		p := now.Pods[types.UID(st.GetAttributes().GetLabels()[labelPodUID])]
		if p == nil {
			continue
		}
		p.Processes = st.GetLinux().GetProcess().GetProcessCount().GetValue()
		if n := st.GetLinux().GetNetwork(); n.GetDefaultInterface() != nil {
			d := n.DefaultInterface
			p.Network = &usage.Network{Interface: d.Name, At: timeOf(n.Timestamp), RxBytes: d.GetRxBytes().GetValue(), RxErrors: d.GetRxErrors().GetValue(),
				TxBytes: d.GetTxBytes().GetValue(), TxErrors: d.GetTxErrors().GetValue()}
		}
	}
}

func containerUsage(st *cri.ContainerStats) usage.Container {
	c := usage.Container{ID: st.GetAttributes().GetId()}
	if cpu := st.GetCpu(); cpu != nil {
		c.CPU, c.CPUAt, c.CPURate = cpu.GetUsageCoreNanoSeconds().GetValue(), timeOf(cpu.Timestamp), cpu.GetUsageNanoCores().GetValue()
	}
	if m := st.GetMemory(); m != nil {
		c.WorkingSet, c.MemoryUsage, c.RSS = m.GetWorkingSetBytes().GetValue(), m.GetUsageBytes().GetValue(), m.GetRssBytes().GetValue()
		c.MemoryAvailable, c.PageFaults, c.MajorPageFaults = m.GetAvailableBytes().GetValue(), m.GetPageFaults().GetValue(), m.GetMajorPageFaults().GetValue()
		c.MemoryAt = timeOf(m.Timestamp)
	}
	if w := st.GetWritableLayer(); w != nil {
		c.Layer = usage.Space{Bytes: w.GetUsedBytes().GetValue(), Inodes: w.GetInodesUsed().GetValue()}
	}
	c.Pressure = usage.Pressure{CPU: stallsOf(st.GetCpu().GetPsi()), Memory: stallsOf(st.GetMemory().GetPsi()), IO: stallsOf(st.GetIo().GetPsi())}
	if used := st.GetSwap().GetSwapUsageBytes(); used != nil {
		c.Swap = &usage.Swap{Used: used.Value}
		if available := st.GetSwap().GetSwapAvailableBytes(); available != nil {
			c.Swap.Available = &available.Value
		}
	}
	return c
}

func stallsOf(p *cri.PsiStats) *usage.Stalls {
	if p == nil {
		return nil
	}
	one := func(d *cri.PsiData) usage.Stall {
		return usage.Stall{Total: d.GetTotal(), Avg10: d.GetAvg10(), Avg60: d.GetAvg60(), Avg300: d.GetAvg300()}
	}
	return &usage.Stalls{Some: one(p.Some), Full: one(p.Full)}
}

// rates computes CPU rates, which not all runtimes know, from two samples.
func rates(before, now *usage.Sample) {
	rate := func(was, is uint64, d time.Duration) uint64 {
		if is < was || d <= 0 {
			return 0
		}
		return uint64(float64(is-was) / d.Seconds())
	}
	now.CPURate = rate(before.CPU, now.CPU, now.At.Sub(before.At))
	for uid, p := range now.Pods {
		old := before.Pods[uid]
		if old == nil {
			continue
		}
		for i := range p.Containers {
			c := &p.Containers[i]
			at := slices.IndexFunc(old.Containers, func(o usage.Container) bool { return o.ID == c.ID })
			if at < 0 || c.CPURate > 0 {
				continue
			}
			was := &old.Containers[at]
			c.CPURate = rate(was.CPU, c.CPU, c.CPUAt.Sub(was.CPUAt))
			if c.CPUAt.Equal(was.CPUAt) {
				c.CPURate = was.CPURate
			}
		}
	}
}
