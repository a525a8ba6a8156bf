package devicetainteviction

import (
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1beta2"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

const inProgress = resourcev1beta2.EvictionInProgress

// progress is what was counted for the status of a rule.
type progress struct {
	// simulated: the effect is None, and the numbers are those of NoExecute.
	simulated bool
	// published and allocated are the devices that the rule selects.
	published, allocated int
	// pods are to be evicted, in that many namespaces; evicted have been since the controller was started.
	pods, namespaces, evicted int
}

// conditionOf returns the condition of a rule, without its time.
func conditionOf(r *rule, seen progress) metav1.Condition {
	c := metav1.Condition{Type: inProgress, Status: metav1.ConditionFalse, ObservedGeneration: r.Generation}
	var text []string
	switch r.Spec.Taint.Effect {
	case resourcev1.DeviceTaintEffectNoExecute:
		switch {
		case seen.pods > 0:
			c.Status, c.Reason = metav1.ConditionTrue, "PodsPendingEviction"
			text = append(text, number(seen.pods, "1 pod needs", "%d pods need")+" to be evicted in "+number(seen.namespaces, "1 namespace.", "%d different namespaces."))
		case seen.evicted > 0:
			c.Reason = "Completed"
		default:
			c.Reason = "NotStarted"
		}
	case resourcev1.DeviceTaintEffectNone:
		c.Reason = "NoEffect"
		text = append(text, number(seen.published, "1 published device", "%d published devices")+" selected.",
			number(seen.allocated, "1 allocated device", "%d allocated devices")+" selected.",
			number(seen.pods, "1 pod", "%d pods")+" would be evicted in "+number(seen.namespaces, "1 namespace", "%d different namespaces")+
				" if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.")
	default:
		c.Reason = "OtherEffect"
		text = append(text, "Eviction only happens for the NoExecute effect.")
	}
	if seen.evicted > 0 {
		text = append(text, number(seen.evicted, "1 pod", "%d pods")+" evicted since starting the controller.")
	}
	c.Message = strings.Join(text, " ")
	return c
}

// number is one text for 1, and another with the number otherwise.
func number(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(several, n)
}
