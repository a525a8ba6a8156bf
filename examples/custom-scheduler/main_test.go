package main

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

type program struct{ conn client.Conn }

func (p program) Run(ctx context.Context) error { return run(ctx, p.conn) }

// A pod goes to the node that the plugin prefers, unless a default plugin refuses it there.
func TestThePluginDecidesWithTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		for _, name := range []string{"a", "b", "c"} {
			room := corev1.ResourceList{}
			for r, amount := range map[corev1.ResourceName]string{"cpu": "2", "memory": "8Gi", "pods": "10"} {
				room[r] = resource.MustParse(amount)
			}
			n := &corev1.Node{ObjectMeta: controllertest.Name("", name), Status: corev1.NodeStatus{Capacity: room, Allocatable: room}}
			n.Labels = map[string]string{"cache": name}
			controllertest.Create(c, n)
			// The server adds a taint to nodes that are not ready.
			controllertest.Update(c, "", name, func(n *corev1.Node) { n.Spec.Taints = nil })
		}
		for _, name := range []string{"one", "two"} {
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
			p.Labels = map[string]string{"cache": "b"}
			p.Spec.SchedulerName = "warm-scheduler"
			p.Spec.Containers = []corev1.Container{{Name: "main", Image: "web"}}
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1500m")}
			controllertest.Create(c, p)
		}
		defer c.Run(program{c.Admin()})()
		c.Settle()
		one, two := controllertest.Get[*corev1.Pod](c, "default", "one"), controllertest.Get[*corev1.Pod](c, "default", "two")
		require.NotEmpty(t, two.Spec.NodeName)
		require.NotEqual(t, one.Spec.NodeName, two.Spec.NodeName)
		require.Contains(t, []string{one.Spec.NodeName, two.Spec.NodeName}, "b")
	})
}
