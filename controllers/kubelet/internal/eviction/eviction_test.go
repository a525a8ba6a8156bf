package eviction

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

func TestParse(t *testing.T) {
	got, err := Parse(Policy{Hard: map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "imagefs.available": "0%", "pid.available": "0", "containerfs.available": "5%"},
		Soft: map[string]string{"memory.available": "1Gi"}, SoftGrace: map[string]string{"memory.available": "1m30s"},
		MinimumReclaim: map[string]string{"memory.available": "50Mi", "nodefs.available": "1%"}, Allocatable: true})
	require.NoError(t, err)
	mi := int64(1 << 20)
	require.Equal(t, []Threshold{
		{Signal: MemoryAvailable, Least: Amount{Value: 100 * mi}, Reclaim: Amount{Value: 50 * mi}},
		{Signal: NodeFsAvailable, Least: Amount{Percent: 10}, Reclaim: Amount{Percent: 1}},
		{Signal: MemoryAvailable, Least: Amount{Value: 1024 * mi}, Reclaim: Amount{Value: 50 * mi}, Soft: true, Grace: 90 * time.Second},
		{Signal: AllocatableMemoryAvailable, Least: Amount{Value: 100 * mi}},
	}, got)
	for _, bad := range []struct {
		p    Policy
		want string
	}{
		{Policy{Hard: map[string]string{"disk.available": "1Gi"}}, `evictionHard: unknown signal "disk.available"`},
		{Policy{Hard: map[string]string{"memory.available": "-1Gi"}}, "negative"},
		{Policy{Hard: map[string]string{"memory.available": "101%"}}, "not within 0% and 100%"},
		{Policy{Hard: map[string]string{"memory.available": "NaN%"}}, "not within 0% and 100%"},
		{Policy{Soft: map[string]string{"memory.available": "1Gi"}}, "needs a grace period"},
		{Policy{Soft: map[string]string{"memory.available": "1Gi"}, SoftGrace: map[string]string{"memory.available": "soon"}}, "no duration"},
		{Policy{SoftGrace: map[string]string{"memory.available": "1m"}}, "has no soft threshold"},
		{Policy{MinimumReclaim: map[string]string{"memory": "1"}}, "unknown signal"},
	} {
		_, err := Parse(bad.p)
		require.ErrorContains(t, err, bad.want)
	}
	_, err = Parse(Policy{Hard: Default})
	require.NoError(t, err)
}

// What a state decides, second by second, is what a look at the whole history decides.
func TestStateFollowsTheHistory(t *testing.T) {
	for _, seed := range seeds.Of(t, 20) {
		r := seeds.Stream(seed, 1)
		thresholds := []Threshold{
			{Signal: MemoryAvailable, Least: Amount{Value: 10}, Reclaim: Amount{Value: 5}},
			{Signal: MemoryAvailable, Least: Amount{Percent: 30}, Soft: true, Grace: 5 * time.Second},
			{Signal: NodeFsAvailable, Least: Amount{Value: 20}, Reclaim: Amount{Percent: 10}, Soft: true, Grace: 3 * time.Second},
		}
		var s State
		start := time.Unix(1000, 0)
		met := make([]int, len(thresholds)) // for how many looks in a row, -1 before
		held := make([]bool, len(thresholds))
		pressed := map[corev1.NodeConditionType]int{}
		for look := range 60 {
			now := start.Add(time.Duration(look) * time.Second)
			o := Observations{MemoryAvailable: {100, r.Uint64N(45)}, NodeFsAvailable: {100, r.Uint64N(40)}}
			var want []Threshold
			for i, th := range thresholds {
				obs := o[th.Signal]
				least := th.Least.Of(obs.Capacity)
				if held[i] {
					least += th.Reclaim.Of(obs.Capacity)
				}
				if obs.Available >= least {
					met[i], held[i] = 0, false
					continue
				}
				met[i]++
				pressed[th.Signal.Condition()] = look
				held[i] = time.Duration(met[i]-1)*time.Second >= th.Grace
				if held[i] {
					want = append(want, th)
				}
			}
			slices.SortStableFunc(want, byUrgency)
			require.Equal(t, want, slices.Clip(s.Next(now, thresholds, o)), "seed %d, look %d", seed, look)
			for _, c := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure} {
				at, ever := pressed[c]
				require.Equal(t, ever && look-at < 4, slices.Contains(s.Conditions(now, 4*time.Second), c), "seed %d, look %d, %s", seed, look, c)
			}
		}
	}
}

