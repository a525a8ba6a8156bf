package corev1

import (
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidatePodResize checks a change through the resize subresource: cpu and memory of containers, init
// containers and the pod as a whole may change but not go away, as long as the pod keeps its quality of
// service; nothing else may. Static pods, Windows pods, pods on a node that does not resize, and those with
// claims for resources of the node are not resized.
func ValidatePodResize(p, old *Pod) validation.ErrorList {
	var r check.Report
	r.Add(validatePodBody(p, podScope{pod: true}))
	switch {
	case old.Annotations[MirrorPodAnnotationKey] != "":
		return validation.ErrorList{validation.Forbidden(at("[]"), "static pods cannot be resized")}
	case old.Spec.OS != nil && old.Spec.OS.Name == Windows:
		return validation.ErrorList{validation.Forbidden(at("[]"), "windows pods cannot be resized")}
	}
	spec := at("spec")
	if QOSClass(p) != QOSClass(old) {
		r.Invalid(spec, old.Status.QOSClass, "Pod QOS Class may not change as a result of resizing")
	}
	r.ForbidIf(!nodeResizes(old), spec, "Pod running on node without support for resize")
	rest := p.Spec
	rest.Resources = resizePodResources(&r, p.Spec.Resources, old.Spec.Resources, spec)
	r.ForbidIf(len(old.Status.NodeAllocatableResourceClaimStatuses) > 0, spec, "pods with node allocatable resource claims cannot be resized")
	before := len(r.List())
	checkResizeNames(&r, p.Spec.Containers, old.Spec.Containers, spec, "containers")
	checkResizeNames(&r, p.Spec.InitContainers, old.Spec.InitContainers, spec, "initContainers")
	if len(r.List()) > before {
		return r.List()
	}
	checkResizeKeeps(&r, p.Spec.InitContainers, old.Spec.InitContainers, spec.Child("initContainers"))
	checkResizeKeeps(&r, p.Spec.Containers, old.Spec.Containers, spec.Child("containers"))
	rest.Containers = withResourcesOf(rest.Containers, old.Spec.Containers)
	rest.InitContainers = withResourcesOf(rest.InitContainers, old.Spec.InitContainers)
	for i := range rest.Containers {
		r.ForbidIf(!check.Same(rest.Containers[i], old.Spec.Containers[i]), spec, "only cpu and memory resources are mutable")
	}
	for i := range rest.InitContainers {
		was, q := old.Spec.InitContainers[i], spec.Child("initContainers").Index(i)
		r.ForbidIf(!check.Same(rest.InitContainers[i], was), q, "only cpu and memory resources for init or sidecar containers are mutable")
		sidecar := was.RestartPolicy != nil && *was.RestartPolicy == ContainerRestartPolicyAlways
		if sidecar || check.Same(p.Spec.InitContainers[i], was) {
			continue
		}
		for _, policy := range rest.InitContainers[i].ResizePolicy {
			r.ForbidIf(policy.RestartPolicy == RestartContainer, q, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized")
		}
	}
	r.ForbidIf(r.OK() && !check.Same(rest, old.Spec), spec, "only cpu and memory resources are mutable")
	return r.List()
}

// nodeResizes reports whether the first running container has resources in its status, which every node
// that resizes sets. It is true if none runs.
func nodeResizes(p *Pod) bool {
	for i := range p.Status.ContainerStatuses {
		if s := &p.Status.ContainerStatuses[i]; s.State.Running != nil {
			return s.Resources != nil
		}
	}
	return true
}

// resizePodResources checks the resources of a pod as a whole, and returns now with cpu and memory as in was.
func resizePodResources(r *check.Report, now, was *ResourceRequirements, spec *path) *ResourceRequirements {
	if now == nil {
		r.ForbidIf(was != nil && len(was.Requests)+len(was.Limits) > 0, spec.Child("resources"), "pod-level resources cannot be removed")
		return was
	}
	var before ResourceRequirements
	if was != nil {
		before = *was
	}
	q := spec.Child("resources")
	r.ForbidIf(removed(now.Requests, before.Requests), q.Child("requests"), "pod-level resource requests cannot be removed")
	r.ForbidIf(removed(now.Limits, before.Limits), q.Child("limits"), "pod-level resource limits cannot be removed")
	out := *now
	out.Requests, out.Limits = resized(now.Requests, before.Requests), resized(now.Limits, before.Limits)
	r.ForbidIf(!check.Same(out, before), spec, "only cpu and memory resources are mutable at pod-level")
	return was
}

// checkResizeNames refuses containers that are added, removed, renamed or in another order.
func checkResizeNames(r *check.Report, now, was []Container, spec *path, field string) {
	if len(now) != len(was) {
		r.Forbidden(spec.Child(field), field+" may not be added or removed on resize")
		return
	}
	for i := range was {
		r.ForbidIf(now[i].Name != was[i].Name, spec.Child(field).Index(i).Child("name"), field+" may not be renamed or reordered on resize")
	}
}

// checkResizeKeeps refuses containers that lack a request or a limit they had.
func checkResizeKeeps(r *check.Report, now, was []Container, list *path) {
	for i := range now {
		now, was, q := &now[i].Resources, &was[i].Resources, list.Index(i).Child("resources")
		r.ForbidIf(removed(now.Requests, was.Requests), q.Child("requests"), "resource requests cannot be removed")
		r.ForbidIf(removed(now.Limits, was.Limits), q.Child("limits"), "resource limits cannot be removed")
	}
}

// removed reports whether now lacks something that was has.
func removed(now, was ResourceList) bool {
	for name := range was {
		if _, ok := now[name]; !ok {
			return true
		}
	}
	return false
}

func withResourcesOf(now, was []Container) []Container {
	out := slices.Clone(now)
	for i := range out {
		a, b := out[i].Resources, was[i].Resources
		a.Requests, a.Limits = resized(a.Requests, b.Requests), resized(a.Limits, b.Limits)
		out[i].Resources = a
	}
	return out
}

// resized is now with cpu and memory as in was.
func resized(now, was ResourceList) ResourceList {
	out := maps.Clone(now)
	for _, name := range []ResourceName{ResourceCPU, ResourceMemory} {
		delete(out, name)
		if q, ok := was[name]; ok {
			if out == nil {
				out = ResourceList{}
			}
			out[name] = q
		}
	}
	return out
}

// QOSClass is the quality of service a pod gets: Guaranteed if every container's requests equal its limits
// for cpu and memory, BestEffort if there are no requests or limits, else Burstable.
func QOSClass(p *Pod) PodQOSClass {
	type need struct{ requests, limits ResourceList }
	var needs []need
	if res := p.Spec.Resources; res != nil && len(res.Requests)+len(res.Limits) > 0 {
		needs = []need{{res.Requests, res.Limits}}
	} else {
		for _, list := range [][]Container{p.Spec.Containers, p.Spec.InitContainers} {
			for i := range list {
				needs = append(needs, need{list[i].Resources.Requests, list[i].Resources.Limits})
			}
		}
	}
	asked, guaranteed := false, true
	for _, n := range needs {
		for _, name := range []ResourceName{ResourceCPU, ResourceMemory} {
			request, limit := n.requests[name], n.limits[name]
			asked = asked || request.Sign() > 0 || limit.Sign() > 0
			guaranteed = guaranteed && limit.Sign() > 0 && (request.IsZero() || request.Equal(limit))
		}
	}
	switch {
	case !asked:
		return PodQOSBestEffort
	case guaranteed:
		return PodQOSGuaranteed
	}
	return PodQOSBurstable
}
