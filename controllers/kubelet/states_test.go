package kubelet_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

func TestAContainerOfUnknownStateNeverRunsTwice(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	bubble(t, func(r *rig) {
		r.rt.Play = func(*cri.ContainerConfig) fakecri.Script { return fakecri.Script{StopAfter: 3 * time.Second} }
	}, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "img", ImagePullPolicy: corev1.PullNever, RestartPolicy: &always}}
		}, "a", "b")
		r.pod("once", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }, "a")
		r.pod("going", nil, "a")
		time.Sleep(3 * time.Second)
		r.rt.LoseTrack("web", "a")
		r.rt.LoseTrack("web", "side")
		r.rt.LoseTrack("once", "a")
		r.delete("going", 30)
		r.rt.LoseTrack("going", "a")
		time.Sleep(10 * time.Second)
		require.Empty(t, r.rt.Doubles())
		require.Equal(t, []string{"web/a", "web/b", "web/side"}, r.rt.Running())
		require.Zero(t, r.rt.States(cri.ContainerState_CONTAINER_UNKNOWN))
		p := r.get("web")
		require.True(t, ready(p))
		require.EqualValues(t, 1, p.Status.ContainerStatuses[0].RestartCount)
		require.EqualValues(t, 0, p.Status.ContainerStatuses[1].RestartCount)
		require.EqualValues(t, 1, p.Status.InitContainerStatuses[0].RestartCount)
		require.Equal(t, corev1.PodSucceeded, r.get("once").Status.Phase, "what was to run once does not run again")
		require.False(t, r.exists("going"))
	})
}

func TestAContainerThatWasOnlyCreatedIsReplaced(t *testing.T) {
	for _, lost := range []struct {
		method string
		fault  fakecri.Fault
	}{{"CreateContainer", fakecri.After}, {"StartContainer", fakecri.Before}, {"StartContainer", fakecri.Instead}, {"StartContainer", fakecri.Hang}} {
		var calls atomic.Int32
		bubble(t, func(r *rig) {
			r.rt.Fault = func(method string, _ any) fakecri.Fault {
				if method == lost.method && calls.Add(1) == 1 {
					return lost.fault
				}
				return 0
			}
		}, func(r *rig) {
			r.pod("web", nil, "a")
			time.Sleep(3 * time.Minute)
			require.True(t, ready(r.get("web")), lost.method)
			require.Zero(t, r.get("web").Status.ContainerStatuses[0].RestartCount, "it had never run")
			require.Zero(t, r.rt.States(cri.ContainerState_CONTAINER_CREATED), lost.method)
			require.Empty(t, r.rt.Doubles())
		})
	}
}

func TestAKubeletThatDiedBetweenCreationAndStart(t *testing.T) {
	var hang atomic.Bool
	bubble(t, func(r *rig) {
		r.opts.StopPods = false
		r.rt.Fault = func(method string, _ any) fakecri.Fault {
			if hang.Load() && method == "StartContainer" {
				return fakecri.Hang
			}
			return 0
		}
	}, func(r *rig) {
		hang.Store(true)
		r.pod("web", nil, "a")
		time.Sleep(time.Second)
		require.Equal(t, 1, r.rt.States(cri.ContainerState_CONTAINER_CREATED))
		r.stop()
		hang.Store(false)
		r.opts.StopPods = true
		r.start()
		time.Sleep(10 * time.Second)
		require.True(t, ready(r.get("web")))
		require.Zero(t, r.rt.States(cri.ContainerState_CONTAINER_CREATED))
		require.Zero(t, r.get("web").Status.ContainerStatuses[0].RestartCount)
	})
}

func TestAContainerThatCannotStartIsTriedInPeace(t *testing.T) {
	bubble(t, func(r *rig) {
		r.rt.Fault = func(method string, _ any) fakecri.Fault {
			if method == "StartContainer" {
				return fakecri.Before
			}
			return 0
		}
	}, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(time.Minute)
		require.LessOrEqual(t, r.rt.Calls("StartContainer"), 7)
		require.GreaterOrEqual(t, r.rt.Calls("StartContainer"), 3)
		require.Equal(t, "RunContainerError", r.get("web").Status.ContainerStatuses[0].State.Waiting.Reason)
		_, containers := r.rt.Counts()
		require.LessOrEqual(t, containers, 1)
	})
}
