package devices

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
)

// results are the allocations that were found.
func (s *search) results() (out []*resourcev1.AllocationResult) {
	for _, t := range s.tasks {
		r := &resourcev1.AllocationResult{}
		for i, p := range t.picked {
			x := resourcev1.DeviceRequestAllocationResult{Request: p.request.full(), Driver: p.id.Driver, Pool: p.id.Pool, Device: p.id.Device,
				Tolerations: p.request.tolerations, BindingConditions: p.BindingConditions, BindingFailureConditions: p.BindingFailureConditions}
			if p.request.admin {
				x.AdminAccess = new(true)
			}
			if p.shared {
				x.ShareID = new(s.ShareID(t.claim, i))
				if len(p.take) > 0 {
					x.ConsumedCapacity = p.take
				}
			}
			r.Devices.Results = append(r.Devices.Results, x)
		}
		r.Devices.Config = t.config()
		r.NodeSelector = s.nodesOf(t)
		out = append(out, r)
	}
	return out
}

// config is the configuration of the classes, each once, and then that of the claim.
func (t *task) config() (out []resourcev1.DeviceAllocationConfiguration) {
	first := map[string]int{} // the first entry of a class
	for _, w := range t.requests {
		r := w.alternatives[w.chosen]
		if at, ok := first[r.class.Name]; ok {
			for i := range r.class.Spec.Config {
				out[at+i].Requests = append(out[at+i].Requests, r.full())
			}
			continue
		}
		first[r.class.Name] = len(out)
		for _, c := range r.class.Spec.Config {
			out = append(out, resourcev1.DeviceAllocationConfiguration{Source: resourcev1.AllocationConfigSourceClass,
				Requests: []string{r.full()}, DeviceConfiguration: c.DeviceConfiguration})
		}
	}
	for _, c := range t.claim.Spec.Devices.Config {
		add := func() {
			out = append(out, resourcev1.DeviceAllocationConfiguration{Source: resourcev1.AllocationConfigSourceClaim,
				Requests: c.Requests, DeviceConfiguration: c.DeviceConfiguration})
		}
		if len(c.Requests) == 0 {
			add()
			continue
		}
		for _, w := range t.requests {
			r := w.alternatives[w.chosen]
			if slices.Contains(c.Requests, r.name) || r.sub != "" && slices.Contains(c.Requests, r.full()) {
				add()
			}
		}
	}
	return out
}

// nodesOf selects the nodes that have access to all devices of a claim; nil if all do.
func (s *search) nodesOf(t *task) *corev1.NodeSelector {
	var term corev1.NodeSelectorTerm
	add := func(to *[]corev1.NodeSelectorRequirement, more []corev1.NodeSelectorRequirement) {
		for _, r := range more {
			if !slices.ContainsFunc(*to, func(x corev1.NodeSelectorRequirement) bool { return sameRequirement(&x, &r) }) {
				*to = append(*to, r)
			}
		}
	}
	for _, p := range t.picked {
		name, selector := p.slice.Spec.NodeName, p.slice.Spec.NodeSelector
		if isTrue(p.slice.Spec.PerDeviceNodeSelection) {
			name, selector = p.NodeName, p.NodeSelector
		}
		if name != nil || isTrue(p.BindsToNode) {
			return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
				{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{s.node.Name}}}}}}
		}
		if selector != nil && len(selector.NodeSelectorTerms) > 0 { // validation allows one
			add(&term.MatchFields, selector.NodeSelectorTerms[0].MatchFields)
			add(&term.MatchExpressions, selector.NodeSelectorTerms[0].MatchExpressions)
		}
	}
	if len(term.MatchFields)+len(term.MatchExpressions) == 0 {
		return nil
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
}

func sameRequirement(a, b *corev1.NodeSelectorRequirement) bool {
	contains := func(x, y []string) bool {
		return !slices.ContainsFunc(x, func(v string) bool { return !slices.Contains(y, v) })
	}
	return a.Key == b.Key && a.Operator == b.Operator && contains(a.Values, b.Values) && contains(b.Values, a.Values)
}
