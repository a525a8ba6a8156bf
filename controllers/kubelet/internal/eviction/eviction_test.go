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
	got, err := Parse(Policy{Hard: map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "imagefs.available": "0%", "nodefs.inodesFree": "100%", "containerfs.available": "5%"},
		Soft: map[string]string{"memory.available": "1Gi"}, SoftGrace: map[string]string{"memory.available": "1m30s"},
		MinimumReclaim: map[string]string{"memory.available": "50Mi", "nodefs.available": "1%"}, Allocatable: true})
	require.NoError(t, err)
	mi := int64(1 << 20)
	require.Equal(t, []Threshold{
		{Signal: MemoryAvailable, Least: Amount{Value: 100 * mi, Text: "100Mi"}, Reclaim: Amount{Value: 50 * mi, Text: "50Mi"}},
		{Signal: NodeFsAvailable, Least: Amount{Part: .1}, Reclaim: Amount{Part: .01}},
		{Signal: MemoryAvailable, Least: Amount{Value: 1024 * mi, Text: "1Gi"}, Reclaim: Amount{Value: 50 * mi, Text: "50Mi"}, Soft: true, Grace: 90 * time.Second},
		{Signal: AllocatableMemoryAvailable, Least: Amount{Value: 100 * mi, Text: "100Mi"}, Reclaim: Amount{Value: 50 * mi, Text: "50Mi"}},
	}, got)
	for _, bad := range []struct {
		p    Policy
		want string
	}{
		{Policy{Hard: map[string]string{"disk.available": "1Gi"}}, `evictionHard: unknown signal "disk.available"`},
		{Policy{Hard: map[string]string{"memory.available": "-1Gi"}}, "negative"},
		{Policy{Hard: map[string]string{"pid.available": "0"}}, "eviction threshold pid.available must be positive: 0"},
		{Policy{MinimumReclaim: map[string]string{"pid.available": "0%"}}, "is not positive"},
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
			{Signal: MemoryAvailable, Least: Amount{Part: .3}, Soft: true, Grace: 5 * time.Second},
			{Signal: NodeFsAvailable, Least: Amount{Value: 20}, Reclaim: Amount{Part: .1}, Soft: true, Grace: 3 * time.Second},
		}
		var s State
		start := time.Unix(1000, 0)
		met := make([]int, len(thresholds)) // for how many looks in a row, -1 before
		held := make([]bool, len(thresholds))
		pressed := map[corev1.NodeConditionType]int{}
		for look := range 60 {
			now := start.Add(time.Duration(look) * time.Second)
			o := Observations{MemoryAvailable: {Capacity: 100, Available: r.Uint64N(45)}, NodeFsAvailable: {Capacity: 100, Available: r.Uint64N(40)}}
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
	s.Image.Device, s.Layer.Device = "other", "other"
	s.Pods["within"].Other.Bytes = 500
	Rank(pods, NodeFsAvailable, s)
	require.Equal(t, "within", pods[1].Name, fmt.Sprint(pods[0].Name, " first"))
	// If it is on the node's all the same, it does, and images are no pod's.
	s.Layer.Device, s.Pods["within"].Other.Bytes = "", 0
	Rank(pods, NodeFsAvailable, s)
	require.Equal(t, want, podNames(pods))
	Rank(pods, ImageFsAvailable, s)
	require.Equal(t, []string{"unknown", "over-more", "over", "within", "over-important"}, podNames(pods), "by priority, and the least requested first")
}

func podNames(pods []*corev1.Pod) (names []string) {
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return names
}

// No inodes and no processes are requested. For processes the priority comes before all else.
func TestRankOfWhatIsNotRequested(t *testing.T) {
	pods := []*corev1.Pod{testPod("unknown", 5, ""), testPod("few", 0, ""), testPod("many", 0, ""), testPod("many-requested", 0, "1k"), testPod("none", 0, "")}
	s := &usage.Sample{Pods: map[types.UID]*usage.Pod{}}
	for name, n := range map[types.UID]uint64{"few": 5, "many": 9, "many-requested": 50, "none": 0} {
		s.Pods[name] = &usage.Pod{Processes: n, Containers: []usage.Container{{Name: "a", Layer: usage.Space{Inodes: n}}}}
	}
	for signal, want := range map[Signal][]string{
		NodeFsInodesFree: {"unknown", "many", "few", "many-requested", "none"},
		PIDAvailable:     {"many-requested", "many", "few", "none", "unknown"},
	} {
		rand.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		Rank(pods, signal, s)
		require.Equal(t, want, podNames(pods), signal)
	}
}

