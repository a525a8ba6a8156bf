package naive

import (
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// amounts are resource quantities in base units: CPU in thousandths, the rest in units.
type amounts struct {
	cpu, memory, ephemeral int64
	// others are extended resources; nil when there are none. Never written after it was shared.
	others map[corev1.ResourceName]int64
}

func amountsOf(list corev1.ResourceList) (a amounts) {
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			a.cpu = q.MilliValue()
		case corev1.ResourceMemory:
			a.memory = q.Value()
		case corev1.ResourceEphemeralStorage:
			a.ephemeral = q.Value()
		case corev1.ResourcePods:
		default:
			if a.others == nil {
				a.others = map[corev1.ResourceName]int64{}
			}
			a.others[name] = q.Value()
		}
	}
	return a
}

func (a *amounts) add(b *amounts, sign int64) {
	a.cpu += sign * b.cpu
	a.memory += sign * b.memory
	a.ephemeral += sign * b.ephemeral
	if b.others == nil {
		return
	}
	// Shared maps are not written: the sum gets its own.
	sum := maps.Clone(a.others)
	if sum == nil {
		sum = map[corev1.ResourceName]int64{}
	}
	for name, v := range b.others {
		if sum[name] += sign * v; sum[name] == 0 {
			delete(sum, name)
		}
	}
	a.others = sum
}

func (a *amounts) raise(b amounts) {
	a.cpu, a.memory, a.ephemeral = max(a.cpu, b.cpu), max(a.memory, b.memory), max(a.ephemeral, b.ephemeral)
	for name, v := range b.others {
		if a.others[name] < v {
			if a.others == nil {
				a.others = map[corev1.ResourceName]int64{}
			}
			a.others[name] = v
		}
	}
}

// The requests that are assumed for a container without any when nodes are scored, so that such pods spread
// too.
const (
	defaultMilliCPU = 100
	defaultMemory   = 200 << 20
)

// requestOf is what a pod needs at most at one time: its containers and sidecars together, or an init
// container beside the sidecars started before it; plus overhead. nonZero is the same with defaults for
// containers that request nothing.
func requestOf(pod *corev1.Pod) (need, nonZero amounts) {
	total := func(zero bool) amounts {
		sum, sidecars, peak := amounts{}, amounts{}, amounts{}
		of := func(c *corev1.Container) amounts {
			a := amountsOf(c.Resources.Requests)
			if zero {
				if _, ok := c.Resources.Requests[corev1.ResourceCPU]; !ok {
					a.cpu = defaultMilliCPU
				}
				if _, ok := c.Resources.Requests[corev1.ResourceMemory]; !ok {
					a.memory = defaultMemory
				}
			}
			return a
		}
		for i := range pod.Spec.Containers {
			a := of(&pod.Spec.Containers[i])
			sum.add(&a, 1)
		}
		for i := range pod.Spec.InitContainers {
			c := &pod.Spec.InitContainers[i]
			a := of(c)
			if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
				sidecars.add(&a, 1)
				sum.add(&a, 1)
				peak.raise(sidecars)
				continue
			}
			a.add(&sidecars, 1)
			peak.raise(a)
		}
		sum.raise(peak)
		if r := pod.Spec.Resources; r != nil {
			sum.replace(r.Requests)
		}
		over := amountsOf(pod.Spec.Overhead)
		sum.add(&over, 1)
		return sum
	}
	return total(false), total(true)
}

func podsAllowed(list corev1.ResourceList) int {
	q, ok := list[corev1.ResourcePods]
	if !ok {
		return 110
	}
	return int(q.Value())
}

// replace takes in the requests of a whole pod, which win over the sum of its containers.
func (a *amounts) replace(list corev1.ResourceList) {
	whole := amountsOf(list)
	for name := range list {
		switch name {
		case corev1.ResourceCPU:
			a.cpu = whole.cpu
		case corev1.ResourceMemory:
			a.memory = whole.memory
		}
	}
	if len(whole.others) == 0 {
		return
	}
	sum := maps.Clone(a.others)
	if sum == nil {
		sum = map[corev1.ResourceName]int64{}
	}
	maps.Copy(sum, whole.others)
	a.others = sum
}

func priorityOf(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
