package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// summary is what /stats/summary answers: CPU and memory of the node's containers.
type summary struct {
	Node nodeUsage  `json:"node"`
	Pods []podUsage `json:"pods"`
}

type nodeUsage struct {
	Name   string       `json:"nodeName"`
	Memory *memoryUsage `json:"memory,omitempty"`
}

type podUsage struct {
	Ref        podReference     `json:"podRef"`
	Containers []containerUsage `json:"containers"`
}

type podReference struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
}

type containerUsage struct {
	Name   string       `json:"name"`
	CPU    *cpuUsage    `json:"cpu,omitempty"`
	Memory *memoryUsage `json:"memory,omitempty"`
}

type cpuUsage struct {
	Time                 metav1.Time `json:"time"`
	UsageCoreNanoSeconds uint64      `json:"usageCoreNanoSeconds"`
}

type memoryUsage struct {
	Time            metav1.Time `json:"time"`
	AvailableBytes  uint64      `json:"availableBytes,omitempty"`
	UsageBytes      uint64      `json:"usageBytes,omitempty"`
	WorkingSetBytes uint64      `json:"workingSetBytes"`
}

func (k *Kubelet) summary(ctx context.Context) (*summary, error) {
	list, err := k.rt.ListContainerStats(ctx, &cri.ListContainerStatsRequest{})
	if err != nil {
		return nil, err
	}
	s := &summary{Node: nodeUsage{Name: k.opts.NodeName}, Pods: []podUsage{}}
	total, free := memoryNow(k.opts.Capacity)
	s.Node.Memory = &memoryUsage{Time: metav1.Now(), AvailableBytes: free, UsageBytes: total - free, WorkingSetBytes: total - free}
	byPod := map[string]*podUsage{}
	for _, st := range list.Stats {
		l := st.GetAttributes().GetLabels()
		ref := podReference{l[labelPodName], l[labelPodNamespace], l[labelPodUID]}
		if ref.UID == "" {
			continue
		}
		p := byPod[ref.UID]
		if p == nil {
			p = &podUsage{Ref: ref}
			byPod[ref.UID] = p
		}
		c := containerUsage{Name: l[labelContainerName]}
		if cpu := st.GetCpu(); cpu != nil {
			c.CPU = &cpuUsage{Time: metav1.NewTime(timeOf(cpu.Timestamp)), UsageCoreNanoSeconds: cpu.GetUsageCoreNanoSeconds().GetValue()}
		}
		if m := st.GetMemory(); m != nil {
			c.Memory = &memoryUsage{Time: metav1.NewTime(timeOf(m.Timestamp)), WorkingSetBytes: m.GetWorkingSetBytes().GetValue(),
				UsageBytes: m.GetUsageBytes().GetValue(), AvailableBytes: m.GetAvailableBytes().GetValue()}
		}
		p.Containers = append(p.Containers, c)
	}
	for _, p := range byPod {
		slices.SortFunc(p.Containers, func(a, b containerUsage) int { return cmp.Compare(a.Name, b.Name) })
		s.Pods = append(s.Pods, *p)
	}
	slices.SortFunc(s.Pods, func(a, b podUsage) int {
		return cmp.Or(cmp.Compare(a.Ref.Namespace, b.Ref.Namespace), cmp.Compare(a.Ref.Name, b.Ref.Name))
	})
	return s, nil
}

// memoryNow is the node's memory and what is available of it, in bytes.
func memoryNow(capacity corev1.ResourceList) (total, free uint64) {
	q := capacity[corev1.ResourceMemory]
	total = uint64(max(q.Value(), 0))
	return total, min(availableMemory(), total)
}

// metrics writes the summary in the format of /metrics/resource.
func (s *summary) metrics(w io.Writer) {
	fmt.Fprint(w, "# HELP node_memory_working_set_bytes [STABLE] Current working set of the node in bytes\n# TYPE node_memory_working_set_bytes gauge\n")
	fmt.Fprintf(w, "node_memory_working_set_bytes %d %d\n", s.Node.Memory.WorkingSetBytes, s.Node.Memory.Time.UnixMilli())
	each := func(f func(p *podUsage, c *containerUsage)) {
		for i := range s.Pods {
			for j := range s.Pods[i].Containers {
				f(&s.Pods[i], &s.Pods[i].Containers[j])
			}
		}
	}
	fmt.Fprint(w, "# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds\n# TYPE container_cpu_usage_seconds_total counter\n")
	each(func(p *podUsage, c *containerUsage) {
		if c.CPU != nil {
			fmt.Fprintf(w, "container_cpu_usage_seconds_total{container=%q,namespace=%q,pod=%q} %g %d\n", c.Name, p.Ref.Namespace, p.Ref.Name,
				float64(c.CPU.UsageCoreNanoSeconds)/1e9, c.CPU.Time.UnixMilli())
		}
	})
	fmt.Fprint(w, "# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes\n# TYPE container_memory_working_set_bytes gauge\n")
	each(func(p *podUsage, c *containerUsage) {
		if c.Memory != nil {
			fmt.Fprintf(w, "container_memory_working_set_bytes{container=%q,namespace=%q,pod=%q} %d %d\n", c.Name, p.Ref.Namespace, p.Ref.Name,
				c.Memory.WorkingSetBytes, c.Memory.Time.UnixMilli())
		}
	})
}
