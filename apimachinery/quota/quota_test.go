package quota_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

func pod(edit ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{}
	p.Spec.Containers = []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}, Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}
	for _, e := range edit {
		e(p)
	}
	return p
}

func amount(list corev1.ResourceList, name corev1.ResourceName) string {
	q := list[name]
	return q.String()
}

func TestUsageOfPods(t *testing.T) {
	u := quota.Usage("pods", pod())
	for name, want := range map[corev1.ResourceName]string{"pods": "1", "count/pods": "1", "cpu": "500m", "requests.cpu": "500m", "limits.cpu": "1"} {
		require.Equal(t, want, amount(u, name), string(name))
	}
	u = quota.Usage("pods", pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }))
	require.Len(t, u, 1)
	require.Equal(t, "1", amount(u, "count/pods"))
}

// A pod that stays after its deletion, such as on a lost node, is charged until its grace period has passed
// after the deletionTimestamp.
// A pod that is resized uses the largest of what it requests, has been allocated and has; overhead is no
// limit of its own.
func TestUsageOfResizedPods(t *testing.T) {
	cpu := func(n string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
	}
	resizing := func(edit func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{}
		p.Spec.Overhead = cpu("10m")
		p.Spec.Containers = []corev1.Container{{Name: "a"}, {Name: "b"}}
		p.Spec.Containers[0].Resources.Requests = cpu("2")
		p.Spec.InitContainers = []corev1.Container{{Name: "i"}, {Name: "side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", AllocatedResources: cpu("3"), Resources: &corev1.ResourceRequirements{Requests: cpu("4"), Limits: cpu("5")}}}
		edit(p)
		return p
	}
	infeasible := corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}
	for i, k := range []struct {
		pod              *corev1.Pod
		requests, limits string
	}{
		{resizing(func(p *corev1.Pod) { p.Status = corev1.PodStatus{} }), "2010m", "0"},
		{resizing(func(p *corev1.Pod) {}), "4010m", "5010m"},
		{resizing(func(p *corev1.Pod) { p.Status.ContainerStatuses[0].AllocatedResources = cpu("6") }), "6010m", "5010m"},
		{resizing(func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = cpu("7") }), "7010m", "5010m"},
		{resizing(func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = cpu("7")
			p.Status.Conditions = []corev1.PodCondition{infeasible}
		}), "4010m", "5010m"},
		{resizing(func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Resources = nil }), "2010m", "0"},
		{resizing(func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Name = "other" }), "2010m", "0"},
		{resizing(func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "side", Resources: &corev1.ResourceRequirements{Requests: cpu("1")}},
				{Name: "i", Resources: &corev1.ResourceRequirements{Requests: cpu("100")}}}
		}), "5010m", "5010m"},
	} {
		before := codec.DeepCopy(k.pod)
		used := quota.Usage("pods", k.pod)
		require.Equal(t, before, k.pod)
		require.Equal(t, k.requests, amount(used, "requests.cpu"), i)
		require.Equal(t, k.limits, amount(used, "limits.cpu"), i)
	}
}

func TestOverdueDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deleted := pod(func(p *corev1.Pod) {
			at := metav1.NewTime(time.Now().Add(30 * time.Second))
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, new(int64(30))
		})
		require.Equal(t, "1", amount(quota.Usage("pods", deleted), corev1.ResourcePods))
		time.Sleep(time.Minute)
		require.True(t, quota.Charged(deleted))
		time.Sleep(time.Nanosecond)
		require.False(t, quota.Charged(deleted))
		require.Len(t, quota.Usage("pods", deleted), 1, "the object count remains")
		deleted.DeletionGracePeriodSeconds = nil
		require.True(t, quota.Charged(deleted), "of a deletion without a period nothing is overdue")
	})
}

func TestScopes(t *testing.T) {
	q := func(scope corev1.ResourceQuotaScope) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{scope}}}
	}
	require.True(t, quota.Matches(q(corev1.ResourceQuotaScopeNotTerminating), pod()))
	require.False(t, quota.Matches(q(corev1.ResourceQuotaScopeTerminating), pod()))
	require.True(t, quota.Matches(q(corev1.ResourceQuotaScopeNotBestEffort), pod()))
	require.False(t, quota.Matches(q(corev1.ResourceQuotaScopeBestEffort), &corev1.ConfigMap{}), "scopes are about pods")
	require.True(t, quota.Matches(&corev1.ResourceQuota{}, &corev1.ConfigMap{}))
}

func Example() {
	u := quota.Usage("services", &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: make([]corev1.ServicePort, 2)}})
	ports := u[corev1.ResourceServicesNodePorts]
	fmt.Println(len(u), ports.String())
	// Output: 3 2
}
