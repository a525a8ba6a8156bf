package quota

import (
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Which selects requests or limits of a container.
type Which func(*corev1.ResourceRequirements) corev1.ResourceList

// Requests selects the requests of a container.
func Requests(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }

// Limits selects the limits of a container.
func Limits(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }

// PodTotal returns the maximum a pod needs at one time: the larger of the sum of its containers and sidecars,
// and the need of its most demanding init container with the sidecars started before it; plus the overhead.
func PodTotal(pod *corev1.Pod, w Which) corev1.ResourceList {
	total := corev1.ResourceList{}
	for i := range pod.Spec.Containers {
		addResources(total, w(&pod.Spec.Containers[i].Resources))
	}
	sidecars := corev1.ResourceList{}
	peak := corev1.ResourceList{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		need := w(&c.Resources)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			addResources(sidecars, need)
			addResources(total, need)
			maxResources(peak, sidecars)
			continue
		}
		sum := corev1.ResourceList{}
		addResources(sum, sidecars)
		addResources(sum, need)
		maxResources(peak, sum)
	}
	maxResources(total, peak)
	if r := pod.Spec.Resources; r != nil {
		for name, q := range w(r) {
			total[name] = q
		}
	}
	// Overhead is no limit where there is none.
	over := corev1.ResourceRequirements{Requests: pod.Spec.Overhead, Limits: corev1.ResourceList{}}
	for name, q := range pod.Spec.Overhead {
		if limit := total[name]; !limit.IsZero() {
			over.Limits[name] = q
		}
	}
	addResources(total, w(&over))
	return total
}

// resized returns a pod whose containers and sidecars request, and are limited to, what counts while they are
// resized: the largest of the spec, of what the node has allocated and of what they have, or of the last two
// if the node has refused the resize. It is the pod itself if that is what its spec says.
func resized(pod *corev1.Pod) *corev1.Pod {
	refused := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizePending && c.Reason == corev1.PodReasonInfeasible
	})
	next := pod
	of := func(list func(*corev1.Pod) []corev1.Container, i int, statuses []corev1.ContainerStatus) {
		c := &list(pod)[i]
		at := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name && s.Resources != nil })
		if at < 0 {
			return
		}
		has := statuses[at].Resources
		requests, limits := largest(has.Requests, statuses[at].AllocatedResources), largest(has.Limits)
		if !refused {
			requests, limits = largest(c.Resources.Requests, requests), largest(c.Resources.Limits, limits)
		}
		if sameAmounts(requests, c.Resources.Requests) && sameAmounts(limits, c.Resources.Limits) {
			return
		}
		if next == pod {
			next = new(*pod)
			next.Spec.Containers, next.Spec.InitContainers = slices.Clone(pod.Spec.Containers), slices.Clone(pod.Spec.InitContainers)
		}
		list(next)[i].Resources.Requests, list(next)[i].Resources.Limits = requests, limits
	}
	for i := range pod.Spec.Containers {
		of(func(p *corev1.Pod) []corev1.Container { return p.Spec.Containers }, i, pod.Status.ContainerStatuses)
	}
	for i := range pod.Spec.InitContainers {
		if r := pod.Spec.InitContainers[i].RestartPolicy; r != nil && *r == corev1.ContainerRestartPolicyAlways {
			of(func(p *corev1.Pod) []corev1.Container { return p.Spec.InitContainers }, i, pod.Status.InitContainerStatuses)
		}
	}
	return next
}

// largest has the largest amount of each resource in the lists.
func largest(lists ...corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, list := range lists {
		maxResources(out, list)
	}
	return out
}

func sameAmounts(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

func addResources(to, more corev1.ResourceList) {
	for name, q := range more {
		sum := to[name]
		sum.Add(q)
		to[name] = sum
	}
}

func maxResources(to, other corev1.ResourceList) {
	for name, q := range other {
		if have, ok := to[name]; !ok || q.Cmp(have) > 0 {
			to[name] = q
		}
	}
}
