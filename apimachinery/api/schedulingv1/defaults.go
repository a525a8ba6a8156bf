package schedulingv1

import "github.com/keelson-dev/keelson/apimachinery/api/corev1"

// DefaultPriorityClass lets pods of a class preempt others unless it says otherwise.
func DefaultPriorityClass(c *PriorityClass) {
	if c.PreemptionPolicy == nil {
		c.PreemptionPolicy = new(corev1.PreemptLowerPriority)
	}
}
