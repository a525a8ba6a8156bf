package horizontalpodautoscaler

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

var noon = time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)

// running is a pod that has been ready for an hour and requests a core.
func running(name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, new(metav1.NewTime(noon.Add(-time.Hour)))
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))}}
	return p
}

func ask(current int32, target int64, usage ...int64) *question {
	q := &question{current: current, target: target, tolerance: tolerance{0.1, 0.1}, now: noon, samples: map[string]Sample{},
		opts: &Options{CPUInitializationPeriod: 5 * time.Minute, InitialReadinessDelay: 30 * time.Second}}
	for i, v := range usage {
		p := running(fmt.Sprint("p", i))
		q.pods = append(q.pods, p)
		if v >= 0 {
			q.samples[p.Name] = Sample{Value: v, Time: noon, Window: 30 * time.Second}
		}
	}
	return q
}

func TestReplicas(t *testing.T) {
	for name, c := range map[string]struct {
		q     *question
		edit  func(q *question)
		want  int32
		usage int64
	}{
		"above":               {ask(3, 100, 200, 200, 200), nil, 6, 200},
		"below":               {ask(3, 100, 50, 50, 50), nil, 2, 50},
		"tolerated":           {ask(3, 100, 105, 110, 109), nil, 3, 108},
		"just not tolerated":  {ask(3, 100, 112, 111, 111), nil, 4, 111},
		"missing, above":      {ask(3, 100, 300, 300, -1), nil, 6, 300},
		"missing, below":      {ask(3, 100, 10, 10, -1), nil, 2, 10},
		"missing decides not": {ask(2, 100, 150, -1), nil, 2, 150},
		"starting, above":     {ask(3, 100, 300, 300, 900), func(q *question) { q.pods[2].Status.Phase = corev1.PodPending }, 6, 300},
		"starting, below":     {ask(3, 100, 10, 10, 900), func(q *question) { q.pods[2].Status.Phase = corev1.PodPending }, 1, 10},
		"failed":              {ask(3, 100, 200, 200, 900), func(q *question) { q.pods[2].Status.Phase = corev1.PodFailed }, 4, 200},
		"terminating":         {ask(3, 100, 200, 200, 900), func(q *question) { q.pods[2].DeletionTimestamp = new(metav1.Now()) }, 4, 200},
		"cpu of a start": {ask(2, 100, 50, 900), func(q *question) {
			q.cpu = true
			q.pods[1].Status.StartTime = new(metav1.NewTime(noon.Add(-time.Minute)))
			q.pods[1].Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(-10 * time.Second))
		}, 1, 50},
		"cpu of one that is ready long enough": {ask(2, 100, 50, 900), func(q *question) {
			q.cpu = true
			q.pods[1].Status.StartTime = new(metav1.NewTime(noon.Add(-2 * time.Minute)))
			q.pods[1].Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(-time.Minute))
		}, 10, 475},
		"cpu of one that was never ready": {ask(2, 100, 50, 900), func(q *question) {
			q.cpu = true
			q.pods[1].Status.Conditions[0].Status = corev1.ConditionFalse
		}, 1, 50},
	} {
		t.Run(name, func(t *testing.T) {
			if c.edit != nil {
				c.edit(c.q)
			}
			got, err := c.q.replicas()
			require.NoError(t, err)
			require.Equal(t, c.want, got.replicas)
			require.Equal(t, c.usage, got.usage)
		})
	}
	_, err := ask(1, 100).replicas()
	require.ErrorContains(t, err, "no pods returned by selector")
	_, err = ask(1, 100, -1).replicas()
	require.ErrorContains(t, err, "did not receive metrics for targeted pods")
}

// A target in percent of the requests gives what the average in thousandths does, if all request the same,
// and the change that it demands is never in the other direction than usage is from the target.
func TestUtilizationAgreesWithAverage(t *testing.T) {
	for _, seed := range seeds.Of(t, 300) {
		r := seeds.Rand(seed)
		n := 1 + r.IntN(6)
		var usage []int64
		for range n {
			usage = append(usage, int64(r.IntN(300)*10)-int64(r.IntN(2)*10))
		}
		target := int64(1 + r.IntN(150))
		average, percent := ask(int32(n), target*10, usage...), ask(int32(n), target, usage...)
		var err error
		percent.requests, err = requestsOf(percent.pods, corev1.ResourceCPU, "")
		require.NoError(t, err)
		got, err := percent.replicas()
		if err != nil {
			continue
		}
		want, err := average.replicas()
		require.NoError(t, err)
		if len(percent.samples) == n { // else those without a sample count as 100 % at least
			// The percentage is a whole number, by which the ratio differs.
			limit := float64(n)/float64(target) + 0.1*float64(n) + 2
			require.InDelta(t, want.replicas, got.replicas, limit, "seed %d", seed)
		}
		switch ratio := float64(want.usage) / float64(target*10); {
		case ratio > 1:
			require.GreaterOrEqual(t, want.replicas, int32(n), "seed %d", seed)
		default:
			require.LessOrEqual(t, want.replicas, int32(n), "seed %d", seed)
		}
	}
}

func TestRequests(t *testing.T) {
	p := running("p")
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "side", Resources: p.Spec.Containers[0].Resources})
	always := corev1.ContainerRestartPolicyAlways
	p.Spec.InitContainers = []corev1.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: &always, Resources: p.Spec.Containers[0].Resources}}
	all, err := requestsOf([]*corev1.Pod{p}, corev1.ResourceCPU, "")
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"p": 3000}, all)
	one, err := requestOf(p, corev1.ResourceCPU, "side")
	require.NoError(t, err)
	require.EqualValues(t, 1000, one)
	_, err = requestOf(p, corev1.ResourceMemory, "")
	require.EqualError(t, err, "missing request for memory in container main of Pod p")
	_, err = requestOf(p, corev1.ResourceCPU, "none")
	require.EqualError(t, err, "container none not found in Pod p")
	p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}}
	one, err = requestOf(p, corev1.ResourceCPU, "")
	require.NoError(t, err)
	require.EqualValues(t, 250, one)
}

func TestOneValueForAllPods(t *testing.T) {
	allow := tolerance{0.1, 0.1}
	require.EqualValues(t, 6, perTarget(3, 200, 100, 3, allow))
	require.EqualValues(t, 3, perTarget(3, 109, 100, 3, allow))
	require.EqualValues(t, 2, perTarget(0, 150, 100, 0, allow))
	require.EqualValues(t, math.MaxInt32, perTarget(3, math.MaxInt64, 1, 3, allow))
	n, average := perPod(3, 600, 100, allow)
	require.EqualValues(t, 6, n)
	require.EqualValues(t, 200, average)
	n, _ = perPod(3, math.MaxInt64, 1, allow)
	require.EqualValues(t, math.MaxInt32, n)
}
