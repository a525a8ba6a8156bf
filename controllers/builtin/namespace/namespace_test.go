package namespace_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/namespace"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/internal/things"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func bubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return namespace.Add(m, namespace.Options{}) }}})
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "ns")})
		c.Settle()
		f(t, c)
	})
}

func condition(c *controllertest.Cluster, t corev1.NamespaceConditionType) *corev1.NamespaceCondition {
	ns := controllertest.Get[*corev1.Namespace](c, "", "ns")
	for i := range ns.Status.Conditions {
		if c := &ns.Status.Conditions[i]; c.Type == t {
			return c
		}
	}
	return nil
}

func TestAnEmptyNamespaceGoesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Delete[*corev1.Namespace](c, "", "ns")
		c.Sleep(time.Second)
		require.False(t, controllertest.Exists[*corev1.Namespace](c, "", "ns"))
	})
}

// Pods end before what they use goes.
func TestPodsGoFirst(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "n")})
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("ns", "config")})
		controllertest.Create(c, &corev1.Secret{ObjectMeta: controllertest.Name("ns", "secret")})
		p := &corev1.Pod{ObjectMeta: controllertest.Name("ns", "p")}
		p.Spec.NodeName = "n"
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
		controllertest.Create(c, p)
		controllertest.Delete[*corev1.Namespace](c, "", "ns")
		c.Sleep(10 * time.Second)
		require.NotNil(t, controllertest.Get[*corev1.Pod](c, "ns", "p").DeletionTimestamp)
		require.True(t, controllertest.Exists[*corev1.ConfigMap](c, "ns", "config"))
		cond := condition(c, "NamespaceContentRemaining")
		require.Equal(t, "SomeResourcesRemain", cond.Reason)
		require.Equal(t, "Some resources are remaining: pods. has 1 resource instances", cond.Message)
		require.Equal(t, corev1.NamespaceTerminating, controllertest.Get[*corev1.Namespace](c, "", "ns").Status.Phase)
		controllertest.Delete[*corev1.Pod](c, "ns", "p", client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		c.Sleep(10 * time.Second)
		require.False(t, controllertest.Exists[*corev1.Namespace](c, "", "ns"))
		require.False(t, controllertest.Exists[*corev1.ConfigMap](c, "ns", "config"))
	})
}

func TestFinalizersHoldIt(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		m := &corev1.ConfigMap{ObjectMeta: controllertest.Name("ns", "held")}
		m.Finalizers = []string{"example.com/hold"}
		controllertest.Create(c, m)
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("ns", "free")})
		controllertest.Delete[*corev1.Namespace](c, "", "ns")
		c.Sleep(time.Minute)
		require.False(t, controllertest.Exists[*corev1.ConfigMap](c, "ns", "free"))
		cond := condition(c, "NamespaceFinalizersRemaining")
		require.Equal(t, "SomeFinalizersRemain", cond.Reason)
		require.Equal(t, "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances", cond.Message)
		controllertest.Update(c, "ns", "held", func(m *corev1.ConfigMap) { m.Finalizers = nil })
		c.Sleep(time.Minute)
		require.False(t, controllertest.Exists[*corev1.Namespace](c, "", "ns"))
	})
}

// Custom resources are deleted too, and reported if something holds them.
func TestCustomResourcesGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{CRDs: things.CRDs(), Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return namespace.Add(m, namespace.Options{}) }}})
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "ns")})
		api := client.ForResource[*metav1.Unstructured](c.Admin(), things.Resource)
		for _, name := range []string{"free", "held"} {
			thing := &metav1.Unstructured{TypeMeta: metav1.TypeMeta{APIVersion: "a.test/v1", Kind: "Thing"}, ObjectMeta: controllertest.Name("ns", name)}
			if name == "held" {
				thing.Finalizers = []string{"example.com/hold"}
			}
			_, err := api.Create(t.Context(), thing)
			require.NoError(t, err)
		}
		controllertest.Delete[*corev1.Namespace](c, "", "ns")
		c.Sleep(time.Minute)
		require.Equal(t, "Some resources are remaining: things.a.test has 1 resource instances", condition(c, "NamespaceContentRemaining").Message)
		require.Equal(t, "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances", condition(c, "NamespaceFinalizersRemaining").Message)
		held, err := api.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "held"})
		require.NoError(t, err)
		held.Finalizers = nil
		_, err = api.Update(t.Context(), held)
		require.NoError(t, err)
		c.Sleep(time.Minute)
		require.False(t, controllertest.Exists[*corev1.Namespace](c, "", "ns"))
	})
}

func TestForeignFinalizersOfTheNamespaceStay(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Update(c, "", "ns", func(ns *corev1.Namespace) { ns.Finalizers = append(ns.Finalizers, "example.com/hold") })
		controllertest.Delete[*corev1.Namespace](c, "", "ns")
		c.Sleep(time.Minute)
		ns := controllertest.Get[*corev1.Namespace](c, "", "ns")
		require.Empty(t, ns.Spec.Finalizers)
		controllertest.Update(c, "", "ns", func(ns *corev1.Namespace) { ns.Finalizers = nil })
		c.Settle()
		require.False(t, controllertest.Exists[*corev1.Namespace](c, "", "ns"))
	})
}

// counted counts requests.
type counted struct {
	client.Conn
	n atomic.Int64
}

func (c *counted) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	c.n.Add(1)
	return c.Conn.Do(ctx, r)
}

// A namespace that cannot go does not keep the server busy, and goes soon after it can.
func TestAStuckNamespaceIsLookedAtSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		conn := &counted{Conn: c.Conn()}
		c.Run(c.ManagerOver(conn, "namespaces", func(m *manager.Manager) error { return namespace.Add(m, namespace.Options{}) }))
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "ns")})
		held := &corev1.ConfigMap{ObjectMeta: controllertest.Name("ns", "held")}
		held.Finalizers = []string{"example.com/hold"}
		controllertest.Create(c, held)
		controllertest.Delete[*corev1.Namespace](c, "", "ns")
		c.Sleep(time.Minute)
		before := conn.n.Load()
		c.Sleep(10 * time.Minute)
		passes := int64(10 * time.Minute / (15 * time.Second))
		require.Less(t, conn.n.Load()-before, passes*100, "at most one pass in 15 seconds")
		controllertest.Update(c, "ns", "held", func(m *corev1.ConfigMap) { m.Finalizers = nil })
		c.Sleep(20 * time.Second)
		require.False(t, controllertest.Exists[*corev1.Namespace](c, "", "ns"))
	})
}
