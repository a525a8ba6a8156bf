package corev1

import (
	"maps"
	"math"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidatePodUpdate checks a change of a pod. Of its spec only images, a shorter deadline, added
// tolerations and removed scheduling gates may differ; the node selector and the required node affinity of a
// gated pod may also become stricter.
func ValidatePodUpdate(p, old *Pod) validation.ErrorList {
	var r check.Report
	r.Add(validatePodBody(p, podScope{pod: true}))
	spec := at("spec")
	images := func(field string, now, was []Container) bool {
		q := spec.Child(field)
		if len(now) != len(was) {
			r.Forbidden(q, "pod updates may not add or remove containers")
			return false
		}
		for i := range now {
			if now[i].Image == "" {
				r.Required(q.Index(i).Child("image"), "")
			}
		}
		return true
	}
	if !images("containers", p.Spec.Containers, old.Spec.Containers) ||
		!images("initContainers", p.Spec.InitContainers, old.Spec.InitContainers) {
		return r.List()
	}
	deadline := spec.Child("activeDeadlineSeconds")
	switch now, was := p.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds; {
	case now == nil && was != nil:
		r.Invalid(deadline, now, "must not update from a positive integer to nil value")
	case now == nil:
	case *now < 0 || *now > math.MaxInt32:
		r.Each(deadline, *now, validation.IsInRange(*now, 0, math.MaxInt32))
		return r.List()
	case was != nil && *was < *now:
		r.Invalid(deadline, *now, "must be less than or equal to previous value")
		return r.List()
	}
	r.Add(validateAddedTolerations(p.Spec.Tolerations, old.Spec.Tolerations, spec.Child("tolerations")))
	r.Add(validateRemovedGates(p.Spec.SchedulingGates, old.Spec.SchedulingGates, spec.Child("schedulingGates")))

	rest := p.Spec // compared once all that may change is as it was
	rest.Containers = withImagesOf(rest.Containers, old.Spec.Containers)
	rest.InitContainers = withImagesOf(rest.InitContainers, old.Spec.InitContainers)
	rest.ActiveDeadlineSeconds = old.Spec.ActiveDeadlineSeconds
	rest.Tolerations, rest.SchedulingGates = old.Spec.Tolerations, old.Spec.SchedulingGates
	if g := old.Spec.TerminationGracePeriodSeconds; g != nil && *g < 0 {
		if now := rest.TerminationGracePeriodSeconds; now != nil && *now == 1 {
			rest.TerminationGracePeriodSeconds = g // an old negative period may be repaired
		}
	}
	if len(old.Spec.SchedulingGates) > 0 {
		r.Add(narrowed(&rest, &old.Spec, spec))
	}
	r.ForbidIf(!check.Same(rest, old.Spec), spec, "pod updates may not change fields other than `spec.containers[*].image`, "+
		"`spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations), "+
		"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)")
	return r.List()
}

func withImagesOf(now, was []Container) []Container {
	out := slices.Clone(now)
	for i := range out {
		out[i].Image = was[i].Image
	}
	return out
}

func validateAddedTolerations(now, was []Toleration, p *path) validation.ErrorList {
	for _, o := range was {
		kept := slices.ContainsFunc(now, func(n Toleration) bool {
			// The time a taint is tolerated may be changed.
			n.TolerationSeconds = o.TolerationSeconds
			return check.Same(n, o)
		})
		if !kept {
			return validation.ErrorList{validation.Forbidden(p, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return nil
}

func validateRemovedGates(now, was []PodSchedulingGate, p *path) validation.ErrorList {
	var r check.Report
	for i, g := range now {
		r.ForbidIf(!slices.Contains(was, g), p.Index(i), "only deletion is allowed, but found new scheduling gate '"+g.Name+"'")
	}
	return r.List()
}

// narrowed checks that a gated pod's node selector and required node affinity only become stricter, and
// copies those fields from old to now so that the comparison that follows ignores them.
func narrowed(now, old *PodSpec, p *path) validation.ErrorList {
	var r check.Report
	if !maps.Equal(now.NodeSelector, old.NodeSelector) {
		for _, k := range check.Keys(old.NodeSelector) {
			v, ok := now.NodeSelector[k]
			r.If(!ok || v != old.NodeSelector[k], p.Child("nodeSelector"), now.NodeSelector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")
		}
		now.NodeSelector = old.NodeSelector
	}
	required := func(a *Affinity) *NodeSelector {
		if a == nil || a.NodeAffinity == nil {
			return nil
		}
		return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	a, b := required(now.Affinity), required(old.Affinity)
	if check.Same(a, b) {
		return r.List()
	}
	q := p.Child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	if b != nil && !stricterTerms(a, b) {
		r.Invalid(q, a, "no additions/deletions to non-empty NodeSelectorTerms list are allowed, and terms may only be added to")
	}
	// The preferences are free as long as the pod waits.
	now.Affinity = withNodeAffinity(now.Affinity, old.Affinity)
	return r.List()
}

func stricterTerms(a, b *NodeSelector) bool {
	if a == nil || len(a.NodeSelectorTerms) != len(b.NodeSelectorTerms) {
		return false
	}
	for i := range b.NodeSelectorTerms {
		x, y := &a.NodeSelectorTerms[i], &b.NodeSelectorTerms[i]
		if !hasAll(x.MatchExpressions, y.MatchExpressions) || !hasAll(x.MatchFields, y.MatchFields) {
			return false
		}
	}
	return true
}

func hasAll(list, want []NodeSelectorRequirement) bool {
	for _, w := range want {
		if !slices.ContainsFunc(list, func(l NodeSelectorRequirement) bool { return check.Same(l, w) }) {
			return false
		}
	}
	return true
}

// withNodeAffinity returns a copy of now with the node affinity that old has, or nil if that copy would be
// empty and old is nil.
func withNodeAffinity(now, old *Affinity) *Affinity {
	out := Affinity{}
	if now != nil {
		out = *now
	}
	out.NodeAffinity = nil
	if old != nil {
		out.NodeAffinity = old.NodeAffinity
	}
	if out == (Affinity{}) && old == nil {
		return nil
	}
	return &out
}

// ValidatePodStatus checks a change through the status subresource, where spec is as stored.
func ValidatePodStatus(p, old *Pod) validation.ErrorList {
	var r check.Report
	st := at("status")
	if n := p.Status.NominatedNodeName; n != "" {
		r.Each(st.Child("nominatedNodeName"), n, validation.IsDNS1123Subdomain(n))
	}
	if p.Spec.NodeName != old.Spec.NodeName {
		r.Forbidden(st.Child("nodeName"), "may not be changed directly")
	}
	r.Add(validateStates(p.Status.ContainerStatuses, old.Status.ContainerStatuses, &p.Spec, false, st.Child("containerStatuses")))
	r.Add(validateStates(p.Status.InitContainerStatuses, old.Status.InitContainerStatuses, &p.Spec, true, st.Child("initContainerStatuses")))
	var ips []string
	for _, ip := range p.Status.PodIPs {
		ips = append(ips, ip.IP)
	}
	r.Add(validateStatusIPs(ips, st.Child("podIPs")))
	ips = nil
	for _, ip := range p.Status.HostIPs {
		ips = append(ips, ip.IP)
	}
	r.Add(validateStatusIPs(ips, st.Child("hostIPs")))
	seen := map[string]bool{}
	claims := map[string]bool{}
	for _, c := range p.Spec.ResourceClaims {
		claims[c.Name] = true
	}
	for i, c := range p.Status.ResourceClaimStatuses {
		q := st.Child("resourceClaimStatuses").Index(i).Child("name")
		if !check.Unique(seen, c.Name) {
			r.Duplicate(q, c.Name)
		}
		r.If(!claims[c.Name], q, c.Name, "must match the name of an entry in `spec.resourceClaims`")
	}
	return r.List()
}

func validateStatusIPs(ips []string, p *path) validation.ErrorList {
	var r check.Report
	for i, ip := range ips {
		r.Each(p.Index(i), ip, validation.IsIPLegacy(ip, false))
	}
	if len(ips) > 1 && r.OK() {
		r.If(len(ips) > 2 || familyOf(ips[0]) == familyOf(ips[1]), p, ips, "may specify no more than one IP for each IP family")
		seen := map[string]bool{}
		for i, ip := range ips {
			if !check.Unique(seen, ip) {
				r.Duplicate(p.Index(i), ip)
			}
		}
	}
	return r.List()
}

// validateStates checks that containers of pods that are not restarted never leave the terminated state,
// unless all of a pod's containers may start again at once.
func validateStates(now, was []ContainerStatus, s *PodSpec, initial bool, p *path) validation.ErrorList {
	var r check.Report
	if s.RestartPolicy == RestartPolicyAlways || MayRestartAllContainers(s) {
		return nil
	}
	containers := s.Containers
	if initial {
		containers = s.InitContainers
	}
	restarts := map[string]bool{}
	for i := range containers {
		c := &containers[i]
		restarts[c.Name] = c.RestartPolicy != nil && *c.RestartPolicy != ContainerRestartPolicyNever || len(c.RestartPolicyRules) > 0
	}
	for i := range was {
		o := &was[i]
		if o.State.Terminated == nil || restarts[o.Name] || s.RestartPolicy == RestartPolicyOnFailure && o.State.Terminated.ExitCode != 0 {
			continue
		}
		for j := range now {
			r.ForbidIf(now[j].Name == o.Name && now[j].State.Terminated == nil, p.Index(j).Child("state"), "may not be transitioned to non-terminated state")
		}
	}
	return r.List()
}

// ValidateEphemeralContainersUpdate checks a change through the ephemeralcontainers subresource:
// debugging containers are added and then stay as they are.
func ValidateEphemeralContainersUpdate(p, old *Pod) validation.ErrorList {
	var r check.Report
	r.Add(validatePodBody(p, podScope{pod: true}))
	q := at("spec", "ephemeralContainers")
	r.ForbidIf(old.Annotations[MirrorPodAnnotationKey] != "", at(""), "static pods do not support ephemeral containers")
	for _, o := range old.Spec.EphemeralContainers {
		i := slices.IndexFunc(p.Spec.EphemeralContainers, func(c EphemeralContainer) bool { return c.Name == o.Name })
		switch {
		case i < 0:
			r.Forbidden(q, "existing ephemeral containers \""+o.Name+"\" may not be removed")
		case !check.Same(p.Spec.EphemeralContainers[i], o):
			r.Forbidden(q, "existing ephemeral containers \""+o.Name+"\" may not be changed")
		}
	}
	return r.List()
}
