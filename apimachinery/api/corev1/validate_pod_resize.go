package corev1

import (
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidatePodResize checks a change through the resize subresource: cpu and memory of containers and of the
// pod may change but not go away, as long as the pod keeps its quality of service; nothing else may.
func ValidatePodResize(p, old *Pod) validation.ErrorList {
	var r check.Report
	r.Add(validatePodBody(p, podScope{pod: true}))
	spec := at("spec")
	if mirror := old.Annotations[MirrorPodAnnotationKey] != ""; mirror || old.Spec.OS != nil && old.Spec.OS.Name == Windows {
		kind := "windows"
		if mirror {
			kind = "static"
		}
		r.Forbidden(at(""), kind+" pods cannot be resized")
		return r.List()
	}
	was := old.Status.QOSClass
	if was == "" {
		was = QOSClass(old)
	}
	if now := QOSClass(p); now != was {
		r.Invalid(spec, now, "Pod QOS Class may not change as a result of resizing")
	}
	r.ForbidIf(!reportsResources(old), spec, "Pod running on node without support for resize")
	r.ForbidIf(len(old.Status.NodeAllocatableResourceClaimStatuses) > 0, spec, "pods with node allocatable resource claims cannot be resized")
	rest := p.Spec
	rest.Resources = checkPodLevelResize(&r, p, old)
	if !sameContainers(&r, "containers", p.Spec.Containers, old.Spec.Containers) || !sameContainers(&r, "initContainers", p.Spec.InitContainers, old.Spec.InitContainers) {
		return r.List()
	}
	checkContainersResize(&r, spec.Child("containers"), p.Spec.Containers, old.Spec.Containers)
	checkContainersResize(&r, spec.Child("initContainers"), p.Spec.InitContainers, old.Spec.InitContainers)
	for i := range p.Spec.InitContainers {
		now, before := &p.Spec.InitContainers[i], &old.Spec.InitContainers[i]
		if sidecar := now.RestartPolicy != nil && *now.RestartPolicy == ContainerRestartPolicyAlways; sidecar || check.Same(*now, *before) {
			continue
		}
		restarts := slices.ContainsFunc(now.ResizePolicy, func(p ContainerResizePolicy) bool { return p.RestartPolicy == RestartContainer })
		r.ForbidIf(restarts, spec.Child("initContainers").Index(i), "non-sidecar init containers with a resize policy of RestartContainer cannot be resized")
	}
	rest.Containers = withResourcesOf(rest.Containers, old.Spec.Containers)
	rest.InitContainers = withResourcesOf(rest.InitContainers, old.Spec.InitContainers)
	r.ForbidIf(!check.Same(rest, old.Spec), spec, "only cpu and memory resources are mutable")
	return r.List()
}

// reportsResources reports whether the node of a pod supports resizing, which shows in the resources that it
// reports of the first container that runs. Before a container runs there is nothing that speaks against it.
func reportsResources(p *Pod) bool {
	for i := range p.Status.ContainerStatuses {
		if c := &p.Status.ContainerStatuses[i]; c.State.Running != nil {
			return c.Resources != nil
		}
	}
	return true
}

// sameContainers refuses containers that were added, removed, renamed or put in another order.
func sameContainers(r *check.Report, field string, now, was []Container) bool {
	p := at("spec", field)
	if len(now) != len(was) {
		r.Forbidden(p, field+" may not be added or removed on resize")
		return false
	}
	same := true
	for i := range now {
		if now[i].Name != was[i].Name {
			r.Forbidden(p.Index(i).Child("name"), field+" may not be renamed or reordered on resize")
			same = false
		}
	}
	return same
}

// checkPodLevelResize checks the resources of the pod as a whole. It returns the
// resources before the change, for the comparison of the rest of the pod.
func checkPodLevelResize(r *check.Report, p, old *Pod) *ResourceRequirements {
	now, was, q := p.Spec.Resources, old.Spec.Resources, at("spec", "resources")
	if now == nil {
		r.ForbidIf(was != nil && len(was.Requests)+len(was.Limits) > 0, q, "pod-level resources cannot be removed")
		return was
	}
	if was == nil {
		was = &ResourceRequirements{}
	}
	r.ForbidIf(removed(now.Requests, was.Requests), q.Child("requests"), "pod-level resource requests cannot be removed")
	r.ForbidIf(removed(now.Limits, was.Limits), q.Child("limits"), "pod-level resource limits cannot be removed")
	rest := *now
	rest.Requests, rest.Limits = resized(now.Requests, was.Requests), resized(now.Limits, was.Limits)
	if !check.Same(rest, *was) {
		r.Forbidden(at("spec"), "only cpu and memory resources are mutable at pod-level")
	}
	return old.Spec.Resources
}

func checkContainersResize(r *check.Report, p *path, now, was []Container) {
	for i := range now {
		q := p.Index(i).Child("resources")
		r.ForbidIf(removed(now[i].Resources.Requests, was[i].Resources.Requests), q.Child("requests"), "resource requests cannot be removed")
		r.ForbidIf(removed(now[i].Resources.Limits, was[i].Resources.Limits), q.Child("limits"), "resource limits cannot be removed")
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
