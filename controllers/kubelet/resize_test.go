package kubelet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

func TestAResizeIsRefusedClearly(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.StopPods = false }, func(r *rig) {
		resize := func(cpus string) {
			_, err := client.For[*corev1.Pod](r.c.Conn()).Patch(r.t.Context(), types.NamespacedName{Namespace: "default", Name: "web"},
				client.Patch{Type: types.StrategicMergePatchType, Data: fmt.Appendf(nil, `{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":%q}}}]}}`, cpus)},
				client.PatchOptions{Subresource: "resize"})
			require.NoError(t, err)
			time.Sleep(3 * time.Second)
		}
		pending := func() *corev1.PodCondition {
			for _, c := range r.get("web").Status.Conditions {
				if c.Type == corev1.PodResizePending {
					return &c
				}
			}
			return nil
		}
		r.pod("web", func(p *corev1.Pod) { wants("1")(p); p.Spec.Containers[0].Resources.Limits = cpuOf("4") }, "a", "b")
		time.Sleep(3 * time.Second)
		require.Nil(t, pending())
		resize("3")
		c := pending()
		require.NotNil(t, c)
		require.Equal(t, corev1.ConditionTrue, c.Status)
		require.Equal(t, "Infeasible", c.Reason)
		require.Equal(t, "This kubelet does not resize containers in place: [a]", c.Message)
		require.Equal(t, r.get("web").Generation, c.ObservedGeneration)

		r.stop()
		r.opts.StopPods = true
		r.start()
		time.Sleep(3 * time.Second)
		r.rt.Kill("web", "a", 1)
		time.Sleep(3 * time.Second)
		require.EqualValues(t, 1, r.restarts("web"))
		require.EqualValues(t, 1024, r.rt.Config("web", "a").Linux.Resources.CpuShares, "only that was let in")
		require.NotNil(t, pending())
		resize("1")
		require.Nil(t, pending())
	})
}
