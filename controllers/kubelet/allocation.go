package kubelet

import (
	"encoding/json"
	"iter"
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/placement"
)

// allocation is what a pod was given when it was let in, and by the resizes that were accepted since. It is
// kept in a checkpoint.
type allocation struct {
	// Pod are the resources of the pod as a whole; nil if its spec has none.
	Pod *corev1.ResourceRequirements `json:"pod,omitempty"`
	// Containers are those of init containers and containers, by name.
	Containers map[string]corev1.ResourceRequirements `json:"containers"`
	// Actuated are those that running containers were changed to after they had been made, by name.
	Actuated map[string]actuated `json:"actuated,omitempty"`
	// Grants are the devices of containers, by name.
	Grants map[string][]grant `json:"grants,omitempty"`
	// Placed are the CPUs and the memory that containers have for themselves; nil if none of them has any.
	Placed *placement.Given `json:"placed,omitempty"`
}

// actuated are the resources that one run of a container has.
type actuated struct {
	ID        string                      `json:"id"`
	Resources corev1.ResourceRequirements `json:"resources"`
}

// allocationOf is what a pod gets as its spec demands.
func allocationOf(pod *corev1.Pod) allocation {
	a := allocation{Pod: pod.Spec.Resources, Containers: map[string]corev1.ResourceRequirements{}}
	for c := range containersOf(pod) {
		a.Containers[c.Name] = c.Resources
	}
	return a
}

// apply returns the pod with the resources that it was given: pod itself if they are those of its spec.
func (a *allocation) apply(pod *corev1.Pod) *corev1.Pod {
	if a.meets(pod) {
		return pod
	}
	given := codec.DeepCopy(pod)
	if given.Spec.Resources != nil && a.Pod != nil {
		given.Spec.Resources = a.Pod
	}
	for c := range containersOf(given) {
		if r, ok := a.Containers[c.Name]; ok {
			c.Resources = r
		}
	}
	return given
}

// meets reports whether a pod was given what its spec demands.
func (a *allocation) meets(pod *corev1.Pod) bool {
	if pod.Spec.Resources != nil && a.Pod != nil && !sameResources(pod.Spec.Resources, a.Pod) {
		return false
	}
	for c := range containersOf(pod) {
		if r, ok := a.Containers[c.Name]; ok && !sameResources(&c.Resources, &r) {
			return false
		}
	}
	return true
}

// sameResources compares amounts, not how they are written.
func sameResources(a, b *corev1.ResourceRequirements) bool {
	for range differing(a, b) {
		return false
	}
	return true
}

// differing are the resources of which a and b have other requests or limits; some may come twice.
func differing(a, b *corev1.ResourceRequirements) iter.Seq[corev1.ResourceName] {
	return func(yield func(corev1.ResourceName) bool) {
		for _, pair := range [][2]corev1.ResourceList{{a.Requests, b.Requests}, {a.Limits, b.Limits}} {
			for _, list := range pair {
				for name := range list {
					x, inA := pair[0][name]
					y, inB := pair[1][name]
					if (inA != inB || x.Cmp(y) != 0) && !yield(name) {
						return
					}
				}
			}
		}
	}
}

// annotationResources keeps with a container the resources that it was made with, so that a kubelet without
// the pod's checkpoint knows them.
const annotationResources = "keelson.dev/resources"

// resourcesText is the value of annotationResources.
func resourcesText(r *corev1.ResourceRequirements) (string, error) {
	b, err := json.Marshal(r)
	return string(b), err
}

// madeWith returns the resources that a container was made with; false if it does not say.
func madeWith(run *container) (r corev1.ResourceRequirements, ok bool) {
	text := run.status.GetAnnotations()[annotationResources]
	return r, text != "" && json.Unmarshal([]byte(text), &r) == nil
}

// rebuilt is the allocation of a pod without a checkpoint: what its containers were made with, and what the
// spec demands of those that were not.
func rebuilt(pod *corev1.Pod, v *view) allocation {
	a := allocationOf(pod)
	if v == nil {
		return a
	}
	for name := range maps.Clone(a.Containers) {
		if run := v.latest(name); run != nil {
			if r, ok := madeWith(run); ok {
				a.Containers[name] = r
			}
		}
	}
	return a
}
