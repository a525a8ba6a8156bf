package kubelet

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/resourcemetrics"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

// resourceMetrics writes what /metrics/resource serves, in the text format of Prometheus: the CPU time and
// memory of the node, its pods and their containers. A nil sample is one that could not be taken.
func resourceMetrics(s *usage.Sample, groups *groupStats) []byte {
	w := &metricWriter{}
	resourcemetrics.Family(w, resourcemetrics.ScrapeError)
	if s == nil {
		w.value(resourcemetrics.ScrapeError, "", 1, time.Time{})
		return w.Bytes()
	}
	w.value(resourcemetrics.ScrapeError, "", 0, time.Time{})
	resourcemetrics.Family(w, resourcemetrics.NodeCPU)
	w.value(resourcemetrics.NodeCPU, "", seconds9(s.CPU), s.At)
	resourcemetrics.Family(w, resourcemetrics.NodeMemory)
	w.value(resourcemetrics.NodeMemory, "", float64(s.Memory-min(s.MemoryAvailable, s.Memory)), s.At)
	if s.Swap != nil {
		resourcemetrics.Family(w, resourcemetrics.NodeSwap)
		w.value(resourcemetrics.NodeSwap, "", float64(s.Swap.Used), s.At)
	}

	pods := make([]*usage.Pod, 0, len(s.Pods))
	for _, p := range s.Pods {
		pods = append(pods, p)
	}
	slices.SortFunc(pods, func(a, b *usage.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	w.containers(pods, resourcemetrics.ContainerCPU, func(c *usage.Container) (float64, time.Time, bool) {
		return seconds9(c.CPU), c.CPUAt, !c.CPUAt.IsZero()
	})
	w.containers(pods, resourcemetrics.ContainerMemory, func(c *usage.Container) (float64, time.Time, bool) {
		return float64(c.WorkingSet), c.MemoryAt, !c.MemoryAt.IsZero()
	})
	w.containers(pods, resourcemetrics.ContainerStart, func(c *usage.Container) (float64, time.Time, bool) {
		return float64(c.Created.UnixNano()) / 1e9, time.Time{}, !c.Created.IsZero()
	})
	w.containers(pods, resourcemetrics.ContainerSwap, func(c *usage.Container) (float64, time.Time, bool) {
		swap := groups.containers[c.ID].swap
		if swap == nil {
			return 0, time.Time{}, false
		}
		return float64(swap.Used), s.At, true
	})
	w.containers(pods, resourcemetrics.ContainerSwapLimit, func(c *usage.Container) (float64, time.Time, bool) {
		swap := groups.containers[c.ID].swap
		if swap == nil || swap.Available == nil {
			return 0, time.Time{}, false
		}
		return float64(swap.Used + *swap.Available), s.At, true
	})
	w.pods(pods, resourcemetrics.PodCPU, func(p *usage.Pod) (float64, time.Time) { n, at := p.CPU(); return seconds9(n), at })
	w.pods(pods, resourcemetrics.PodMemory, func(p *usage.Pod) (float64, time.Time) { n, at := p.WorkingSet(); return float64(n), at })
	w.pods(pods, resourcemetrics.PodSwap, func(p *usage.Pod) (float64, time.Time) {
		if swap := groups.pods[p.UID].swap; swap != nil {
			return float64(swap.Used), s.At
		}
		return 0, time.Time{}
	})
	return w.Bytes()
}

func seconds9(nanos uint64) float64 { return float64(nanos) / 1e9 }

// metricWriter writes the text format of Prometheus.
type metricWriter struct{ bytes.Buffer }

// value writes a sample. Labels are written as they are; a zero time is left out.
func (w *metricWriter) value(name, labels string, v float64, at time.Time) {
	w.WriteString(name)
	if labels != "" {
		w.WriteString("{" + labels + "}")
	}
	w.WriteString(" " + strconv.FormatFloat(v, 'g', -1, 64))
	if !at.IsZero() {
		w.WriteString(" " + strconv.FormatInt(at.UnixMilli(), 10))
	}
	w.WriteByte('\n')
}

func (w *metricWriter) containers(pods []*usage.Pod, name string, of func(*usage.Container) (float64, time.Time, bool)) {
	begun := false
	for _, p := range pods {
		for i := range p.Containers {
			c := &p.Containers[i]
			v, at, ok := of(c)
			if !ok {
				continue
			}
			if !begun {
				resourcemetrics.Family(w, name)
				begun = true
			}
			w.value(name, resourcemetrics.Container(p.Namespace, p.Name, c.Name), v, at)
		}
	}
}

func (w *metricWriter) pods(pods []*usage.Pod, name string, of func(*usage.Pod) (float64, time.Time)) {
	begun := false
	for _, p := range pods {
		v, at := of(p)
		if at.IsZero() {
			continue
		}
		if !begun {
			resourcemetrics.Family(w, name)
			begun = true
		}
		w.value(name, fmt.Sprintf("namespace=%q,pod=%q", p.Namespace, p.Name), v, at)
	}
}

// containerMetrics writes what /metrics/cadvisor serves, with the names that cAdvisor gave the measurements.
// Those that the container runtime does not measure are left out.
func containerMetrics(s *usage.Sample, groups *groupStats, capacity corev1.ResourceList) []byte {
	w := &metricWriter{}
	plain := func(name, kind, help string, v float64) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		w.value(name, "", v, time.Time{})
	}
	cpu, memory := capacity[corev1.ResourceCPU], capacity[corev1.ResourceMemory]
	plain("machine_cpu_cores", "gauge", "Number of logical CPU cores.", float64(cpu.MilliValue())/1000)
	plain("machine_memory_bytes", "gauge", "Amount of memory installed on the machine.", float64(memory.Value()))
	pods := make([]*usage.Pod, 0, len(s.Pods))
	for _, p := range s.Pods {
		pods = append(pods, p)
	}
	slices.SortFunc(pods, func(a, b *usage.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, m := range cadvisorContainers {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for _, p := range pods {
			for i := range p.Containers {
				c := &p.Containers[i]
				v, at := m.of(c)
				w.value(m.name, fmt.Sprintf("container=%q,id=%q,namespace=%q,pod=%q", c.Name, c.ID, p.Namespace, p.Name), v, at)
			}
		}
	}
	w.stalls(pods, groups)
	w.swaps(pods, groups)
	for _, m := range cadvisorNetworks {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s counter\n", m.name, m.help, m.name)
		for _, p := range pods {
			if n := p.Network; n != nil {
				w.value(m.name, fmt.Sprintf("interface=%q,namespace=%q,pod=%q", n.Interface, p.Namespace, p.Name), float64(m.of(n)), n.At)
			}
		}
	}
	return w.Bytes()
}

// stalls writes how long containers had to wait, if that is known of any.
func (w *metricWriter) stalls(pods []*usage.Pod, groups *groupStats) {
	for _, m := range cadvisorStalls {
		for i, kind := range []string{"stalled", "waiting"} {
			name := fmt.Sprintf("container_pressure_%s_%s_seconds_total", m.resource, kind)
			help := []string{"no tasks in the container could make progress", "tasks in the container have waited"}[i]
			begun := false
			for _, p := range pods {
				for j := range p.Containers {
					c := &p.Containers[j]
					s := m.of(groups.containers[c.ID].Pressure)
					if s == nil {
						continue
					}
					if !begun {
						fmt.Fprintf(w, "# HELP %s Total time duration %s due to %s congestion.\n# TYPE %s counter\n", name, help, m.label, name)
						begun = true
					}
					total := []uint64{s.Full.Total, s.Some.Total}[i]
					w.value(name, fmt.Sprintf("container=%q,id=%q,namespace=%q,pod=%q", c.Name, c.ID, p.Namespace, p.Name), float64(total)/1e6, time.Time{})
				}
			}
		}
	}
}

// swaps writes how much swap containers use, if that is known of any.
func (w *metricWriter) swaps(pods []*usage.Pod, groups *groupStats) {
	const name = "container_memory_swap"
	begun := false
	for _, p := range pods {
		for i := range p.Containers {
			c := &p.Containers[i]
			swap := groups.containers[c.ID].swap
			if swap == nil {
				continue
			}
			if !begun {
				fmt.Fprintf(w, "# HELP %s Container swap usage in bytes.\n# TYPE %s gauge\n", name, name)
				begun = true
			}
			w.value(name, fmt.Sprintf("container=%q,id=%q,namespace=%q,pod=%q", c.Name, c.ID, p.Namespace, p.Name), float64(swap.Used), c.MemoryAt)
		}
	}
}

var cadvisorStalls = []struct {
	resource, label string
	of              func(usage.Pressure) *usage.Stalls
}{
	{"cpu", "CPU", func(p usage.Pressure) *usage.Stalls { return p.CPU }},
	{"memory", "memory", func(p usage.Pressure) *usage.Stalls { return p.Memory }},
	{"io", "IO", func(p usage.Pressure) *usage.Stalls { return p.IO }},
}

var cadvisorContainers = []struct {
	name, kind, help string
	of               func(c *usage.Container) (float64, time.Time)
}{
	{"container_cpu_usage_seconds_total", "counter", "CPU time that the container has used, in core-seconds.", func(c *usage.Container) (float64, time.Time) { return seconds9(c.CPU), c.CPUAt }},
	{"container_memory_working_set_bytes", "gauge", "Working set of the container, in bytes.", func(c *usage.Container) (float64, time.Time) { return float64(c.WorkingSet), c.MemoryAt }},
	{"container_memory_usage_bytes", "gauge", "Memory of the container, in bytes, with caches that could be given back.", func(c *usage.Container) (float64, time.Time) {
		return float64(c.MemoryUsage), c.MemoryAt
	}},
	{"container_memory_rss", "gauge", "Memory of the processes of the container that is no file, in bytes.", func(c *usage.Container) (float64, time.Time) { return float64(c.RSS), c.MemoryAt }},
	{"container_fs_usage_bytes", "gauge", "Bytes of the container's writable layer and logs.", func(c *usage.Container) (float64, time.Time) {
		return float64(c.Layer.Bytes + c.Logs.Bytes), time.Time{}
	}},
	{"container_start_time_seconds", "gauge", "When the container was made, in seconds since 1970.", func(c *usage.Container) (float64, time.Time) {
		return float64(c.Created.Unix()), time.Time{}
	}},
}

var cadvisorNetworks = []struct {
	name, help string
	of         func(n *usage.Network) uint64
}{
	{"container_network_receive_bytes_total", "Bytes that the pod has received.", func(n *usage.Network) uint64 { return n.RxBytes }},
	{"container_network_receive_errors_total", "Errors of the pod's interface while receiving.", func(n *usage.Network) uint64 { return n.RxErrors }},
	{"container_network_transmit_bytes_total", "Bytes that the pod has sent.", func(n *usage.Network) uint64 { return n.TxBytes }},
	{"container_network_transmit_errors_total", "Errors of the pod's interface while sending.", func(n *usage.Network) uint64 { return n.TxErrors }},
}
