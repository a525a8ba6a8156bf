package scheduler

import (
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// groupings are the objects whose selectors say which pods belong together, without all the rest of them.
type groupings struct {
	services     *table[*corev1.Service] // by namespace and one of the labels that the pods must have
	controllers  *table[*corev1.ReplicationController]
	replicaSets  *table[*appsv1.ReplicaSet]
	statefulSets *table[*appsv1.StatefulSet]
	// version changes with the objects.
	version uint64
}

func newGroupings() groupings {
	return groupings{services: newTable(serviceGroup), controllers: newTable[*corev1.ReplicationController](nil),
		replicaSets: newTable[*appsv1.ReplicaSet](nil), statefulSets: newTable[*appsv1.StatefulSet](nil)}
}

func (g *groupings) clone() groupings {
	return groupings{g.services.clone(), g.controllers.clone(), g.replicaSets.clone(), g.statefulSets.clone(), g.version}
}

// serviceGroup files a Service under the first label of its selector; one without a selector selects nothing.
func serviceGroup(s *corev1.Service) string {
	if len(s.Spec.Selector) == 0 {
		return ""
	}
	key := slices.Min(slices.Collect(maps.Keys(s.Spec.Selector)))
	return labelGroup(s.Namespace, key, s.Spec.Selector[key])
}

func labelGroup(namespace, key, value string) string {
	return namespace + "\x00" + key + "\x00" + value
}

// putGrouping takes in the selector of an object.
func (c *Cluster) putGrouping(obj metav1.Object, gone bool) (was metav1.Object, known bool) {
	g := &c.groupings
	name := metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	switch o := obj.(type) {
	case *corev1.Service:
		was = putIn(c, g.services, &corev1.Service{ObjectMeta: name, Spec: corev1.ServiceSpec{Selector: o.Spec.Selector}}, gone)
	case *corev1.ReplicationController:
		was = putIn(c, g.controllers, &corev1.ReplicationController{ObjectMeta: name, Spec: corev1.ReplicationControllerSpec{Selector: o.Spec.Selector}}, gone)
	case *appsv1.ReplicaSet:
		was = putIn(c, g.replicaSets, &appsv1.ReplicaSet{ObjectMeta: name, Spec: appsv1.ReplicaSetSpec{Selector: o.Spec.Selector}}, gone)
	case *appsv1.StatefulSet:
		was = putIn(c, g.statefulSets, &appsv1.StatefulSet{ObjectMeta: name, Spec: appsv1.StatefulSetSpec{Selector: o.Spec.Selector}}, gone)
	default:
		return nil, false
	}
	g.version++
	c.journal.log(func() { g.version++ })
	return was, true
}

// kin selects the pods that belong together with a pod: those of all Services that select it and of its
// controller. It is empty for a pod without any.
func (g *groupings) kin(p *corev1.Pod) labels.Selector {
	set := map[string]string{}
	for key, value := range p.Labels {
		for _, s := range g.services.of[labelGroup(p.Namespace, key, value)] {
			if labels.SelectorFromSet(s.Spec.Selector).Matches(p.Labels) {
				maps.Copy(set, s.Spec.Selector)
			}
		}
	}
	owner := metav1.ControllerOf(p)
	if owner == nil {
		return labels.SelectorFromSet(set)
	}
	var by *metav1.LabelSelector
	switch owner.APIVersion + " " + owner.Kind {
	case "v1 ReplicationController":
		if rc := g.controllers.get(p.Namespace, owner.Name); rc != nil {
			maps.Copy(set, rc.Spec.Selector)
		}
	case "apps/v1 ReplicaSet":
		if rs := g.replicaSets.get(p.Namespace, owner.Name); rs != nil {
			by = rs.Spec.Selector
		}
	case "apps/v1 StatefulSet":
		if ss := g.statefulSets.get(p.Namespace, owner.Name); ss != nil {
			by = ss.Spec.Selector
		}
	}
	out := labels.SelectorFromSet(set)
	if by == nil {
		return out
	}
	if s, err := by.Selector(); err == nil {
		if reqs, ok := s.Requirements(); ok {
			out = out.Add(reqs...)
		}
	}
	return out
}

// kinKey is equal for pods of one namespace that kin looks at in the same way.
func kinKey(p *corev1.Pod) string {
	owner := metav1.ControllerOf(p)
	if owner == nil && len(p.Labels) == 0 {
		return ""
	}
	var b keyBuilder
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		b.add(key, p.Labels[key])
	}
	if owner != nil {
		b.add(owner.APIVersion, owner.Kind, owner.Name)
	}
	return b.String()
}