func testPod(name string, priority int32, request string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	p.Spec.Priority = &priority
	p.Spec.Containers = []corev1.Container{{Name: "a"}}
	if request != "" {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(request), corev1.ResourceEphemeralStorage: resource.MustParse(request)}
	}
	return p
}

func TestRank(t *testing.T) {
	pods := []*corev1.Pod{testPod("within", 0, "100"), testPod("over-important", 5, "10"), testPod("over", 0, "10"), testPod("over-more", 0, ""), testPod("unknown", 9, "100")}
	s := &usage.Sample{Pods: map[types.UID]*usage.Pod{}}
	for name, n := range map[types.UID]uint64{"within": 99, "over-important": 90, "over": 20, "over-more": 30} {
		s.Pods[name] = &usage.Pod{Containers: []usage.Container{{Name: "a", WorkingSet: n, MemoryAt: time.Unix(1, 0), Layer: usage.Space{Bytes: n}}}}
	}
	want := []string{"unknown", "over-more", "over", "over-important", "within"}
	for _, signal := range []Signal{MemoryAvailable, AllocatableMemoryAvailable, NodeFsAvailable, ImageFsAvailable} {
		rand.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		Rank(pods, signal, s)
		var names []string
		for _, p := range pods {
			names = append(names, p.Name)
		}
		require.Equal(t, want, names, signal)
	}
	// With images on a file system of their own, what containers write there does not count for the node's.
	s.Image.Device = "other"
	s.Pods["within"].Other.Bytes = 500
	Rank(pods, NodeFsAvailable, s)
	require.Equal(t, "within", pods[1].Name, fmt.Sprint(pods[0].Name, " first"))
}

func TestOverLimit(t *testing.T) {
	limited := func(limit string) *corev1.Pod {
		p := testPod("p", 0, "")
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(limit)}
		return p
	}
	u := &usage.Pod{Containers: []usage.Container{{Name: "a", Logs: usage.Space{Bytes: 60}, Layer: usage.Space{Bytes: 30}}}, Other: usage.Space{Bytes: 5}}
	require.Empty(t, OverLimit(limited("95"), u, false))
	require.Equal(t, "Pod ephemeral local storage usage exceeds the total limit of containers 94. ", OverLimit(limited("94"), u, false))
	u.Other = usage.Space{}
	p := limited("50")
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "b", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1k")}}})
	require.Equal(t, `Container a exceeded its local ephemeral storage limit "50". `, OverLimit(p, u, true))
	require.Empty(t, OverLimit(testPod("p", 0, ""), u, false))
}

func TestAdmits(t *testing.T) {
	memory, disk := []corev1.NodeConditionType{corev1.NodeMemoryPressure}, []corev1.NodeConditionType{corev1.NodeDiskPressure}
	effort, burstable, critical, mirror := testPod("a", 0, ""), testPod("b", 0, "1"), testPod("c", 2_000_000_000, ""), testPod("d", 0, "")
	mirror.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
	tolerant := testPod("e", 0, "")
	tolerant.Spec.Tolerations = []corev1.Toleration{{Key: "node.kubernetes.io/memory-pressure", Operator: corev1.TolerationOpExists}}
	for _, c := range []struct {
		conditions []corev1.NodeConditionType
		pod        *corev1.Pod
		want       bool
	}{
		{nil, effort, true}, {memory, effort, false}, {memory, burstable, true}, {memory, critical, true}, {memory, mirror, true}, {memory, tolerant, true},
		{disk, burstable, false}, {disk, tolerant, false}, {disk, critical, true}, {slices.Concat(memory, disk), burstable, false},
	} {
		require.Equal(t, c.want, Admits(c.conditions, c.pod), "%v %s", c.conditions, c.pod.Name)
	}
}
