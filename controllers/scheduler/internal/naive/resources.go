package naive

import (
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
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

// The requests that are assumed for a container without any when nodes are scored.
var defaults = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("200Mi")}

// requestOf is what a pod needs at most at one time; what it is taken to need on its node when nodes are
// scored; and what itself is taken to need then, which leaves out what the pod as a whole requests, as
// kube-scheduler 1.36 does. It adds up the lists of the API as they are, and shares nothing with the
// scheduler.
func requestOf(pod *corev1.Pod) (need, nonZero, asked amounts) {
	need = amountsOf(total(pod, nil))
	fill := maps.Clone(defaults)
	if len(whole(pod)) > 0 {
		// The pod as a whole requests something: what it leaves out is filled in only if no container has it.
		if need.cpu > 0 {
			delete(fill, corev1.ResourceCPU)
		}
		if need.memory > 0 {
			delete(fill, corev1.ResourceMemory)
		}
	}
	return need, amountsOf(total(pod, fill)), amountsOf(plus(ofContainers(pod, defaults), pod.Spec.Overhead))
}

// total is the sum of the containers, in the place of which is what the pod as a whole requests, and its
// overhead.
func total(pod *corev1.Pod, fill corev1.ResourceList) corev1.ResourceList {
	own := whole(pod)
	if st := pod.Status.Resources; len(own) > 0 && st != nil && pod.Spec.NodeName != "" {
		counted := counting(pod, pod.Spec.Resources.Requests, st.Requests, pod.Status.AllocatedResources)
		for name := range own {
			own[name] = counted[name]
		}
	}
	return plus(union(ofContainers(pod, fill), own), pod.Spec.Overhead)
}

// ofContainers is the largest sum of what runs at the same time, with fill for what containers leave out.
func ofContainers(pod *corev1.Pod, fill corev1.ResourceList) corev1.ResourceList {
	request := func(c *corev1.Container, statuses []corev1.ContainerStatus) corev1.ResourceList {
		list := maps.Clone(fill)
		at := slices.IndexFunc(statuses, func(st corev1.ContainerStatus) bool { return st.Name == c.Name && st.Resources != nil })
		if at < 0 || pod.Spec.NodeName == "" {
			return union(list, c.Resources.Requests)
		}
		return union(list, counting(pod, c.Resources.Requests, statuses[at].Resources.Requests, statuses[at].AllocatedResources))
	}
	var moments []corev1.ResourceList
	var sidecars corev1.ResourceList
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars = plus(sidecars, request(c, pod.Status.InitContainerStatuses))
		} else {
			moments = append(moments, plus(sidecars, request(c, nil)))
		}
	}
	for i := range pod.Spec.Containers {
		sidecars = plus(sidecars, request(&pod.Spec.Containers[i], pod.Status.ContainerStatuses))
	}
	return most(append(moments, sidecars)...)
}

// whole are the requests of the pod as a whole, of the resources that have such.
func whole(pod *corev1.Pod) corev1.ResourceList {
	own := corev1.ResourceList{}
	if pod.Spec.Resources != nil {
		for name, q := range pod.Spec.Resources.Requests {
			if name == corev1.ResourceCPU || name == corev1.ResourceMemory || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
				own[name] = q
			}
		}
	}
	return own
}

// counting is the most of what a container or pod on a node requests, has and was allocated; a request that
// the node has refused does not count.
func counting(pod *corev1.Pod, requests, has, allocated corev1.ResourceList) corev1.ResourceList {
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodResizePending })
	if at >= 0 && pod.Status.Conditions[at].Reason == corev1.PodReasonInfeasible {
		return most(has, allocated)
	}
	return most(requests, has, allocated)
}

// union has the amounts of both lists; those of the second win.
func union(a, b corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// plus is the sum of two lists.
func plus(a, b corev1.ResourceList) corev1.ResourceList {
	out := union(nil, a)
	for name, q := range b {
		sum := out[name].DeepCopy()
		sum.Add(q)
		out[name] = sum
	}
	return out
}

// most has the largest amount of each resource.
func most(lists ...corev1.ResourceList) corev1.ResourceList {
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

func priorityOf(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
