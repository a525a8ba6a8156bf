package kubelet_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

func TestContainersWaitForTheServicesToBeKnown(t *testing.T) {
	var hold atomic.Bool
	hold.Store(true)
	bubble(t, func(r *rig) {
		r.intercept = func(_ context.Context, q *client.Request) error {
			if hold.Load() && q.Resource.Resource == "services" {
				return apierrors.NewServiceUnavailable("not yet")
			}
			return nil
		}
	}, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(5 * time.Second)
		require.Empty(t, r.rt.Running())
		waiting := r.get("web").Status.ContainerStatuses[0].State.Waiting
		require.Equal(t, "CreateContainerConfigError", waiting.Reason)
		require.Equal(t, "services have not yet been read at least once, cannot construct envvars", waiting.Message)
		hold.Store(false)
		time.Sleep(time.Minute)
		require.True(t, ready(r.get("web")))
		env := map[string]string{}
		for _, e := range r.rt.Config("web", "a").Envs {
			env[e.Key] = string(e.Value)
		}
		require.NotEmpty(t, env["KUBERNETES_SERVICE_HOST"])
	})
}

// A runtime that refuses a sandbox is left alone for 10 to 15 s, whatever happens to what it has of the pod,
// but not after the pod was edited.
func TestARefusedSandboxIsNotTriedAtOnce(t *testing.T) {
	var broken atomic.Bool
	bubble(t, func(r *rig) {
		r.rt.Fault = func(method string, _ any) fakecri.Fault {
			if broken.Load() && method == "RunPodSandbox" {
				return fakecri.Before
			}
			return 0
		}
	}, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(3 * time.Second)
		require.True(t, ready(r.get("web")))
		broken.Store(true)
		before := r.rt.Calls("RunPodSandbox")
		r.rt.KillSandbox("web")
		time.Sleep(9 * time.Second) // the old sandbox goes, which the lists show
		require.Equal(t, 1, r.rt.Calls("RunPodSandbox")-before)
		time.Sleep(111 * time.Second)
		calls := r.rt.Calls("RunPodSandbox") - before
		require.GreaterOrEqual(t, calls, 8)
		require.LessOrEqual(t, calls, 12)
		broken.Store(false)
		controllertest.Update(r.c, "default", "web", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} })
		time.Sleep(2 * time.Second)
		require.Equal(t, calls+1, r.rt.Calls("RunPodSandbox")-before)
	})
}

func TestFailedSandboxesDoNotPileUp(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	bubble(t, func(r *rig) {
		r.rt.Fault = func(method string, _ any) fakecri.Fault {
			if broken.Load() && method == "RunPodSandbox" {
				return fakecri.After
			}
			return 0
		}
	}, func(r *rig) {
		r.pod("web", nil, "a")
		for range 120 {
			time.Sleep(time.Second)
			r.rt.KillSandbox("web") // as a network plugin that fails leaves it
			boxes, _ := r.rt.Counts()
			// The last, the next, and those whose containers' last states are still shown.
			require.LessOrEqual(t, boxes, 4)
		}
		require.LessOrEqual(t, r.rt.Calls("StopPodSandbox"), 2*r.rt.Calls("RunPodSandbox"))
		broken.Store(false)
		// If its container was started between a lost answer and the next kill, it waits for its back-off.
		time.Sleep(6 * time.Minute)
		require.True(t, ready(r.get("web")), "%v", r.get("web").Status)
	})
}

func TestOneStuckOrphanHoldsNoOtherUp(t *testing.T) {
	bubble(t, func(r *rig) {
		r.opts.StopPods = false
		var stuck atomic.Pointer[string]
		r.rt.Fault = func(method string, request any) fakecri.Fault {
			q, ok := request.(*cri.StopContainerRequest)
			if !ok {
				return 0
			}
			stuck.CompareAndSwap(nil, &q.ContainerId) // the first
			if *stuck.Load() == q.ContainerId {
				return fakecri.Hang
			}
			return 0
		}
	}, func(r *rig) {
		for i := range 6 {
			r.pod(fmt.Sprint("p", i), nil, "a")
		}
		time.Sleep(3 * time.Second)
		require.Len(t, r.rt.Running(), 6)
		r.stop()
		for i := range 6 {
			r.delete(fmt.Sprint("p", i), 0)
		}
		r.start()
		time.Sleep(15 * time.Second)
		require.Len(t, r.rt.Running(), 1)
	})
}

func TestANodeThatOthersKeepChanging(t *testing.T) {
	var conflicts atomic.Int32
	var changing atomic.Bool
	bubble(t, func(r *rig) {
		r.intercept = func(_ context.Context, q *client.Request) error {
			if changing.Load() && q.Resource.Resource == "nodes" && q.Subresource == "status" {
				if conflicts.Add(1) > 1000 {
					changing.Store(false)
				}
				return apierrors.NewConflict(q.Resource.GroupResource(), "n1", fmt.Errorf("the object has been modified"))
			}
			return nil
		}
	}, func(r *rig) {
		changing.Store(true)
		time.Sleep(10 * time.Minute)
		require.Positive(t, conflicts.Load())
		require.Less(t, conflicts.Load(), int32(1000))
	})
}
