package podgc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/podgc"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func create(c *controllertest.Cluster, name, node string, finalizers ...string) {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.NodeName, p.Finalizers = node, finalizers
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	controllertest.Create(c, p)
}

func TestCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return podgc.Add(m, podgc.Options{TerminatedThreshold: 3}) }}})
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "there")})
		create(c, "fine", "there")
		create(c, "orphan", "gone", "example.com/hold")
		create(c, "waiting", "")
		create(c, "stuck", "", "example.com/hold")
		controllertest.Delete[*corev1.Pod](c, "default", "stuck")
		for i := range 5 {
			name := fmt.Sprintf("ended-%d", i)
			create(c, name, "there")
			controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
			c.Sleep(time.Second)
		}
		c.Sleep(30 * time.Second)
		get := func(name string) *corev1.Pod { return controllertest.Get[*corev1.Pod](c, "default", name) }
		require.NotEqual(t, corev1.PodFailed, get("orphan").Status.Phase, "its node may come back")
		c.Sleep(time.Minute)
		orphan := get("orphan")
		require.Equal(t, corev1.PodFailed, orphan.Status.Phase)
		require.EqualValues(t, 1, orphan.Status.ObservedGeneration, "before it was deleted")
		require.NotNil(t, orphan.DeletionTimestamp)
		require.Equal(t, "DeletionByPodGC", orphan.Status.Conditions[len(orphan.Status.Conditions)-1].Reason)
		require.Equal(t, corev1.PodFailed, get("stuck").Status.Phase)
		require.NotEqual(t, corev1.PodFailed, get("fine").Status.Phase)
		require.Nil(t, get("waiting").DeletionTimestamp)
		for i := range 5 {
			require.Equal(t, i >= 2, controllertest.Exists[*corev1.Pod](c, "default", fmt.Sprintf("ended-%d", i)), "%d", i)
		}
	})
}

// The pods of a node that is out of service are removed when they are being deleted, once it is not ready.
func TestNodesOutOfService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return podgc.Add(m, podgc.Options{}) }}})
		ready := func(status corev1.ConditionStatus) {
			controllertest.UpdateStatus(c, "", "down", func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
			})
		}
		down := &corev1.Node{ObjectMeta: controllertest.Name("", "down")}
		controllertest.Create(c, down)
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "silent")})
		ready(corev1.ConditionTrue)
		for _, name := range []string{"stays", "goes"} {
			create(c, name, "down")
		}
		create(c, "of-a-silent-node", "silent")
		for _, name := range []string{"goes", "of-a-silent-node"} {
			controllertest.Delete[*corev1.Pod](c, "default", name)
		}
		left := func() (names []string) {
			c.Sleep(time.Minute)
			for _, p := range controllertest.List[*corev1.Pod](c, "default") {
				names = append(names, p.Name)
			}
			return names
		}
		controllertest.Update(c, "", "down", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}}
		})
		require.Equal(t, []string{"goes", "of-a-silent-node", "stays"}, left(), "the node is ready: its kubelet ends the pod")
		ready(corev1.ConditionUnknown)
		require.Equal(t, []string{"of-a-silent-node", "stays"}, left())
	})
}

// Of too many pods that have ended, evicted ones go first.
func TestEvictedPodsGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return podgc.Add(m, podgc.Options{TerminatedThreshold: 1}) }}})
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "there")})
		for _, name := range []string{"old", "evicted"} {
			create(c, name, "there")
			controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) {
				if p.Status.Phase = corev1.PodFailed; name == "evicted" {
					p.Status.Reason = "Evicted"
				}
			})
			c.Sleep(time.Second)
		}
		c.Sleep(time.Minute)
		require.True(t, controllertest.Exists[*corev1.Pod](c, "default", "old"))
		require.False(t, controllertest.Exists[*corev1.Pod](c, "default", "evicted"))
	})
}

// broken panics or fails the first times that a pod is deleted.
type broken struct {
	client.Conn
	times int
}

func (b *broken) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if r.Method == http.MethodDelete && r.Resource.Resource == "pods" {
		switch b.times++; b.times {
		case 1:
			panic("a bug")
		case 2:
			return nil, apierrors.NewForbidden(r.Resource.GroupResource(), r.Name, errors.New("a webhook says so"))
		}
	}
	return b.Conn.Do(ctx, r)
}

// A bug ends neither the manager nor the work, and what fails is said.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := controllertest.Start(t, controllertest.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c.Run(c.ManagerOver(&broken{Conn: c.Conn()}, "collector", func(m *manager.Manager) error { return podgc.Add(m, podgc.Options{}) }))
		create(c, "orphan", "gone")
		c.Sleep(2 * time.Minute)
		require.False(t, controllertest.Exists[*corev1.Pod](c, "default", "orphan"))
		require.Contains(t, log.String(), "a bug")
		require.Contains(t, log.String(), "pod default/orphan: pods \\\"orphan\\\" is forbidden: a webhook says so")
	})
}
