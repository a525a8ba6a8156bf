package replicaset_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A ReplicationController keeps its pods, adopts and releases, and shows a refusal by a quota.
func TestReplicationController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{
			As: client.User{Name: "system:serviceaccount:kube-system:replication-controller"},
			Controllers: []controllertest.Adder{func(m *manager.Manager) error {
				return replicaset.AddReplicationControllers(m, replicaset.Options{})
			}},
		})
		orphan := &corev1.Pod{ObjectMeta: controllertest.Name("default", "orphan")}
		orphan.Labels = map[string]string{"app": "web"}
		orphan.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		controllertest.Create(c, orphan)
		c.Settle() // pods may be seen after controllers
		rc := &corev1.ReplicationController{ObjectMeta: controllertest.Name("default", "web")}
		rc.Spec.Replicas, rc.Spec.Template = new(int32(3)), &corev1.PodTemplateSpec{}
		rc.Spec.Template.Labels = map[string]string{"app": "web"}
		rc.Spec.Template.Spec.Containers = orphan.Spec.Containers
		rc = controllertest.Create(c, rc)
		c.Settle()
		status := func() corev1.ReplicationControllerStatus {
			return controllertest.Get[*corev1.ReplicationController](c, "default", "web").Status
		}
		require.Len(t, pods(c), 3)
		for _, p := range pods(c) {
			ref := metav1.ControllerOf(p)
			require.Equal(t, rc.UID, ref.UID, p.Name)
			require.Equal(t, "v1 ReplicationController web", ref.APIVersion+" "+ref.Kind+" "+ref.Name)
			setReady(c, p.Name, true)
		}
		c.Settle()
		require.Equal(t, corev1.ReplicationControllerStatus{Replicas: 3, FullyLabeledReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, ObservedGeneration: 1}, status())

		controllertest.Update(c, "default", "orphan", func(p *corev1.Pod) { p.Labels["app"] = "other" })
		c.Settle()
		require.Len(t, pods(c), 4)
		require.Nil(t, metav1.ControllerOf(controllertest.Get[*corev1.Pod](c, "default", "orphan")))
		controllertest.Update(c, "default", "web", func(rc *corev1.ReplicationController) { rc.Spec.Replicas = new(int32(1)) })
		c.Settle()
		require.Len(t, pods(c), 2)
		require.EqualValues(t, 1, status().Replicas)

		quota := &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", "few")}
		quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
		controllertest.Create(c, quota)
		controllertest.UpdateStatus(c, "default", "few", func(q *corev1.ResourceQuota) {
			q.Status.Hard, q.Status.Used = q.Spec.Hard, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}
		})
		controllertest.Update(c, "default", "web", func(rc *corev1.ReplicationController) { rc.Spec.Replicas = new(int32(2)) })
		c.Settle()
		require.Len(t, status().Conditions, 1)
		failure := status().Conditions[0]
		require.Equal(t, "ReplicaFailure True FailedCreate", string(failure.Type)+" "+string(failure.Status)+" "+failure.Reason)
		require.Contains(t, failure.Message, "exceeded quota: few")
		require.Equal(t, "replication-controller", controllertest.List[*corev1.Event](c, "default")[0].Source.Component)

		controllertest.Delete[*corev1.ReplicationController](c, "default", "web", client.DeleteOptions{PropagationPolicy: metav1.DeletePropagationForeground})
		c.Settle()
		require.Len(t, pods(c), 2, "pods are not replaced or deleted here: the garbage collector deletes them")
	})
}
