package daemonset

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
)

// reach is what a set has to do with a node. The zero value is that of a node that it does not admit or that
// does not exist.
type reach struct {
	should bool // have a pod
	keep   bool // one that is there
}

// rule is a compiled template.
type rule struct {
	nodeName    string
	selector    map[string]string
	terms       []nodefit.Term
	tolerations []corev1.Toleration
}

func compile(ds *appsv1.DaemonSet) *rule {
	spec := &ds.Spec.Template.Spec
	return &rule{
		nodeName: spec.NodeName, selector: spec.NodeSelector,
		terms: nodefit.CompileAll(nodefit.Required(spec)), tolerations: tolerationsOf(spec),
	}
}

// of returns the reach of a node, which may be nil. A pod stays under a taint that only keeps new ones away.
func (r *rule) of(n *corev1.Node) reach {
	if n == nil || r.nodeName != "" && r.nodeName != n.Name || !nodefit.MatchesAny(r.terms, n) {
		return reach{}
	}
	for key, value := range r.selector {
		if have, ok := n.Labels[key]; !ok || have != value {
			return reach{}
		}
	}
	out := reach{should: true, keep: true}
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule || nodefit.Tolerates(r.tolerations, t) {
			continue
		}
		out.should = false
		out.keep = out.keep && t.Effect != corev1.TaintEffectNoExecute
	}
	return out
}

// tolerationsOf returns the tolerations of the pods: those of the template, and those of conditions of a node
// under which its daemons are needed most.
func tolerationsOf(spec *corev1.PodSpec) []corev1.Toleration {
	exists := func(key string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
	}
	add := []corev1.Toleration{
		exists("node.kubernetes.io/not-ready", corev1.TaintEffectNoExecute),
		exists("node.kubernetes.io/unreachable", corev1.TaintEffectNoExecute),
		exists("node.kubernetes.io/disk-pressure", corev1.TaintEffectNoSchedule),
		exists("node.kubernetes.io/memory-pressure", corev1.TaintEffectNoSchedule),
		exists("node.kubernetes.io/pid-pressure", corev1.TaintEffectNoSchedule),
		exists("node.kubernetes.io/unschedulable", corev1.TaintEffectNoSchedule),
	}
	if spec.HostNetwork {
		add = append(add, exists("node.kubernetes.io/network-unavailable", corev1.TaintEffectNoSchedule))
	}
	out := slices.Clone(spec.Tolerations)
	for _, t := range add {
		if !slices.ContainsFunc(out, func(have corev1.Toleration) bool { return codec.Equal(&have, &t) }) {
			out = append(out, t)
		}
	}
	return out
}

// target returns the node of a pod: the one it is bound to, or the one it requires by name.
func target(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	s := nodefit.Required(&pod.Spec)
	if s == nil {
		return ""
	}
	for _, term := range s.NodeSelectorTerms {
		for _, f := range term.MatchFields {
			if f.Key == "metadata.name" && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}

// require makes a pod require a node by name, in place of the node affinity of its template, which the node
// fulfills.
func require(pod *corev1.Pod, node string) {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}
}
