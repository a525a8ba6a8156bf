package naive

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
)

// The reasons filters give, in the words that users search for.
const (
	reasonUnschedulable = "node(s) were unschedulable"
	reasonNodeName      = "node(s) didn't match the requested node name"
	reasonNodeAffinity  = "node(s) didn't match Pod's node affinity/selector"
	reasonPorts         = "node(s) didn't have free ports for the requested pod ports"
	reasonTooManyPods   = "Too many pods"
	reasonAffinity      = "node(s) didn't match pod affinity rules"
	reasonAntiAffinity  = "node(s) didn't match pod anti-affinity rules"
	reasonExistingAnti  = "node(s) didn't satisfy existing pods anti-affinity rules"
	reasonSpread        = "node(s) didn't match pod topology spread constraints"
	reasonSpreadLabel   = "node(s) didn't match pod topology spread constraints (missing required label)"
	reasonInsufficient  = "Insufficient "
	unschedulableTaint  = "node.kubernetes.io/unschedulable"
	hostnameLabel       = "kubernetes.io/hostname"
	taintReason         = "node(s) had untolerated taint(s)"
)

// filter says why a node cannot take the pod; none means it can. Cheap checks come first. Reasons that
// preempting other pods cannot remove are marked final.
func (d *decision) filter(n *node) (reasons []string, final bool) {
	pod := d.info.pod
	if n.obj.Spec.Unschedulable && !nodefit.Tolerates(pod.Spec.Tolerations, &corev1.Taint{Key: unschedulableTaint, Effect: corev1.TaintEffectNoSchedule}) {
		return []string{reasonUnschedulable}, true
	}
	if name := pod.Spec.NodeName; name != "" && name != n.name {
		return []string{reasonNodeName}, true
	}
	for i := range n.obj.Spec.Taints {
		t := &n.obj.Spec.Taints[i]
		if (t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute) && !nodefit.Tolerates(pod.Spec.Tolerations, t) {
			return []string{taintReason}, true
		}
	}
	if !d.info.matchesNode(n.obj) {
		return []string{reasonNodeAffinity}, true
	}
	kept := d.reserved[n]
	if len(d.info.ports) > 0 && !n.portsFree(d.info.ports, kept) {
		return []string{reasonPorts}, false
	}
	if reasons := n.lacks(&d.info.need, kept); len(reasons) > 0 {
		return reasons, n.neverFits(&d.info.need)
	}
	if reason, final := d.filterPods(n); reason != "" {
		return []string{reason}, final
	}
	if d.bare != nil {
		if reason, final := d.bare.filterPods(n); reason != "" {
			return []string{reason}, final
		}
	}
	return nil, false
}

// filterPods are the filters that depend on which pods are where.
func (d *decision) filterPods(n *node) (reason string, final bool) {
	if reason, final := d.filterSpread(n); reason != "" {
		return reason, final
	}
	return d.filterAffinity(n)
}

// portsFree reports whether neither a pod of the node nor one that room is kept for uses a wanted port; kept
// may be nil.
func (n *node) portsFree(want []hostPort, kept *reserved) bool {
	for _, w := range want {
		for used := range n.ports {
			if w.conflicts(used) {
				return false
			}
		}
		if kept != nil && slices.ContainsFunc(kept.ports, w.conflicts) {
			return false
		}
	}
	return true
}

// lacks names the resources a node has too little of, beside its pods and the room that is kept, which may be
// nil.
func (n *node) lacks(need *amounts, kept *reserved) (reasons []string) {
	if kept == nil {
		kept = &reserved{}
	}
	if len(n.pods)+kept.pods+1 > n.maxPods {
		reasons = append(reasons, reasonTooManyPods)
	}
	short := func(want, used, have int64, name string) {
		if want > 0 && want > have-used {
			reasons = append(reasons, reasonInsufficient+name)
		}
	}
	short(need.cpu, n.used.cpu+kept.need.cpu, n.allocatable.cpu, "cpu")
	short(need.memory, n.used.memory+kept.need.memory, n.allocatable.memory, "memory")
	short(need.ephemeral, n.used.ephemeral+kept.need.ephemeral, n.allocatable.ephemeral, "ephemeral-storage")
	for name, want := range need.others {
		short(want, n.used.others[name]+kept.need.others[name], n.allocatable.others[name], string(name))
	}
	return reasons
}

// neverFits reports whether the node is too small even when empty.
func (n *node) neverFits(need *amounts) bool {
	if need.cpu > n.allocatable.cpu || need.memory > n.allocatable.memory || need.ephemeral > n.allocatable.ephemeral || n.maxPods < 1 {
		return true
	}
	for name, want := range need.others {
		if want > n.allocatable.others[name] {
			return true
		}
	}
	return false
}

// nodeTerms is a compiled node affinity.
type nodeTerms struct {
	// required is nil when nothing is required; otherwise one of them must match.
	required  []nodefit.Term
	preferred []weightedNodeTerm
}

type weightedNodeTerm struct {
	nodefit.Term
	weight int64
}

func compileNodeAffinity(pod *corev1.Pod) *nodeTerms {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return nil
	}
	a := pod.Spec.Affinity.NodeAffinity
	out := &nodeTerms{required: nodefit.CompileAll(a.RequiredDuringSchedulingIgnoredDuringExecution)}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		p := &a.PreferredDuringSchedulingIgnoredDuringExecution[i]
		out.preferred = append(out.preferred, weightedNodeTerm{nodefit.Compile(&p.Preference), int64(p.Weight)})
	}
	return out
}

// matchesNode checks nodeSelector and required node affinity.
func (p *podInfo) matchesNode(n *corev1.Node) bool {
	if len(p.pod.Spec.NodeSelector) > 0 && !p.nodeSelector.Matches(n.Labels) {
		return false
	}
	return p.nodeAffinity == nil || nodefit.MatchesAny(p.nodeAffinity.required, n)
}
