package replicaset

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// podsOf returns n pods, of which the first are ready, since the start.
func podsOf(n, ready int) (out []*corev1.Pod) {
	for i := range n {
		p := &corev1.Pod{}
		p.Name, p.Spec.NodeName, p.Status.Phase = fmt.Sprint("pod-", i), fmt.Sprint("node-", i%2), corev1.PodRunning
		p.Labels, p.CreationTimestamp = map[string]string{"app": "web"}, metav1.Time{Time: start}
		if i < ready {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: start}}}
		}
		out = append(out, p)
	}
	return out
}

func setOf(n int32) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{}
	rs.Generation, rs.Spec.Replicas, rs.Spec.MinReadySeconds = 3, &n, 10
	rs.Spec.Template.Labels = map[string]string{"app": "web"}
	return rs
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		size    int32
		pods    []*corev1.Pod
		related map[string]int
		create  int
		delete  []string
	}{
		"enough":                        {size: 2, pods: podsOf(2, 2)},
		"the difference":                {size: 5, pods: podsOf(2, 2), create: 3},
		"not more than a burst":         {size: 2000, create: 500},
		"those that are not ready":      {size: 1, pods: podsOf(3, 1), delete: []string{"pod-1", "pod-2"}},
		"where there are more of them":  {size: 3, pods: podsOf(4, 4), related: map[string]int{"node-0": 2, "node-1": 7}, delete: []string{"pod-1"}},
		"all, in the order they are in": {pods: podsOf(2, 1), delete: []string{"pod-0", "pod-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf(setOf(c.size), c.pods, start)
			s.related = c.related
			p := decide(s)
			var names []string
			for _, pod := range p.delete {
				names = append(names, pod.Name)
			}
			require.Equal(t, c.create, p.create)
			require.Equal(t, c.delete, names)
			require.Len(t, s.active, len(c.pods), "a plan changes nothing")
		})
	}
}

func TestStatusOf(t *testing.T) {
	pods := podsOf(5, 3)
	pods[3].Labels, pods[4].DeletionTimestamp = nil, &metav1.Time{Time: start}
	ended := podsOf(1, 0)[0]
	ended.DeletionTimestamp, ended.Status.Phase = &metav1.Time{Time: start}, corev1.PodSucceeded
	s := stateOf(setOf(4), append(pods, ended), start.Add(4*time.Second))
	status, again := statusOf(s, nil)
	require.Equal(t, appsv1.ReplicaSetStatus{ObservedGeneration: 3, Replicas: 4, FullyLabeledReplicas: 3, ReadyReplicas: 3, TerminatingReplicas: new(int32(1))}, status)
	require.Equal(t, 6*time.Second, again, "then three are available")

	s.now = start.Add(10 * time.Second)
	status, again = statusOf(s, nil)
	require.Equal(t, int32(3), status.AvailableReplicas)
	require.Zero(t, again)

	s.rs.Spec.Replicas = new(int32(9))
	status, _ = statusOf(s, errors.New("no room for pod x"))
	failure := appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
		Message: "no room for pod x", LastTransitionTime: metav1.Time{Time: s.now}}
	require.Equal(t, []appsv1.ReplicaSetCondition{failure}, status.Conditions)

	s.rs.Status, s.now = status, s.now.Add(time.Minute)
	status, _ = statusOf(s, errors.New("no room for pod y"))
	require.Equal(t, []appsv1.ReplicaSetCondition{failure}, status.Conditions, "the first failure stands")
	status, _ = statusOf(s, nil)
	require.Empty(t, status.Conditions)
}
