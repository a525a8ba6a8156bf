package nodelifecycle

import (
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// unknown returns a silent node with the conditions that a kubelet reports set to Unknown; nil if they are.
func unknown(node *corev1.Node, now time.Time) *corev1.Node {
	next := codec.DeepCopy(node)
	changed := false
	for _, t := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		c := find(next, t)
		switch {
		case c == nil:
			next.Status.Conditions = append(next.Status.Conditions, corev1.NodeCondition{Type: t, Status: corev1.ConditionUnknown,
				Reason: "NodeStatusNeverUpdated", Message: "Kubelet never posted node status.",
				LastHeartbeatTime: node.CreationTimestamp, LastTransitionTime: metav1.Time{Time: now}})
		case c.Status != corev1.ConditionUnknown:
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
			c.LastTransitionTime = metav1.Time{Time: now}
		default:
			continue
		}
		changed = true
	}
	if !changed {
		return nil
	}
	return next
}

// betaLabels returns a node whose beta labels of the operating system and the architecture are those that the
// stable ones are; nil if they are, or if there are no stable ones.
func betaLabels(node *corev1.Node) (next *corev1.Node) {
	for stable, beta := range map[string]string{"kubernetes.io/os": "beta.kubernetes.io/os", "kubernetes.io/arch": "beta.kubernetes.io/arch"} {
		want, has := node.Labels[stable]
		if got, there := node.Labels[beta]; !has || there && got == want {
			continue
		}
		if next == nil {
			next = codec.DeepCopy(node)
		}
		next.Labels[beta] = want
	}
	return next
}

// taintsOf returns the taints that a node should have, with those that are not of this controller and with
// the time of those that stay, and whether they are others than it has.
func taintsOf(node *corev1.Node, mayEvict bool, now time.Time) (taints []corev1.Taint, changed bool) {
	want := wanted(node, mayEvict)
	have := 0
	for _, t := range node.Spec.Taints {
		switch {
		case !owned(t):
			taints = append(taints, t)
		case slices.ContainsFunc(want, func(w corev1.Taint) bool { return same(w, t) }):
			taints = append(taints, t)
			have++
		}
	}
	if have == len(want) && len(taints) == len(node.Spec.Taints) {
		return taints, false
	}
	for _, w := range want {
		if !slices.ContainsFunc(taints, func(t corev1.Taint) bool { return same(w, t) }) {
			w.TimeAdded = &metav1.Time{Time: now}
			taints = append(taints, w)
		}
	}
	return taints, true
}

// wanted are the taints a node's state calls for.
func wanted(node *corev1.Node, mayEvict bool) []corev1.Taint {
	var out []corev1.Taint
	add := func(key string, effect corev1.TaintEffect) { out = append(out, corev1.Taint{Key: key, Effect: effect}) }
	drive := func(key string) {
		add(key, corev1.TaintEffectNoSchedule)
		if mayEvict {
			add(key, corev1.TaintEffectNoExecute)
		}
	}
	switch conditionStatus(node, corev1.NodeReady) {
	case corev1.ConditionFalse:
		drive(TaintNotReady)
	case corev1.ConditionUnknown:
		drive(TaintUnreachable)
	case "":
		add(TaintNotReady, corev1.TaintEffectNoSchedule)
	}
	for _, p := range []struct {
		condition corev1.NodeConditionType
		key       string
	}{{corev1.NodeMemoryPressure, TaintMemoryPressure}, {corev1.NodeDiskPressure, TaintDiskPressure},
		{corev1.NodePIDPressure, TaintPIDPressure}, {corev1.NodeNetworkUnavailable, TaintNetworkUnavailable}} {
		if conditionStatus(node, p.condition) == corev1.ConditionTrue {
			add(p.key, corev1.TaintEffectNoSchedule)
		}
	}
	if node.Spec.Unschedulable {
		add(TaintUnschedulable, corev1.TaintEffectNoSchedule)
	}
	return out
}

func owned(t corev1.Taint) bool {
	switch t.Key {
	case TaintNotReady, TaintUnreachable:
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	case TaintUnschedulable, TaintMemoryPressure, TaintDiskPressure, TaintPIDPressure, TaintNetworkUnavailable:
		return t.Effect == corev1.TaintEffectNoSchedule
	}
	return false
}
