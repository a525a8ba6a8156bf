package naive

import (
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
)

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
}

func compileSpread(pod *corev1.Pod) (out []spreadConstraint) {
	for i := range pod.Spec.TopologySpreadConstraints {
		t := &pod.Spec.TopologySpreadConstraints[i]
		sel := labels.Nothing()
		if t.LabelSelector != nil {
			if s, err := selectorWithKeys(t.LabelSelector, pod.Labels, t.MatchLabelKeys, nil); err == nil {
				sel = s
			}
		}
		c := spreadConstraint{topology: t.TopologyKey, selector: sel, maxSkew: int(t.MaxSkew), minDomains: 1,
			hard:           t.WhenUnsatisfiable == corev1.DoNotSchedule,
			honourAffinity: t.NodeAffinityPolicy == nil || *t.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor,
			honourTaints:   t.NodeTaintsPolicy != nil && *t.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor}
		if t.MinDomains != nil {
			c.minDomains = int(*t.MinDomains)
		}
		if sel.Matches(pod.Labels) {
			c.selfMatch = 1
		}
		out = append(out, c)
	}
	return out
}

// SetObject adds or replaces a Service or ReplicaSet.
func (c *Cluster) SetObject(obj metav1.Object) bool {
	c.RemoveObject(obj)
	c.selecting = append(c.selecting, obj)
	return true
}

// RemoveObject removes one.
func (c *Cluster) RemoveObject(obj metav1.Object) bool {
	c.selecting = slices.DeleteFunc(c.selecting, func(o metav1.Object) bool {
		return reflect.TypeOf(o) == reflect.TypeOf(obj) && o.GetName() == obj.GetName() && o.GetNamespace() == obj.GetNamespace()
	})
	return true
}

// kin selects the pods that all Services of a pod and its ReplicaSet select.
func (c *Cluster) kin(pod *corev1.Pod) (out labels.Selector) {
	owner := metav1.ControllerOf(pod)
	add := func(set map[string]string) {
		reqs, _ := labels.SelectorFromSet(set).Requirements()
		out = out.Add(reqs...)
	}
	for _, obj := range c.selecting {
		if obj.GetNamespace() != pod.Namespace {
			continue
		}
		switch o := obj.(type) {
		case *corev1.Service:
			if len(o.Spec.Selector) > 0 && labels.SelectorFromSet(o.Spec.Selector).Matches(pod.Labels) {
				add(o.Spec.Selector)
			}
		case *appsv1.ReplicaSet:
			if owner != nil && owner.Kind == "ReplicaSet" && owner.Name == o.Name {
				add(o.Spec.Selector.MatchLabels)
			}
		}
	}
	return out
}

// defaultSpread is what clusters use for pods without constraints that belong to something: softly over hosts
// and zones.
func (c *Cluster) defaultSpread(pod *corev1.Pod) []spreadConstraint {
	sel := c.kin(pod)
	if sel.Empty() {
		return nil
	}
	return []spreadConstraint{
		{topology: hostnameLabel, selector: sel, maxSkew: 3, minDomains: 1, honourAffinity: true, selfMatch: 1},
		{topology: corev1.LabelTopologyZone, selector: sel, maxSkew: 5, minDomains: 1, honourAffinity: true, selfMatch: 1},
	}
}

// spreadState counts matching pods per domain of each constraint.
type spreadState struct {
	constraint *spreadConstraint
	counts     map[string]int
	least      int
}

// prepareSpread counts once per decision.
func (d *decision) prepareSpread() {
	list := d.info.spread
	d.softDefaults = false
	if len(list) == 0 && !d.filterOnly {
		list = d.cluster.defaultSpread(d.info.pod)
		d.softDefaults = true
	}
	// The default constraints share one selector, so their siblings are counted once.
	var siblings map[*node]int
	for i := range list {
		con := &list[i]
		if d.filterOnly && !con.hard {
			continue
		}
		if i == 0 || !d.softDefaults {
			siblings = d.siblings(con)
		}
		st := spreadState{constraint: con, counts: map[string]int{}}
		for _, n := range d.cluster.order {
			v, ok := n.obj.Labels[con.topology]
			if !ok || !d.counts(con, n) {
				continue
			}
			st.counts[v] += siblings[n]
		}
		st.findLeast()
		d.spread = append(d.spread, st)
	}
}

// findLeast finds how many matching pods the emptiest domain has.
func (st *spreadState) findLeast() {
	first := true
	for _, v := range st.counts {
		if first || v < st.least {
			st.least, first = v, false
		}
	}
	if len(st.counts) < st.constraint.minDomains {
		st.least = 0
	}
}

// recount takes one placed pod into the counts, or with sign -1 out of them.
func (d *decision) recount(n *node, p *podInfo, sign int) {
	for i := range d.spread {
		st := &d.spread[i]
		if v, ok := n.obj.Labels[st.constraint.topology]; ok && d.isSibling(st.constraint, p) && d.counts(st.constraint, n) {
			st.counts[v] += sign
			st.findLeast()
		}
	}
}

// siblings counts the pods a constraint selects, by node; nodes without any are left out.
func (d *decision) siblings(con *spreadConstraint) map[*node]int {
	out := map[*node]int{}
	for _, p := range d.cluster.byNamespace[d.info.pod.Namespace] {
		if d.isSibling(con, p.podInfo) {
			out[d.cluster.nodes[p.node]]++
		}
	}
	for n, kept := range d.reserved {
		for _, info := range kept.infos {
			if d.isSibling(con, info) {
				out[n]++
			}
		}
	}
	return out
}

func (d *decision) isSibling(con *spreadConstraint, p *podInfo) bool {
	return p.pod.Namespace == d.info.pod.Namespace && p.pod.DeletionTimestamp == nil && con.selector.Matches(p.pod.Labels)
}

// counts reports whether a node is a domain of the constraint for this pod.
func (d *decision) counts(con *spreadConstraint, n *node) bool {
	if !d.softDefaults {
		for i := range d.info.spread {
			if o := &d.info.spread[i]; o.hard == con.hard {
				if _, ok := n.obj.Labels[o.topology]; !ok {
					return false
				}
			}
		}
	}
	if con.honourAffinity && !d.info.matchesNode(n.obj) {
		return false
	}
	if con.honourTaints {
		for i := range n.obj.Spec.Taints {
			t := &n.obj.Spec.Taints[i]
			if t.Effect != corev1.TaintEffectPreferNoSchedule && !nodefit.Tolerates(d.info.pod.Spec.Tolerations, t) {
				return false
			}
		}
	}
	return true
}

func (d *decision) filterSpread(n *node) (reason string, final bool) {
	for i := range d.spread {
		st := &d.spread[i]
		if !st.constraint.hard {
			continue
		}
		v, ok := n.obj.Labels[st.constraint.topology]
		if !ok {
			return reasonSpreadLabel, true
		}
		if st.counts[v]+st.constraint.selfMatch-st.least > st.constraint.maxSkew {
			return reasonSpread, false
		}
	}
	return "", false
}
