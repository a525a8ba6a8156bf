package volumeprotection_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/volumeprotection"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// unused returns the condition of a claim.
func unused(t *testing.T, c *controllertest.Cluster, name string) corev1.PersistentVolumeClaimCondition {
	conditions := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", name).Status.Conditions
	require.Len(t, conditions, 1)
	require.Equal(t, corev1.PersistentVolumeClaimUnused, conditions[0].Type)
	return conditions[0]
}

// startUnused starts a cluster whose controller, with only its own rights, maintains the condition.
func startUnused(t *testing.T) *controllertest.Cluster {
	c := controllertest.Start(t, controllertest.Options{})
	account := client.User{Name: "system:serviceaccount:kube-system:pvc-protection-controller", Groups: []string{"system:authenticated"}}
	c.Run(c.ManagerOver(c.Conn(), "controllers", func(m *manager.Manager) error {
		return volumeprotection.AddClaims(m.As(c.Conn(account)), volumeprotection.ClaimOptions{UnusedSince: true})
	}))
	return c
}

// The condition Unused is True from the time when the last pod that names a claim has ended, or is gone,
// until one names it, on a node or not. Its time is that of the change.
func TestUnusedSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startUnused(t)
		controllertest.Create(c, claim("default", "data"))
		c.Settle()
		first := unused(t, c, "data")
		require.Equal(t, corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimUnused, Status: corev1.ConditionTrue, LastTransitionTime: first.LastTransitionTime,
			Reason: "NoPodsUsingPVC", Message: "No pods are currently referencing this PVC"}, first)
		require.WithinDuration(t, time.Now(), first.LastTransitionTime.Time, time.Second)

		c.Sleep(time.Hour)
		require.Equal(t, first, unused(t, c, "data"))
		pod(c, "a", "", onClaim("data"))
		c.Settle()
		used := unused(t, c, "data")
		require.Equal(t, corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimUnused, Status: corev1.ConditionFalse, LastTransitionTime: used.LastTransitionTime,
			Reason: "PodUsingPVC", Message: "A pod is currently referencing this PVC"}, used)
		require.Equal(t, time.Hour, used.LastTransitionTime.Sub(first.LastTransitionTime.Time))

		c.Sleep(time.Minute)
		pod(c, "b", "node", onClaim("data"))
		kill(c, "a")
		c.Settle()
		require.Equal(t, used, unused(t, c, "data"), "another pod names it")
		c.Sleep(time.Minute)
		controllertest.UpdateStatus(c, "default", "b", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		c.Settle()
		again := unused(t, c, "data")
		require.Equal(t, corev1.ConditionTrue, again.Status, "the pod has ended")
		require.Equal(t, 2*time.Minute, again.LastTransitionTime.Sub(used.LastTransitionTime.Time))

		controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", "data")
		c.Settle()
		require.True(t, there(c, "data"), "an ended pod keeps the claim from being deleted")
		kill(c, "b")
		c.Settle()
		require.False(t, there(c, "data"))
	})
}

// A pod that is being deleted and has no running container is no user, and neither is one that names the
// claim of another pod's ephemeral volume.
func TestWhoUsesAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startUnused(t)
		p := pod(c, "p", "node", ephemeral())
		pod(c, "q", "node", ephemeral())
		controllertest.UpdateStatus(c, "default", "p", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}}
		})
		mine, other := claim("default", "p-v"), claim("default", "q-v")
		mine.OwnerReferences = []metav1.OwnerReference{metav1.NewControllerRef(p, schema.GroupVersionKind{Version: "v1", Kind: "Pod"})}
		controllertest.Create(c, mine)
		controllertest.Create(c, other)
		c.Settle()
		require.Equal(t, corev1.ConditionFalse, unused(t, c, "p-v").Status)
		require.Equal(t, corev1.ConditionTrue, unused(t, c, "q-v").Status)

		controllertest.Delete[*corev1.Pod](c, "default", "p")
		c.Settle()
		require.Equal(t, corev1.ConditionFalse, unused(t, c, "p-v").Status, "its container runs")
		controllertest.UpdateStatus(c, "default", "p", func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		})
		c.Settle()
		require.Equal(t, corev1.ConditionTrue, unused(t, c, "p-v").Status)
	})
}

// Without the option there is no condition.
func TestNoConditionByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Create(c, claim("default", "data"))
		pod(c, "a", "node", onClaim("data"))
		c.Settle()
		kill(c, "a")
		c.Settle()
		require.Empty(t, controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "data").Status.Conditions)
	})
}
