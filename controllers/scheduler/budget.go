package scheduler

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
	// spent are the pods chosen as victims since, which the budget's status does not count yet.
	spent map[types.UID]bool
}

// SetBudget adds or replaces a PodDisruptionBudget. Preemption violates budgets only if there is no other
// way.
func (c *Cluster) SetBudget(obj *policyv1.PodDisruptionBudget) {
	c.saveBudgets()
	key := obj.Key()
	b := c.budgets[key]
	if b == nil {
		b = &budget{spent: map[types.UID]bool{}}
		c.budgets[key] = b
	}
	b.obj, b.selector = obj, labels.Nothing()
	if sel, err := obj.Spec.Selector.Selector(); err == nil {
		b.selector = sel
	}
	for uid := range b.spent {
		if p := c.pods[uid]; p == nil || p.pod.DeletionTimestamp != nil {
			delete(b.spent, uid) // its end was known before this status, which counts it
		}
	}
}

// RemoveBudget removes a disruption budget.
func (c *Cluster) RemoveBudget(key types.NamespacedName) {
	c.saveBudgets()
	delete(c.budgets, key)
}

// saveBudgets lets the journal restore all budgets.
func (c *Cluster) saveBudgets() {
	if c.journal.open == 0 || c.journal.undoing {
		return
	}
	was := cloneBudgets(c.budgets)
	c.journal.log(func() { c.budgets = was })
}

func cloneBudgets(all map[types.NamespacedName]*budget) map[types.NamespacedName]*budget {
	out := map[types.NamespacedName]*budget{}
	for key, b := range all {
		dup := *b
		dup.spent = maps.Clone(b.spent)
		out[key] = &dup
	}
	return out
}

// spend counts victims against the budgets until their status does.
func (c *Cluster) spend(victims []*placed) {
	if len(c.budgets) > 0 {
		c.saveBudgets()
	}
	for _, b := range c.budgets {
		for _, v := range victims {
			if b.covers(v.pod) {
				b.spent[v.pod.UID] = true
			}
		}
	}
}

// unspend gives back what was spent on pods that are no victims any more: their eviction was refused, or the
// pod they were to make room for is gone.
func (c *Cluster) unspend() {
	if len(c.budgets) > 0 {
		c.saveBudgets()
	}
	for _, b := range c.budgets {
		for uid := range b.spent {
			if p := c.pods[uid]; p != nil && p.pod.DeletionTimestamp == nil && c.nominations.leaving[uid] == nil {
				delete(b.spent, uid)
			}
		}
	}
}

// covers reports whether the end of the pod counts against the budget.
func (b *budget) covers(pod *corev1.Pod) bool {
	if pod.Namespace != b.obj.Namespace || len(pod.Labels) == 0 || b.spent[pod.UID] {
		return false
	}
	_, counted := b.obj.Status.DisruptedPods[pod.Name]
	return !counted && b.selector.Matches(pod.Labels)
}

// splitByBudget separates the pods whose end would break a budget, if those before them in the list go too,
// from the others. It keeps their order.
func (c *Cluster) splitByBudget(pods []*placed) (violating, rest []*placed) {
	if len(c.budgets) == 0 {
		return nil, pods
	}
	left := map[*budget]int{}
	for _, p := range pods {
		violates := false
		for _, b := range c.budgets {
			if !b.covers(p.pod) {
				continue
			}
			if _, ok := left[b]; !ok {
				left[b] = int(b.obj.Status.DisruptionsAllowed) - len(b.spent)
			}
			left[b]--
			violates = violates || left[b] < 0
		}
		if violates {
			violating = append(violating, p)
		} else {
			rest = append(rest, p)
		}
	}
	return violating, rest
}
