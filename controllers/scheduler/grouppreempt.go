package scheduler

import (
	"cmp"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// preemptForGroup lets the profile's PostFilter plugin for groups make room for one that does not fit.
func (c *Cluster) preemptForGroup(p *Profile, g *PodGroup, d *groupDecision) {
	obj := g.Object()
	refuse := func(why string) {
		d.status = NewStatus(Unschedulable, append(slices.Clone(d.status.Reasons), why)...)
	}
	i := slices.IndexFunc(p.post, func(post PostFilterPlugin) bool {
		_, ok := post.(PodGroupPostFilterPlugin)
		return ok
	})
	switch {
	case i < 0:
		refuse("default preemption plugin is not registered, workload aware preemption is disabled")
		return
	case obj == nil:
		d.status = NewStatus(Error, "failed to get pod group object: "+g.key.String()+" is not there")
		return
	case obj.Spec.SchedulingConstraints != nil && len(obj.Spec.SchedulingConstraints.Topology) > 0:
		refuse("workload aware preemption is not supported for pod groups with scheduling constraints")
		return
	}
	by := p.post[i].(PodGroupPostFilterPlugin)
	mark, w := c.Mark(), c.watch
	var victims []*corev1.Pod
	st := c.calling(p, by, func() (st *Status) {
		victims, st = by.PodGroupPostFilter(g, func() bool { return c.placeGroup(p, g, noRoom).status.OK() })
		return st
	})
	if !w.over() {
		c.Rollback(mark)
	}
	switch {
	case st.OK():
		d.waits, d.ending = true, c.placedOf(victims)
	case st.Code == Error:
		d.status = st
	default:
		refuse(st.Message())
	}
}

// unit is what is ended together: a pod, or the pods of a PodGroup whose disruption mode says so.
type unit struct {
	pods     []*placed
	priority int32
	started  metav1.Time // the first of the pods
}

// grouped reports whether the unit belongs to a PodGroup.
func (u *unit) grouped() bool { return u.pods[0].group.Name != "" }

func priorityOfGroup(g *schedulingv1alpha2.PodGroup) int32 {
	if g.Spec.Priority == nil {
		return 0
	}
	return *g.Spec.Priority
}

// PodGroupPostFilter implements PodGroupPostFilterPlugin: it ends pods, and groups that are disrupted as a
// whole, of lower priority than the group, as few as possible, those protected by a PodDisruptionBudget last.
func (*DefaultPreemption) PodGroupPostFilter(g *PodGroup, fits func() bool) ([]*corev1.Pod, *Status) {
	c := g.cluster
	if slices.ContainsFunc(g.pods, func(p *Pod) bool { return !mayPreempt(p.pod) }) {
		return nil, NewStatus(Unschedulable, "not eligible due to preemptionPolicy=Never.")
	}
	units := c.units(priorityOfGroup(g.Object()))
	if len(units) == 0 {
		return nil, NewStatus(UnschedulableAndUnresolvable, "No preemption victims found for incoming preemptor")
	}
	for _, u := range units {
		u.each(c.detach)
	}
	if !fits() {
		return nil, NewStatus(Unschedulable, groupUnschedulable)
	}
	slices.SortFunc(units, moreImportant)
	c.unspend()
	violating, rest := c.splitUnits(units)
	var victims []*corev1.Pod
	for _, u := range slices.Concat(violating, rest) {
		if u.each(c.attach); fits() {
			continue
		}
		u.each(c.detach)
		for _, p := range u.pods {
			victims = append(victims, p.pod)
		}
	}
	return victims, nil
}

func (u *unit) each(f func(*placed)) {
	for _, p := range u.pods {
		f(p)
	}
}

// units are those of lower priority on nodes, all of whose pods may be ended.
func (c *Cluster) units(below int32) (out []*unit) {
	groups := map[types.NamespacedName]*unit{}
	fixed := map[*unit]bool{}
	for _, n := range c.order {
		for _, p := range n.pods {
			obj := c.groupObject(p.group)
			u := groups[p.group]
			switch whole := obj != nil && obj.Spec.DisruptionMode != nil && *obj.Spec.DisruptionMode == schedulingv1alpha2.DisruptionModePodGroup; {
			case !whole:
				u = &unit{priority: p.priority, started: startOf(p.pod)}
				out = append(out, u)
			case u == nil:
				u = &unit{priority: priorityOfGroup(obj), started: startOf(p.pod)}
				groups[p.group] = u
				out = append(out, u)
			}
			u.pods = append(u.pods, p)
			if at := startOf(p.pod); at.Before(&u.started) {
				u.started = at
			}
			if p.pod.Spec.NodeName == "" || !c.spared[p.pod.UID].IsZero() {
				fixed[u] = true // see lowerOn
			}
		}
	}
	return slices.DeleteFunc(out, func(u *unit) bool { return fixed[u] || u.priority >= below })
}

// moreImportant orders units: higher priority first, then groups, larger and older ones first.
func moreImportant(a, b *unit) int {
	if by := cmp.Compare(b.priority, a.priority); by != 0 {
		return by
	}
	if a.grouped() != b.grouped() {
		if a.grouped() {
			return -1
		}
		return 1
	}
	if a.grouped() && len(a.pods) != len(b.pods) {
		return cmp.Compare(len(b.pods), len(a.pods))
	}
	return cmp.Or(a.started.Compare(b.started.Time), cmp.Compare(a.pods[0].pod.UID, b.pods[0].pod.UID))
}

// splitUnits separates the units whose end would break a disruption budget from the others.
func (c *Cluster) splitUnits(units []*unit) (violating, rest []*unit) {
	var pods []*placed
	of := map[*placed]*unit{}
	for _, u := range units {
		for _, p := range u.pods {
			pods = append(pods, p)
			of[p] = u
		}
	}
	breaks := map[*unit]bool{}
	list, _ := c.splitByBudget(pods)
	for _, p := range list {
		breaks[of[p]] = true
	}
	for _, u := range units {
		if breaks[u] {
			violating = append(violating, u)
		} else {
			rest = append(rest, u)
		}
	}
	return violating, rest
}
