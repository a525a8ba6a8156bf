package scheduler

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// podGroup is a PodGroup with those of its pods that are on nodes.
type podGroup struct {
	obj    *schedulingv1alpha2.PodGroup // nil if only its pods are known
	placed map[types.UID]*placed
}

// groupKey is the PodGroup of a pod, without a name if it is in none.
func groupKey(pod *corev1.Pod) types.NamespacedName {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return types.NamespacedName{Namespace: pod.Namespace, Name: *g.PodGroupName}
	}
	return types.NamespacedName{}
}

// podGroup returns what is known of a group, making an entry for it.
func (c *Cluster) podGroup(key types.NamespacedName) *podGroup {
	g := c.podGroups[key]
	if g == nil {
		g = &podGroup{placed: map[types.UID]*placed{}}
		c.podGroups[key] = g
	}
	return g
}

// forgetIdle removes the entry of a group of which nothing is known.
func (c *Cluster) forgetIdle(key types.NamespacedName) {
	if g := c.podGroups[key]; g != nil && g.obj == nil && len(g.placed) == 0 {
		delete(c.podGroups, key)
	}
}

// join and leave count a pod of a group that is on a node. They undo each other.
func (c *Cluster) join(p *placed) {
	if p.group.Name != "" {
		c.podGroup(p.group).placed[p.pod.UID] = p
	}
}

func (c *Cluster) leave(p *placed) {
	if p.group.Name != "" {
		delete(c.podGroups[p.group].placed, p.pod.UID)
		c.forgetIdle(p.group)
	}
}

// putPodGroup adds, replaces or removes a PodGroup, and returns what it was.
func (c *Cluster) putPodGroup(obj *schedulingv1alpha2.PodGroup, gone bool) metav1.Object {
	key := types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name}
	if gone {
		obj = nil
	}
	if was := c.setPodGroup(key, obj); was != nil {
		return was
	}
	return nil
}

func (c *Cluster) setPodGroup(key types.NamespacedName, obj *schedulingv1alpha2.PodGroup) (was *schedulingv1alpha2.PodGroup) {
	g := c.podGroup(key)
	was, g.obj = g.obj, obj
	c.forgetIdle(key)
	c.journal.log(func() { c.setPodGroup(key, was) })
	return was
}

// groupObject returns a PodGroup, nil if it is not known.
func (c *Cluster) groupObject(key types.NamespacedName) *schedulingv1alpha2.PodGroup {
	if g := c.podGroups[key]; g != nil {
		return g.obj
	}
	return nil
}

// inGroup is how many pods of a group are on nodes.
func (c *Cluster) inGroup(key types.NamespacedName) int {
	if g := c.podGroups[key]; g != nil {
		return len(g.placed)
	}
	return 0
}

// minCount is how many pods of a group must have nodes before one is bound, 0 if it is no gang.
func minCount(g *schedulingv1alpha2.PodGroup) int {
	if g == nil || g.Spec.SchedulingPolicy.Gang == nil {
		return 0
	}
	return int(g.Spec.SchedulingPolicy.Gang.MinCount)
}
