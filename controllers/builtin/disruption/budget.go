package disruption

import (
	"context"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// deletionTimeout is how long a pod whose eviction was allowed may take until it is being deleted.
const deletionTimeout = 2 * time.Minute

// need is how many pods there should be, and how many of them must be healthy.
type need struct{ expected, healthy int32 }

// needs computes the need of a budget. unmanaged is true if it depends on pods that nothing with a scale
// controls.
func (b *budgets) needs(ctx context.Context, pdb *policyv1.PodDisruptionBudget, pods []*corev1.Pod) (n need, unmanaged bool, err error) {
	least, most := pdb.Spec.MinAvailable, pdb.Spec.MaxUnavailable
	switch {
	case most == nil && least == nil:
		return need{}, false, nil
	case most == nil && least.Type == intstr.Int:
		return need{expected: int32(len(pods)), healthy: least.IntVal}, false, nil
	}
	if n.expected, unmanaged, err = b.owners.expected(ctx, pdb.Namespace, pods); err != nil {
		return need{}, unmanaged, err
	}
	bound := least
	if most != nil {
		bound = most
	}
	count, err := intstr.ScaledValue(*bound, int(n.expected), true)
	if err != nil {
		return need{}, unmanaged, err
	}
	if n.healthy = int32(count); most != nil {
		n.healthy = max(n.expected-int32(count), 0)
	}
	return n, unmanaged, nil
}

// disrupted returns the pods whose eviction was allowed and that are still to go, and when the first of them
// is overdue.
func (b *budgets) disrupted(pdb *policyv1.PodDisruptionBudget, pods []*corev1.Pod, now time.Time) (map[string]metav1.Time, time.Duration) {
	var left map[string]metav1.Time
	var again time.Duration
	for _, p := range pods {
		at, evicted := pdb.Status.DisruptedPods[p.Name]
		if !evicted || p.DeletionTimestamp != nil {
			continue
		}
		wait := at.Add(deletionTimeout).Sub(now)
		if wait <= 0 {
			b.recorder.Eventf(p, corev1.EventTypeWarning, "NotDeleted", "Pod was expected by PDB %s/%s to be deleted but it wasn't", pdb.Namespace, pdb.Name)
			continue
		}
		if left == nil {
			left = map[string]metav1.Time{}
		}
		if left[p.Name] = at; again == 0 || wait < again {
			again = wait
		}
	}
	return left, again
}

// healthy counts the pods that are ready and stay.
func healthy(pods []*corev1.Pod, disrupted map[string]metav1.Time) (n int32) {
	for _, p := range pods {
		if _, going := disrupted[p.Name]; going || p.DeletionTimestamp != nil {
			continue
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				n++
			}
		}
	}
	return n
}

// statusOf is what the status should be.
func statusOf(pdb *policyv1.PodDisruptionBudget, n need, current int32, disrupted map[string]metav1.Time) policyv1.PodDisruptionBudgetStatus {
	allowed := max(current-n.healthy, 0)
	if n.expected <= 0 {
		allowed = 0
	}
	c := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, Reason: policyv1.SufficientPodsReason, ObservedGeneration: pdb.Generation}
	if allowed == 0 {
		c.Status, c.Reason = metav1.ConditionFalse, policyv1.InsufficientPodsReason
	}
	conditions := slices.Clone(pdb.Status.Conditions)
	metav1.SetCondition(&conditions, c)
	return policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: pdb.Generation, DisruptedPods: disrupted, DisruptionsAllowed: allowed, CurrentHealthy: current,
		DesiredHealthy: n.healthy, ExpectedPods: n.expected, Conditions: conditions,
	}
}
