package nodelifecycle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func TestTaintsOf(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	before, now := &metav1.Time{Time: start}, &metav1.Time{Time: start.Add(time.Minute)}
	foreign := corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}
	taint := func(key string, effect corev1.TaintEffect, at *metav1.Time) corev1.Taint {
		return corev1.Taint{Key: key, Effect: effect, TimeAdded: at}
	}
	const schedule, execute = corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute
	for name, c := range map[string]struct {
		ready    corev1.ConditionStatus
		cordoned bool
		evicts   bool
		have     []corev1.Taint
		want     []corev1.Taint // nil: no change
	}{
		"ready":                        {ready: corev1.ConditionTrue, have: []corev1.Taint{foreign}},
		"cordoned":                     {ready: corev1.ConditionTrue, cordoned: true, want: []corev1.Taint{taint(TaintUnschedulable, schedule, now)}},
		"never reported":               {want: []corev1.Taint{taint(TaintNotReady, schedule, now)}},
		"not ready, eviction may wait": {ready: corev1.ConditionFalse, have: []corev1.Taint{foreign}, want: []corev1.Taint{foreign, taint(TaintNotReady, schedule, now)}},
		"silent": {ready: corev1.ConditionUnknown, evicts: true, have: []corev1.Taint{taint(TaintNotReady, schedule, before)},
			want: []corev1.Taint{taint(TaintUnreachable, schedule, now), taint(TaintUnreachable, execute, now)}},
		"the times of those that stay": {ready: corev1.ConditionUnknown, evicts: true, have: []corev1.Taint{taint(TaintUnreachable, schedule, before)},
			want: []corev1.Taint{taint(TaintUnreachable, schedule, before), taint(TaintUnreachable, execute, now)}},
		"ready again":     {ready: corev1.ConditionTrue, have: []corev1.Taint{taint(TaintNotReady, execute, before), foreign}, want: []corev1.Taint{foreign}},
		"nothing changes": {ready: corev1.ConditionFalse, evicts: true, have: []corev1.Taint{taint(TaintNotReady, execute, before), taint(TaintNotReady, schedule, before)}},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{}
			node.Spec.Taints, node.Spec.Unschedulable = c.have, c.cordoned
			if c.ready != "" {
				node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: c.ready}}
			}
			got, changed := taintsOf(node, c.evicts, now.Time)
			require.Equal(t, c.want != nil, changed)
			if changed {
				require.Equal(t, c.want, got)
			}
		})
	}
}

func TestUnknown(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	node := &corev1.Node{}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	next := unknown(node, now)
	require.Equal(t, corev1.ConditionTrue, node.Status.Conditions[0].Status, "the node is not changed")
	reasons := map[corev1.NodeConditionType]string{}
	for _, c := range next.Status.Conditions {
		require.Equal(t, corev1.ConditionUnknown, c.Status)
		reasons[c.Type] = c.Reason
	}
	require.Equal(t, map[corev1.NodeConditionType]string{corev1.NodeReady: "NodeStatusUnknown", corev1.NodeMemoryPressure: "NodeStatusNeverUpdated",
		corev1.NodeDiskPressure: "NodeStatusNeverUpdated", corev1.NodePIDPressure: "NodeStatusNeverUpdated"}, reasons)
	require.Nil(t, unknown(next, now), "they are")
}

func TestBetaLabels(t *testing.T) {
	for _, k := range []struct{ labels, want map[string]string }{
		{nil, nil},
		{map[string]string{"beta.kubernetes.io/os": "linux"}, nil},
		{map[string]string{"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}, nil},
		{map[string]string{"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "amd64"},
			map[string]string{"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "arm64"}},
	} {
		node := &corev1.Node{}
		node.Labels = k.labels
		next := betaLabels(node)
		if k.want == nil {
			require.Nil(t, next, k.labels)
			continue
		}
		require.Equal(t, k.want, next.Labels)
		require.Nil(t, betaLabels(next))
	}
}
