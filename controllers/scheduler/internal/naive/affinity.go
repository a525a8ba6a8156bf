package naive

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// podAffinity is a pod's compiled affinity and anti-affinity to other pods.
type podAffinity struct {
	required, requiredAnti   []podTerm
	preferred, preferredAnti []weightedPodTerm
}

func (a *podAffinity) any() bool {
	return len(a.required)+len(a.requiredAnti)+len(a.preferred)+len(a.preferredAnti) > 0
}

// podTerm selects pods by label and namespace, and says over which label of their nodes they are together.
type podTerm struct {
	selector   labels.Selector
	namespaces []string
	// byLabel selects namespaces by their labels, beside the listed ones; nil selects none.
	byLabel  *labels.Selector
	topology string
}

type weightedPodTerm struct {
	podTerm
	weight int64
}

func compilePodAffinity(pod *corev1.Pod) (out podAffinity) {
	if pod.Spec.Affinity == nil {
		return out
	}
	if a := pod.Spec.Affinity.PodAffinity; a != nil {
		out.required = compileTerms(pod, a.RequiredDuringSchedulingIgnoredDuringExecution)
		out.preferred = compileWeighted(pod, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := pod.Spec.Affinity.PodAntiAffinity; a != nil {
		out.requiredAnti = compileTerms(pod, a.RequiredDuringSchedulingIgnoredDuringExecution)
		out.preferredAnti = compileWeighted(pod, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return out
}

func compileTerms(pod *corev1.Pod, terms []corev1.PodAffinityTerm) (out []podTerm) {
	for i := range terms {
		out = append(out, compileTerm(pod, &terms[i]))
	}
	return out
}

func compileWeighted(pod *corev1.Pod, terms []corev1.WeightedPodAffinityTerm) (out []weightedPodTerm) {
	for i := range terms {
		out = append(out, weightedPodTerm{compileTerm(pod, &terms[i].PodAffinityTerm), int64(terms[i].Weight)})
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
	out := podTerm{selector: sel, namespaces: t.Namespaces, topology: t.TopologyKey}
	if t.NamespaceSelector != nil {
		if s, err := t.NamespaceSelector.Selector(); err == nil {
			out.byLabel = &s
		}
	}
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		out.namespaces = []string{pod.Namespace}
	}
	return out
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

// place is a value of a topology label.
type place struct{ key, value string }

// affinityState is what the filter and the score need of all pods, computed once per decision.
type affinityState struct {
	// matching counts, per term of the pod and place, the pods there that match it.
	required, requiredAnti []map[string]int
	// requiredPods counts the pods that match all required terms, once for each term whose label their node
	// has; if there are none, and the pod matches its own terms, it may be the first.
	requiredPods int
	selfMatch    bool
	// existingAnti are the places that pods there refuse to share with this one.
	existingAnti map[place]int
	// score is the weight of each place.
	score map[place]int64
}

// prepareAffinity looks at all pods once, and at none if no pod has terms that matter.
func (d *decision) prepareAffinity() {
	c, a := d.cluster, &d.info.affinity
	own, others := a.any(), c.affine+c.antiAffine > 0 || d.reservedTerms()
	if d.filterOnly {
		own, others = len(a.required)+len(a.requiredAnti) > 0, c.antiAffine > 0 || d.reservedTerms()
	}
	if !own && !others {
		return
	}
	st := &affinityState{existingAnti: map[place]int{}, score: map[place]int64{}}
	d.affinity = st
	for range a.required {
		st.required = append(st.required, map[string]int{})
	}
	for range a.requiredAnti {
		st.requiredAnti = append(st.requiredAnti, map[string]int{})
	}
	st.selfMatch = true
	for i := range a.required {
		st.selfMatch = st.selfMatch && c.matches(&a.required[i], d.info.pod)
	}
	for _, n := range c.order {
		look := n.terms
		if own {
			look = n.pods
		}
		for _, p := range look {
			d.meet(st, n, p.podInfo, 1)
		}
		if kept := d.reserved[n]; kept != nil {
			for _, info := range kept.infos {
				d.meet(st, n, info, 1)
			}
		}
	}
}

// reservedTerms reports whether room is kept for a pod with terms.
func (d *decision) reservedTerms() bool {
	for _, kept := range d.reserved {
		if slices.ContainsFunc(kept.infos, func(p *podInfo) bool { return p.affinity.any() }) {
			return true
		}
	}
	return false
}

// meet takes in one placed pod, or with sign -1 takes it out again: what the new pod wants of it, and what it
// wants of the new pod.
func (d *decision) meet(st *affinityState, n *node, p *podInfo, sign int) {
	c, a, at := d.cluster, &d.info.affinity, n.obj.Labels
	all := len(a.required) > 0
	for i := range a.required {
		all = all && c.matches(&a.required[i], p.pod)
	}
	if all {
		for i := range a.required {
			if v, ok := at[a.required[i].topology]; ok {
				st.required[i][v] += sign
				st.requiredPods += sign
			}
		}
	}
	for i := range a.requiredAnti {
		t := &a.requiredAnti[i]
		if v, ok := at[t.topology]; ok && c.matches(t, p.pod) {
			st.requiredAnti[i][v] += sign
		}
	}
	for i := range p.affinity.requiredAnti {
		t := &p.affinity.requiredAnti[i]
		if v, ok := at[t.topology]; ok && c.matches(t, d.info.pod) {
			at := place{t.topology, v}
			if st.existingAnti[at] += sign; st.existingAnti[at] == 0 {
				delete(st.existingAnti, at)
			}
		}
	}
	if !d.filterOnly {
		d.weigh(st, n, p)
	}
}

// weigh adds what the pod and a placed one would like of each other.
func (d *decision) weigh(st *affinityState, n *node, p *podInfo) {
	weigh := func(t *podTerm, of *corev1.Pod, w int64) {
		if v, ok := n.obj.Labels[t.topology]; ok && d.cluster.matches(t, of) {
			st.score[place{t.topology, v}] += w
		}
	}
	a := &d.info.affinity
	for i := range a.preferred {
		weigh(&a.preferred[i].podTerm, p.pod, a.preferred[i].weight)
	}
	for i := range a.preferredAnti {
		weigh(&a.preferredAnti[i].podTerm, p.pod, -a.preferredAnti[i].weight)
	}
	// A pod that had to be near such pods likes more of them near, with the weight clusters give it by
	// default.
	for i := range p.affinity.required {
		weigh(&p.affinity.required[i], d.info.pod, 1)
	}
	for i := range p.affinity.preferred {
		weigh(&p.affinity.preferred[i].podTerm, d.info.pod, p.affinity.preferred[i].weight)
	}
	for i := range p.affinity.preferredAnti {
		weigh(&p.affinity.preferredAnti[i].podTerm, d.info.pod, -p.affinity.preferredAnti[i].weight)
	}
}

func (d *decision) filterAffinity(n *node) (reason string, final bool) {
	st := d.affinity
	if st == nil {
		return "", false
	}
	a, at := &d.info.affinity, n.obj.Labels
	ok := true
	for i := range a.required {
		v, has := at[a.required[i].topology]
		if !has {
			return reasonAffinity, true
		}
		ok = ok && st.required[i][v] > 0
	}
	if !ok && (st.requiredPods > 0 || !st.selfMatch) {
		return reasonAffinity, true
	}
	for i := range a.requiredAnti {
		if v, has := at[a.requiredAnti[i].topology]; has && st.requiredAnti[i][v] > 0 {
			return reasonAntiAffinity, false
		}
	}
	for p := range st.existingAnti {
		if at[p.key] == p.value {
			return reasonExistingAnti, false
		}
	}
	return "", false
}
