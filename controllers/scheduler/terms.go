package scheduler

import (
	"slices"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// podAffinity is a pod's compiled affinity and anti-affinity to other pods.
type podAffinity struct {
	required, requiredAnti []podTerm
	// preferred has those of the anti-affinity with negative weights.
	preferred []podTerm
}

// podTerm selects pods by label and namespace, and says over which label of their nodes they are together.
type podTerm struct {
	selector   labels.Selector
	namespaces []string
	// byLabel selects namespaces by their labels, beside the listed ones; nil selects none.
	byLabel  *labels.Selector
	topology string
	// weight is how much a preferred term counts.
	weight int64
	// key is equal for equal terms, whatever their weights; group for equal terms of equal weights.
	key, group string
	// together is set in the required terms of affinity: the key of all of them and of this one's topology.
	together string
}

func compilePodAffinity(pod *corev1.Pod) (out podAffinity) {
	if pod.Spec.Affinity == nil {
		return out
	}
	if a := pod.Spec.Affinity.PodAffinity; a != nil {
		out.required = compileTerms(pod, a.RequiredDuringSchedulingIgnoredDuringExecution)
		out.preferred = appendWeighted(out.preferred, pod, a.PreferredDuringSchedulingIgnoredDuringExecution, 1)
		var all keyBuilder
		all.add("together")
		for i := range out.required {
			all.add(out.required[i].key)
		}
		for i := range out.required {
			out.required[i].together = all.String() + "@" + out.required[i].topology
		}
	}
	if a := pod.Spec.Affinity.PodAntiAffinity; a != nil {
		out.requiredAnti = compileTerms(pod, a.RequiredDuringSchedulingIgnoredDuringExecution)
		out.preferred = appendWeighted(out.preferred, pod, a.PreferredDuringSchedulingIgnoredDuringExecution, -1)
	}
	return out
}

func compileTerms(pod *corev1.Pod, terms []corev1.PodAffinityTerm) (out []podTerm) {
	for i := range terms {
		out = append(out, compileTerm(pod, &terms[i]))
	}
	return out
}

func appendWeighted(out []podTerm, pod *corev1.Pod, terms []corev1.WeightedPodAffinityTerm, sign int64) []podTerm {
	for i := range terms {
		t := compileTerm(pod, &terms[i].PodAffinityTerm)
		t.weight = sign * int64(terms[i].Weight)
		t.group = strconv.FormatInt(t.weight, 10) + "*" + t.key
		out = append(out, t)
	}
	return out
}

func compileTerm(pod *corev1.Pod, t *corev1.PodAffinityTerm) podTerm {
	sel := labels.Nothing()
	if t.LabelSelector != nil {
		if s, err := selectorWithKeys(t.LabelSelector, pod.Labels, t.MatchLabelKeys, t.MismatchLabelKeys); err == nil {
			sel = s
		}
	}
	out := podTerm{selector: sel, namespaces: slices.Sorted(slices.Values(t.Namespaces)), topology: t.TopologyKey}
	if t.NamespaceSelector != nil {
		if s, err := t.NamespaceSelector.Selector(); err == nil {
			out.byLabel = &s
		}
	}
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		out.namespaces = []string{pod.Namespace}
	}
	var b keyBuilder
	b.add("term", t.TopologyKey, selectorKey(sel), strconv.Itoa(len(out.namespaces)))
	b.add(out.namespaces...)
	if out.byLabel != nil {
		b.add(selectorKey(*out.byLabel))
	}
	out.key = b.String()
	out.group = out.key
	return out
}

// selectorKey is the text of a selector; that of everything is not that of nothing.
func selectorKey(s labels.Selector) string {
	if s.SelectsNothing() {
		return "!"
	}
	return s.String()
}

// selectorWithKeys adds the pod's own values of the given label keys to a selector.
func selectorWithKeys(s *metav1.LabelSelector, own map[string]string, match, mismatch []string) (labels.Selector, error) {
	sel, err := s.Selector()
	if err != nil {
		return sel, err
	}
	for _, keys := range []struct {
		names []string
		op    labels.Operator
	}{{match, labels.In}, {mismatch, labels.NotIn}} {
		for _, k := range keys.names {
			v, ok := own[k]
			if !ok {
				continue
			}
			r, err := labels.NewRequirement(k, keys.op, []string{v})
			if err != nil {
				return sel, err
			}
			sel = sel.Add(*r)
		}
	}
	return sel, nil
}

func (c *Cluster) matches(t *podTerm, pod *corev1.Pod) bool {
	if !slices.Contains(t.namespaces, pod.Namespace) && (t.byLabel == nil || !t.byLabel.Matches(c.namespaces[pod.Namespace])) {
		return false
	}
	return t.selector.Matches(pod.Labels)
}

// spreadConstraint is a compiled topology spread constraint.
type spreadConstraint struct {
	topology   string
	selector   labels.Selector
	maxSkew    int
	minDomains int
	hard       bool
	// honourAffinity and honourTaints leave nodes the pod cannot use anyway out of the count.
	honourAffinity, honourTaints bool
	selfMatch                    int
	// keys are the topology keys of the constraints of one kind, hard or soft: a node that lacks one of them
	// counts for none. Nil for the default constraints of the cluster, which excuse a missing label.
	keys []string
	// key is equal for constraints that count equal pods on equal nodes.
	key string
}

func compileSpread(p *Pod) []spreadConstraint {
	return compileConstraints(p, p.pod.Spec.TopologySpreadConstraints, nil, true)
}

// compileConstraints compiles constraints for a pod. Those of the cluster have no selectors of their own and
// use kin.
func compileConstraints(p *Pod, list []corev1.TopologySpreadConstraint, kin *labels.Selector, needKeys bool) (out []spreadConstraint) {
	var keys [2][]string
	for i := range list {
		t := &list[i]
		c := spreadConstraint{topology: t.TopologyKey, selector: labels.Nothing(), maxSkew: int(t.MaxSkew), minDomains: 1,
			hard:           t.WhenUnsatisfiable == corev1.DoNotSchedule,
			honourAffinity: t.NodeAffinityPolicy == nil || *t.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor,
			honourTaints:   t.NodeTaintsPolicy != nil && *t.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor}
		if kin != nil {
			c.selector = *kin
		} else if t.LabelSelector != nil {
			if s, err := selectorWithKeys(t.LabelSelector, p.pod.Labels, t.MatchLabelKeys, nil); err == nil {
				c.selector = s
			}
		}
		if t.MinDomains != nil {
			c.minDomains = int(*t.MinDomains)
		}
		if c.selector.Matches(p.pod.Labels) {
			c.selfMatch = 1
		}
		keys[kind(c.hard)] = append(keys[kind(c.hard)], c.topology)
		out = append(out, c)
	}
	for i := range out {
		if c := &out[i]; needKeys {
			c.keys = keys[kind(c.hard)]
		}
		out[i].key = spreadKey(p, &out[i])
	}
	return out
}

func kind(hard bool) int {
	if hard {
		return 1
	}
	return 0
}

func spreadKey(p *Pod, c *spreadConstraint) string {
	var b keyBuilder
	b.add("spread", p.pod.Namespace, c.topology, selectorKey(c.selector), strconv.Itoa(len(c.keys)))
	b.add(c.keys...)
	if c.honourAffinity {
		b.add("affinity", p.choiceKey)
	}
	if c.honourTaints {
		b.add("taints", p.tolerationKey)
	}
	return b.String()
}
