package scheduler

import (
	"maps"
	"strings"

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
// container beside the sidecars started before it; plus overhead. While a pod on a node is resized, the
// larger of what it requests, was allocated and has counts. nonZero is the same with defaults for containers
// that request nothing; if the pod as a whole requests something, only for what it does not request at all.
func requestOf(pod *corev1.Pod) (need, nonZero amounts) {
	need = sumOf(pod, false, false)
	whole := wholeRequests(pod)
	return need, sumOf(pod, !whole || need.cpu == 0, !whole || need.memory == 0)
}

// sumOf adds up the requests of a pod, with defaults for containers without a request of CPU or memory.
func sumOf(pod *corev1.Pod, fillCPU, fillMemory bool) amounts {
	sum := sumOfContainers(pod, fillCPU, fillMemory)
	if !wholeRequests(pod) {
		return sum
	}
	over := amountsOf(pod.Spec.Overhead)
	sum.add(&over, -1)
	list := pod.Spec.Resources.Requests
	if st := pod.Status.Resources; st != nil && pod.Spec.NodeName != "" {
		list = largest(infeasible(pod), list, st.Requests, pod.Status.AllocatedResources)
	}
	sum.replace(list, pod.Spec.Resources.Requests)
	sum.add(&over, 1)
	return sum
}

// sumOfContainers is sumOf whatever the pod as a whole requests.
func sumOfContainers(pod *corev1.Pod, fillCPU, fillMemory bool) (sum amounts) {
	var sidecars, peak amounts
	placed := pod.Spec.NodeName != "" // others have no status that counts
	of := func(c *corev1.Container, statuses []corev1.ContainerStatus) amounts {
		if !placed {
			statuses = nil
		}
		list := effective(pod, c, statuses)
		a := amountsOf(list)
		if _, ok := list[corev1.ResourceCPU]; !ok && fillCPU {
			a.cpu = defaultMilliCPU
		}
		if _, ok := list[corev1.ResourceMemory]; !ok && fillMemory {
			a.memory = defaultMemory
		}
		return a
	}
	for i := range pod.Spec.Containers {
		a := of(&pod.Spec.Containers[i], pod.Status.ContainerStatuses)
		sum.add(&a, 1)
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			a := of(c, pod.Status.InitContainerStatuses)
			sidecars.add(&a, 1)
			sum.add(&a, 1)
			peak.raise(sidecars)
			continue
		}
		a := of(c, nil)
		a.add(&sidecars, 1)
		peak.raise(a)
	}
	sum.raise(peak)
	over := amountsOf(pod.Spec.Overhead)
	sum.add(&over, 1)
	return sum
}

// wholeRequests reports whether the requests of the pod as a whole are set.
func wholeRequests(pod *corev1.Pod) bool {
	if pod.Spec.Resources == nil {
		return false
	}
	for name := range pod.Spec.Resources.Requests {
		if ofWholePods(name) {
			return true
		}
	}
	return false
}

// ofWholePods reports whether a pod as a whole can request a resource.
func ofWholePods(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// effective are the requests of a container that count: those of its status too if they differ.
func effective(pod *corev1.Pod, c *corev1.Container, statuses []corev1.ContainerStatus) corev1.ResourceList {
	for i := range statuses {
		if st := &statuses[i]; st.Name == c.Name && st.Resources != nil {
			return largest(infeasible(pod), c.Resources.Requests, st.Resources.Requests, st.AllocatedResources)
		}
	}
	return c.Resources.Requests
}

// infeasible reports whether the node has refused to resize the pod.
func infeasible(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodResizePending {
			return c.Reason == corev1.PodReasonInfeasible
		}
	}
	return false
}

// largest has the largest amounts of the lists; of the first only those that the others have too if a resize
// to it was refused.
func largest(refused bool, spec, actuated, allocated corev1.ResourceList) corev1.ResourceList {
	lists := []corev1.ResourceList{spec, actuated, allocated}
	if refused {
		lists = lists[1:]
	}
	out := corev1.ResourceList{}
	for _, list := range lists {
		for name, q := range list {
			if have, ok := out[name]; !ok || q.Cmp(have) > 0 {
				out[name] = q
			}
		}
	}
	return out
}

func podsAllowed(list corev1.ResourceList) int {
	q, ok := list[corev1.ResourcePods]
	if !ok {
		return 110
	}
	return int(q.Value())
}

// replace takes in the requests of a whole pod, which win over the sum of its containers. names are those
// that it requests.
func (a *amounts) replace(list, names corev1.ResourceList) {
	whole := amountsOf(list)
	var others map[corev1.ResourceName]int64
	for name := range names {
		switch {
		case name == corev1.ResourceCPU:
			a.cpu = whole.cpu
		case name == corev1.ResourceMemory:
			a.memory = whole.memory
		case ofWholePods(name):
			if others == nil {
				others = map[corev1.ResourceName]int64{}
				maps.Copy(others, a.others)
			}
			others[name] = whole.others[name]
		}
	}
	if others != nil {
		a.others = others
	}
}

// of returns the amount of one resource.
func (a *amounts) of(name corev1.ResourceName) int64 {
	switch name {
	case corev1.ResourceCPU:
		return a.cpu
	case corev1.ResourceMemory:
		return a.memory
	case corev1.ResourceEphemeralStorage:
		return a.ephemeral
	}
	return a.others[name]
}
