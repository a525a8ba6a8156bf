package kubelet

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/eviction"
)

// limits converts resources of the API to those of the kernel.
type limits struct {
	capacity corev1.ResourceList
	// period is that of CPU quotas, in microseconds; 0 if CPU limits are not enforced.
	period int64
	// v2 is true with cgroup v2, where swap has a limit of its own. swapLimits is true if the kernel limits
	// swap. swaps is true if burstable pods may use swap; swap is what they share, in bytes; 0 if the machine
	// has none.
	v2, swapLimits, swaps bool
	swap                  int64
	// together is true if all processes of a container end when it is out of memory.
	together bool
	// qos is nil unless memory is protected. allocatable is what all pods share.
	qos         *MemoryQoS
	allocatable func() corev1.ResourceList
	placer      *placer // nil if no container has CPUs or memory for itself
}

func newLimits(opts Options, v2, swapLimits bool) *limits {
	l := &limits{capacity: opts.Capacity, period: opts.CPUQuotaPeriod.Microseconds(), v2: v2, swapLimits: swapLimits, qos: opts.MemoryQoS,
		together: v2 && (opts.SingleProcessOOMKill == nil || !*opts.SingleProcessOOMKill)}
	if opts.NoCPUQuota {
		l.period = 0
	}
	if opts.LimitedSwap && v2 && swapLimits {
		l.swaps, l.swap = true, swapTotal()
	}
	return l
}

// limitsSwap reports whether the kernel limits the swap of groups, which are below root: with version 2 the
// group of this process has a file for it, unless it is the root of all. self is what the kernel says of the
// process's groups.
func limitsSwap(root, self string, v2 bool) bool {
	path := filepath.Join(root, "memory/memory.memsw.limit_in_bytes")
	if v2 {
		path = root
		groups, err := os.ReadFile(self)
		if err != nil {
			return false
		}
		for line := range strings.Lines(string(groups)) {
			if group, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
				path = filepath.Join(root, group)
			}
		}
		path = filepath.Join(path, "memory.swap.max")
	}
	_, err := os.Stat(path)
	return err == nil
}

// The kernel's units of CPU time.
const (
	sharesPerCPU = 1024
	minShares    = 2
	maxShares    = 262144
	minQuota     = 1000 // microseconds

	defaultQuotaPeriod = 100 * time.Millisecond
)

func shares(milli int64) int64 {
	if milli <= 0 {
		return minShares
	}
	return min(max(milli*sharesPerCPU/1000, minShares), maxShares)
}

// quota is the CPU time in each period, both in microseconds.
func quota(milli, period int64) int64 {
	if milli <= 0 {
		return 0
	}
	return max(milli*period/1000, minQuota)
}

func amount(l corev1.ResourceList, name corev1.ResourceName) (resource.Quantity, bool) {
	q, ok := l[name]
	return q, ok && !q.IsZero()
}

// container returns the resources of a container. A limit that it does not have is none at all, since an
// earlier one may be taken away.
func (l *limits) container(pod *corev1.Pod, c *corev1.Container) *cri.LinuxContainerResources {
	r := &cri.LinuxContainerResources{OomScoreAdj: oomScoreAdj(pod, c, l.capacity), HugepageLimits: hugePageLimits(c, l.capacity)}
	cpu, requested := amount(c.Resources.Requests, corev1.ResourceCPU)
	limit, limited := amount(c.Resources.Limits, corev1.ResourceCPU)
	if !requested && limited {
		cpu = limit
	}
	r.CpuShares = shares(cpu.MilliValue())
	if limited && l.period > 0 {
		r.CpuPeriod, r.CpuQuota = l.period, quota(limit.MilliValue(), l.period)
	}
	if memory, ok := amount(c.Resources.Limits, corev1.ResourceMemory); ok {
		r.MemoryLimitInBytes = memory.Value()
	}
	if l.v2 {
		r.Unified = map[string]string{}
	}
	if l.swapLimits {
		swap := l.swapOf(pod, c)
		if r.MemoryLimitInBytes > 0 {
			r.MemorySwapLimitInBytes = r.MemoryLimitInBytes + swap
		}
		if l.v2 {
			r.Unified["memory.swap.max"] = strconv.FormatInt(swap, 10)
		}
	}
	if l.together {
		r.Unified["memory.oom.group"] = "1"
	}
	maps.Copy(r.Unified, l.protected(pod, c)) // both are empty on version 1
	return l.placer.pin(r, pod.UID, c.Name)
}

// maySwap reports whether a container is one of those that may use swap: burstable ones that may use more
// memory than they request.
func (l *limits) maySwap(pod *corev1.Pod, c *corev1.Container) bool {
	if !l.swaps || corev1.QOSClass(pod) != corev1.PodQOSBurstable || eviction.Critical(pod) {
		return false
	}
	request := c.Resources.Requests[corev1.ResourceMemory]
	return request.Cmp(c.Resources.Limits[corev1.ResourceMemory]) != 0
}

// swapOf is how much swap a container may use, in bytes, in proportion to its request.
func (l *limits) swapOf(pod *corev1.Pod, c *corev1.Container) int64 {
	request, all := c.Resources.Requests[corev1.ResourceMemory], l.capacity[corev1.ResourceMemory]
	if all.IsZero() || !l.maySwap(pod, c) {
		return 0
	}
	return int64(float64(request.Value()) / float64(all.Value()) * float64(l.swap))
}

// overhead returns those of the sandbox itself, which gets no more than it is sure of.
func (l *limits) overhead(pod *corev1.Pod) *cri.LinuxContainerResources {
	r := &cri.LinuxContainerResources{}
	if pod.Spec.Overhead == nil {
		return r
	}
	cpu, memory := pod.Spec.Overhead[corev1.ResourceCPU], pod.Spec.Overhead[corev1.ResourceMemory]
	r.CpuShares, r.MemoryLimitInBytes = shares(cpu.MilliValue()), memory.Value()
	if q := quota(cpu.MilliValue(), l.period); q > 0 && l.period > 0 {
		r.CpuPeriod, r.CpuQuota = l.period, q
	}
	return r
}

// pod returns those of all containers together.
func (l *limits) pod(pod *corev1.Pod) *cri.LinuxContainerResources {
	total := workTotals(pod)
	r := &cri.LinuxContainerResources{CpuShares: shares(total.cpuRequest)}
	if total.cpuLimited && l.period > 0 && !l.placer.pinnedPod(pod.UID) {
		r.CpuPeriod, r.CpuQuota = l.period, quota(total.cpuLimit, l.period)
	}
	if total.memoryLimited {
		r.MemoryLimitInBytes = total.memoryLimit
	}
	return r
}
