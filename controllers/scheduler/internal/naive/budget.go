package naive

import (
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// budget is a PodDisruptionBudget.
type budget struct {
	obj      *policyv1.PodDisruptionBudget
	selector labels.Selector
}

// spending is a pod chosen as a victim that a budget's status does not count yet.
type spending struct {
	budget types.NamespacedName
	pod    types.UID
}

// SetBudget adds or replaces a PodDisruptionBudget. Preemption violates budgets only if there is no other
// way.
func (c *Cluster) SetBudget(obj *policyv1.PodDisruptionBudget) {
	b := &budget{obj, labels.Nothing()}
	if sel, err := obj.Spec.Selector.Selector(); err == nil {
		b.selector = sel
	}
	c.budgets[obj.Key()] = b
	maps.DeleteFunc(c.spent, func(s spending, _ bool) bool {
		p := c.pods[s.pod]
		ends := p == nil || p.pod.DeletionTimestamp != nil
		return s.budget == obj.Key() && ends // its end was known before this status, which counts it
	})
}

// RemoveBudget removes a disruption budget.
func (c *Cluster) RemoveBudget(key types.NamespacedName) {
	delete(c.budgets, key)
	maps.DeleteFunc(c.spent, func(s spending, _ bool) bool { return s.budget == key })
}

// spend counts victims against the budgets until their status does.
func (c *Cluster) spend(victims []*placed) {
	for key, b := range c.budgets {
		for _, v := range victims {
			if c.covers(b, v.pod) {
				c.spent[spending{key, v.pod.UID}] = true
			}
		}
	}
}

// unspend gives back what was spent on pods that are no victims any more: their eviction was refused, or the
// pod they were to make room for is gone.
func (c *Cluster) unspend() {
	maps.DeleteFunc(c.spent, func(s spending, _ bool) bool {
		p := c.pods[s.pod]
		return p != nil && p.pod.DeletionTimestamp == nil && !c.nominations.isVictim(s.pod)
	})
}

// covers reports whether the end of the pod counts against the budget.
func (c *Cluster) covers(b *budget, pod *corev1.Pod) bool {
	_, counted := b.obj.Status.DisruptedPods[pod.Name]
	return pod.Namespace == b.obj.Namespace && len(pod.Labels) > 0 && !counted &&
		!c.spent[spending{b.obj.Key(), pod.UID}] && b.selector.Matches(pod.Labels)
}

// left is how many disruptions a budget allows; it can be negative.
func (c *Cluster) left(b *budget) int {
	n := int(b.obj.Status.DisruptionsAllowed)
	for s := range c.spent {
		if s.budget == b.obj.Key() {
			n--
		}
	}
	return n
}

// splitByBudget separates the pods whose end would break a budget, if those before them in the list go too,
// from the others. It keeps their order.
func (c *Cluster) splitByBudget(pods []*placed) (violating, rest []*placed) {
	for i, p := range pods {
		violates := false
		for _, b := range c.budgets {
			covered := 0 // among the pods up to this one
			for _, o := range pods[:i+1] {
				if c.covers(b, o.pod) {
					covered++
				}
			}
			violates = violates || c.covers(b, p.pod) && covered > c.left(b)
		}
		if violates {
			violating = append(violating, p)
		} else {
			rest = append(rest, p)
		}
	}
	return violating, rest
}
