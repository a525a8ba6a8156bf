package readiness_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/readiness"
)

// Objects as a server sends them, and what is said of them. The rules are compared with those of kstatus, on
// random objects, in examples/interop.
func TestOf(t *testing.T) {
	for _, c := range []struct{ object, want, reason string }{
		{`{apiVersion: example.com/v1, kind: Website, metadata: {name: a}}`, "Current: Resource is current", ""},
		{`{apiVersion: example.com/v1, kind: Website, metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`,
			"InProgress: Website generation is 2, but latest observed generation is 1", "LatestGenerationNotObserved"},
		{`{apiVersion: example.com/v1, kind: Website, metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}}`, "Current: Resource is Ready", ""},
		{`{apiVersion: example.com/v1, kind: Website, status: {conditions: [{type: Ready, status: "False", reason: NoSuchImage, message: the image does not exist}]}}`,
			"InProgress: the image does not exist", "NoSuchImage"},
		{`{apiVersion: example.com/v1, kind: Website, status: {conditions: [{type: Ready, status: "True"}, {type: Stalled, status: "True", reason: Quota, message: no quota}]}}`, "Failed: no quota", "Quota"},
		{`{apiVersion: example.com/v1, kind: Website, status: {conditions: [{type: Reconciling, status: "True", reason: Scaling, message: 1 of 3}]}}`, "InProgress: 1 of 3", "Scaling"},
		{`{apiVersion: example.com/v1, kind: Website, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {conditions: [{type: Ready, status: "True"}]}}`, "Terminating: Resource scheduled for deletion", "Terminating"},
		{`{apiVersion: example.com/v1, kind: Website, status: {conditions: {type: Ready}}}`, "Unknown: status.conditions is no list", "Malformed"},
		{`{apiVersion: example.com/v1, kind: Website, status: {conditions: [{type: Ready, status: true}]}}`, "Unknown: status.conditions[0].status is no string", "Malformed"},
		{`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, progressDeadlineSeconds: 600}, status: {replicas: 3, updatedReplicas: 2}}`, "InProgress: Updated: 2/3", "LessUpdated"},
		{`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1, progressDeadlineSeconds: 600}, status: {replicas: 1, updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}}`, "Current: Deployment is available. Replicas: 1", ""},
		{`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1}, status: {conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`, "Failed: Progress deadline exceeded", "ProgressDeadlineExceeded"},
		{`{apiVersion: batch/v1, kind: Job, spec: {completions: 2}, status: {startTime: "2026-01-01T00:00:00Z", failed: 1, conditions: [{type: Failed, status: "True"}]}}`, "Failed: Job Failed. failed: 1/2", "JobFailed"},
		{`{apiVersion: v1, kind: Pod, status: {phase: Running, containerStatuses: [{name: c, state: {waiting: {reason: CrashLoopBackOff}}}]}}`, "Failed: Containers in CrashLoop state: c", "ContainerCrashLooping"},
		{`{apiVersion: v1, kind: Pod, status: {phase: Lost}}`, "Unknown: unknown phase Lost", "Malformed"},
		{`{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}`, "InProgress: PVC is not Bound. phase: Pending", "NotBound"},
		{`{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}}`, "InProgress: ClusterIP not set. Service type: LoadBalancer", "NoIPAssigned"},
		{`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: "False", reason: PluralConflict, message: taken}]}}`, "Failed: taken", "PluralConflict"},
	} {
		obj, err := manifest.Parse([]byte(c.object))
		require.NoError(t, err, c.object)
		got := readiness.Of(obj)
		require.Equal(t, c.want, got.String(), c.object)
		require.Equal(t, c.reason, got.Reason, c.object)
	}
	require.Equal(t, readiness.NotFound, readiness.Of(nil).Status)
}

// Typed objects are judged as what they are encoded to.
func TestOfTyped(t *testing.T) {
	d := &appsv1.DaemonSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	require.Equal(t, "NoObservedGeneration", readiness.Of(d).Reason)
	d.Status = appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 2, CurrentNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberAvailable: 1}
	require.Equal(t, "InProgress: Available: 1/2", readiness.Of(d).String())
	d.Status.NumberAvailable, d.Status.NumberReady = 2, 2
	require.Equal(t, readiness.Current, readiness.Of(d).Status)
}

// An unschedulable pod fails when the scheduler has had its time.
func TestUnschedulablePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()}}
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"}}}
		time.Sleep(5 * time.Second)
		early := readiness.Of(p)
		require.Equal(t, readiness.InProgress, early.Status)
		require.Equal(t, 10*time.Second, early.RecheckAfter)
		time.Sleep(early.RecheckAfter)
		require.Equal(t, readiness.Failed, readiness.Of(p).Status)
	})
}

func ExampleOf() {
	obj, err := manifest.Parse([]byte(`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3}, status: {replicas: 3, updatedReplicas: 3, availableReplicas: 1}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	r := readiness.Of(obj)
	fmt.Println(r.Status, r.Reason, r.Message)
	// Output: InProgress LessAvailable Available: 1/3
}
