package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// The pods of a Service are spread though nothing else says that they belong together, even onto the fuller
// node.
func TestPodsOfAServiceAreSpread(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "4", "10")
		addNode(c, "b", "4", "10")
		s := service("s", "web")
		s.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		controllertest.Create(c, s)
		c.Settle()
		create(c, "other", "2", to("b"))
		create(c, "x", "100m", app("web"), to("a"))
		c.Settle()
		create(c, "p", "100m", app("web"))
		create(c, "q", "100m", app("another"))
		c.Settle()
		require.Equal(t, "b", get(c, "p").Spec.NodeName)
		require.Equal(t, "a", get(c, "q").Spec.NodeName)
	})
}

// The pods of a StatefulSet have labels of their own; its selector leaves them out.
func TestPodsOfAStatefulSetAreSpread(t *testing.T) {
	member := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Labels = map[string]string{"app": "db", "statefulset.kubernetes.io/pod-name": name}
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", Controller: new(true)}}
		}
	}
	ss := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}}
	ss.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	c := cluster(node("a"), node("b"), ss, pod("db-0", on("a"), member("db-0")), pod("full", on("b"), requests("2", "4Gi")))
	require.Equal(t, "b", c.Schedule(pod("db-1", member("db-1"), requests("100m", "1Mi"))).Node)
	require.Equal(t, "b", c.Fork().Schedule(pod("db-1", member("db-1"), requests("100m", "1Mi"))).Node)
	// What is taken back does not count.
	m := c.Mark()
	c.RemoveObject(ss)
	require.Equal(t, "a", c.Schedule(pod("db-1", member("db-1"), requests("100m", "1Mi"))).Node)
	c.Rollback(m)
	require.Equal(t, "b", c.Schedule(pod("db-1", member("db-1"), requests("100m", "1Mi"))).Node)
	require.False(t, c.SetObject(&corev1.Secret{}))
}