// A part of the capacity has the precision that Kubernetes' kubelet has: the nodes of both have the same
// allocatable resources.
func TestPartsOfACapacity(t *testing.T) {
	all, err := Parse(Policy{Hard: Default})
	require.NoError(t, err)
	memory, disk := Reserved(all, 16<<30, 105_089_261_568)
	require.EqualValues(t, 100<<20, memory)
	require.EqualValues(t, 10_508_926_313, disk)
}

// A soft threshold without a grace period is a hard one, for the memory of pods too.
func TestSoftWithoutGrace(t *testing.T) {
	all, err := Parse(Policy{Soft: map[string]string{"memory.available": "1Gi"}, SoftGrace: map[string]string{"memory.available": "0s"}, Allocatable: true})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, AllocatableMemoryAvailable, all[1].Signal)
}

// Nothing is done a second time for one observation, which does not show what the first time has changed.
func TestStaleObservations(t *testing.T) {
	images := []Threshold{{Signal: ImageFsAvailable, Least: Amount{Value: 10}}}
	start := time.Unix(1000, 0)
	var s State
	look := func(second int, at time.Time) int {
		return len(s.Next(start.Add(time.Duration(second)*time.Second), images, Observations{ImageFsAvailable: {Capacity: 100, Available: 5, At: at}}))
	}
	require.Equal(t, 1, look(0, start))
	require.Equal(t, 0, look(1, start))
	require.Equal(t, []corev1.NodeConditionType{corev1.NodeDiskPressure}, s.Conditions(start.Add(time.Second), time.Minute))
	require.Equal(t, 1, look(2, start.Add(2*time.Second)))
	require.Equal(t, 1, look(3, time.Time{}), "it is not known when that was measured")
	require.Equal(t, 1, look(4, start), "nor whether this is newer")
}

// What is said of an eviction, for people and for programs.
func TestMessage(t *testing.T) {
	pod := testPod("web", 0, "1")
	pod.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Mi")}}
	pod.Spec.InitContainers = []corev1.Container{{Name: "side"}}
	s := &usage.Sample{Pods: map[types.UID]*usage.Pod{"web": {Containers: []usage.Container{{Name: "a", WorkingSet: 1 << 20, MemoryAt: time.Unix(1, 0)}, {Name: "side", WorkingSet: 2 << 20, MemoryAt: time.Unix(1, 0)}}}}}
	text, annotations := Message(pod, Threshold{Signal: MemoryAvailable, Least: Amount{Value: 1e9, Text: "1G"}}, Observations{MemoryAvailable: {Capacity: 8 << 30, Available: 1 << 20}}, s)
	require.Equal(t, "The node was low on resource: memory. Threshold quantity: 1G, available: 1Mi. Pod web was using 3Mi, request is 2Mi, has larger consumption of memory. "+
		"Container a was using 1Mi, request is 1, has larger consumption of memory. Container side was using 2Mi, request is 0, has larger consumption of memory. ", text)
	require.Equal(t, map[string]string{"starved_resource": "memory", "offending_pod": "web", "offending_pod_usage": "3Mi", "offending_containers": "a,side", "offending_containers_usage": "1Mi,2Mi"}, annotations)
	text, annotations = Message(pod, Threshold{Signal: NodeFsInodesFree, Least: Amount{Part: .05}}, Observations{NodeFsInodesFree: {Capacity: 6_553_600, Available: 1000}}, s)
	require.Equal(t, "The node was low on resource: inodes. Threshold quantity: 320Ki, available: 1k. ", text)
	require.Equal(t, map[string]string{"starved_resource": "inodes", "offending_containers": "", "offending_containers_usage": ""}, annotations)
}

func TestOverLimit(t *testing.T) {
	limited := func(limit string) *corev1.Pod {
		p := testPod("p", 0, "")
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(limit)}
		return p
	}
	u := &usage.Pod{Containers: []usage.Container{{Name: "a", Logs: usage.Space{Bytes: 60}, Layer: usage.Space{Bytes: 30}}}, Other: usage.Space{Bytes: 5}}
	over := func(p *corev1.Pod, apart bool) string {
		signal, why := OverLimit(p, u, apart)
		return signal + ": " + why
	}
	require.Equal(t, ": ", over(limited("95"), false))
	require.Equal(t, "ephemeralpodfs.limit: Pod ephemeral local storage usage exceeds the total limit of containers 94. ", over(limited("94"), false))
	u.Other = usage.Space{}
	p := limited("50")
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "b", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1k")}}})
	require.Equal(t, `ephemeralcontainerfs.limit: Container a exceeded its local ephemeral storage limit "50". `, over(p, true))
	require.Equal(t, ": ", over(testPod("p", 0, ""), false))
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
