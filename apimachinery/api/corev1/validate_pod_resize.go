package corev1

import (
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidatePodResize checks a change through the resize subresource: cpu and memory of containers may
// change but not go away, as long as the pod keeps its quality of service; nothing else may.
func ValidatePodResize(p, old *Pod) validation.ErrorList {
	var r check.Report
	r.Add(validatePodBody(p, podScope{pod: true}))
	spec := at("spec")
	if was := QOSClass(old); QOSClass(p) != was {
		r.Invalid(spec, was, "Pod QOS Class may not change as a result of resizing")
	}
	if len(p.Spec.Containers) != len(old.Spec.Containers) || len(p.Spec.InitContainers) != len(old.Spec.InitContainers) {
		r.Forbidden(spec, "containers may not be added or removed")
		return r.List()
	}
	for _, l := range []struct {
		path     *path
		now, was []Container
	}{{spec.Child("containers"), p.Spec.Containers, old.Spec.Containers}, {spec.Child("initContainers"), p.Spec.InitContainers, old.Spec.InitContainers}} {
		for i := range l.now {
			now, was, q := &l.now[i].Resources, &l.was[i].Resources, l.path.Index(i).Child("resources")
			r.ForbidIf(removed(now.Requests, was.Requests), q.Child("requests"), "resource requests cannot be removed")
			r.ForbidIf(removed(now.Limits, was.Limits), q.Child("limits"), "resource limits cannot be removed")
		}
	}
	rest := p.Spec
	rest.Containers = withResourcesOf(rest.Containers, old.Spec.Containers)
	rest.InitContainers = withResourcesOf(rest.InitContainers, old.Spec.InitContainers)
	r.ForbidIf(!check.Same(rest, old.Spec), spec, "only cpu and memory resources are mutable")
	return r.List()
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
		out[i].Resources, out[i].ResizePolicy = a, was[i].ResizePolicy
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
