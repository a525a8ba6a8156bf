package quota

import "github.com/keelson-dev/keelson/apimachinery/api/corev1"

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
	addResources(total, pod.Spec.Overhead)
	return total
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
