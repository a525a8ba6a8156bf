package kubelet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// Pods that do nothing cost two lists a second, whatever their number, and nothing is looked at.
func TestIdlePodsAreNotLookedAt(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		for i := range 20 {
			r.pod(fmt.Sprint("p", i), nil, "a", "b")
		}
		time.Sleep(10 * time.Second)
		require.Len(t, r.rt.Running(), 40)
		calls := map[string]int{}
		for _, m := range []string{"ContainerStatus", "PodSandboxStatus", "ListPodSandbox"} {
			calls[m] = r.rt.Calls(m)
		}
		time.Sleep(5 * time.Minute)
		require.Equal(t, calls["ContainerStatus"], r.rt.Calls("ContainerStatus"))
		require.Equal(t, calls["PodSandboxStatus"], r.rt.Calls("PodSandboxStatus"))
		require.InDelta(t, 300, r.rt.Calls("ListPodSandbox")-calls["ListPodSandbox"], 35, "the lists, and those of the measurements")
	})
}

// A pod at which the runtime hangs does not hold up the others.
func TestAHungStatusHurtsItsPodOnly(t *testing.T) {
	var hung atomic.Value
	hung.Store("")
	bubble(t, func(r *rig) {
		r.rt.Fault = func(method string, q any) fakecri.Fault {
			if s, ok := q.(*cri.ContainerStatusRequest); ok && s.ContainerId == hung.Load() {
				return fakecri.Hang
			}
			return 0
		}
	}, func(r *rig) {
		r.pod("bad", nil, "a")
		time.Sleep(3 * time.Second)
		for i := range 4 {
			r.pod(fmt.Sprint("good", i), nil, "a")
		}
		time.Sleep(3 * time.Second)
		id := r.get("bad").Status.ContainerStatuses[0].ContainerID
		hung.Store(id[len("fake://"):])
		r.rt.Kill("bad", "a", 1)
		time.Sleep(5 * time.Second)
		for i := range 4 {
			r.rt.Kill(fmt.Sprint("good", i), "a", 1)
		}
		time.Sleep(25 * time.Second)
		for i := range 4 {
			require.EqualValues(t, 1, r.restarts(fmt.Sprint("good", i)))
		}
		require.NoError(t, r.k.Healthy())
		time.Sleep(5 * time.Minute)
		require.NoError(t, r.k.Healthy())
		hung.Store("")
		time.Sleep(3 * time.Minute) // the call under way ends
		require.EqualValues(t, 1, r.restarts("bad"), "it goes on when the runtime does")
	})
}

// With the runtime's events nothing is listed to see that a container has ended; without them it is listed.
func TestEvents(t *testing.T) {
	never := corev1.ContainerRestartPolicyNever
	var lists atomic.Int32 // but those of the measurements
	bubble(t, func(r *rig) {
		r.rt.Events, r.opts.ContainerEvents = true, true
		r.rt.Fault = func(_ string, q any) fakecri.Fault {
			if q, ok := q.(*cri.ListPodSandboxRequest); ok && q.GetFilter().GetState() == nil {
				lists.Add(1)
			}
			return 0
		}
	}, func(r *rig) {
		start := func(name string) {
			r.pod(name, func(p *corev1.Pod) { p.Spec.Containers[1].RestartPolicy = &never }, "a", "b")
			time.Sleep(5 * time.Second)
			require.True(t, ready(r.get(name)))
		}
		ended := func(name string) bool { return r.get(name).Status.ContainerStatuses[1].State.Terminated != nil }
		// A runtime on which nothing happens has not answered yet.
		time.Sleep(10 * time.Second)
		before := lists.Load()
		time.Sleep(time.Minute)
		require.LessOrEqual(t, lists.Load()-before, int32(1))
		start("web")
		time.Sleep(2 * time.Minute)
		before = lists.Load()
		time.Sleep(5 * time.Second)
		r.rt.Kill("web", "b", 3)
		time.Sleep(time.Second)
		require.True(t, ended("web"))
		require.EqualValues(t, 3, r.get("web").Status.ContainerStatuses[1].State.Terminated.ExitCode)
		r.shows(`kubelet_running_containers{container_state="exited"} 1`)
		require.Equal(t, before, lists.Load(), "no list")
		time.Sleep(10 * time.Minute)
		require.InDelta(t, 2, lists.Load()-before, 1, "every five minutes")

		// What happens while the runtime is away is in no event.
		start("other")
		r.rt.SetAway(true)
		r.rt.Kill("other", "b", 4)
		time.Sleep(10 * time.Second)
		require.False(t, ended("other"))
		r.rt.SetAway(false)
		time.Sleep(10 * time.Second)
		require.True(t, ended("other"))
		require.NotContains(t, r.metrics(), "kubelet_evented_pleg_connection_success_count 0\n")
		require.NotContains(t, r.metrics(), "kubelet_evented_pleg_connection_error_count 0\n")
		require.NotContains(t, r.metrics(), "kubelet_evented_pleg_connection_latency_seconds_count 0\n")
		require.NotContains(t, r.metrics(), "kubelet_pleg_pod_relist_duration_seconds_count 0\n")

		// Restarts come at once too, and nothing is started twice.
		for _, name := range []string{"web", "other"} {
			r.rt.Kill(name, "a", 1)
		}
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1, r.restarts("web"))
		require.Empty(t, r.rt.Doubles())
		r.delete("web", 0)
		time.Sleep(5 * time.Second)
		require.False(t, r.exists("web"))
		r.shows("kubelet_running_pods 1")
	})
	bubble(t, func(r *rig) { r.opts.ContainerEvents = true }, func(r *rig) { // the runtime has none
		r.pod("web", nil, "a")
		time.Sleep(3 * time.Second)
		// A stream was opened, and ended with an error.
		r.shows("kubelet_evented_pleg_connection_success_count 1", "kubelet_evented_pleg_connection_error_count 1")
		r.rt.Kill("web", "a", 1)
		time.Sleep(3 * time.Second)
		require.EqualValues(t, 1, r.restarts("web"))
	})
}

// A runtime that cannot be listed is unhealthy after three minutes, or after ten while its events come. It is
// listed as often then as without events.
func TestSilenceWithEvents(t *testing.T) {
	for events, limit := range map[bool]time.Duration{true: 10 * time.Minute, false: 3 * time.Minute} {
		var fails atomic.Bool
		var lists atomic.Int32
		bubble(t, func(r *rig) {
			r.rt.Events, r.opts.ContainerEvents = events, events
			r.rt.Fault = func(_ string, q any) fakecri.Fault {
				if q, ok := q.(*cri.ListPodSandboxRequest); ok && q.GetFilter().GetState() == nil && fails.Load() {
					lists.Add(1)
					return fakecri.Before
				}
				return 0
			}
		}, func(r *rig) {
			r.pod("web", nil, "a")
			time.Sleep(time.Minute)
			fails.Store(true)
			time.Sleep(limit - 5*time.Minute/2)
			require.NoError(t, r.k.Healthy())
			if events {
				require.Positive(t, lists.Load())
				before := lists.Load()
				time.Sleep(10 * time.Second)
				require.GreaterOrEqual(t, lists.Load()-before, int32(9))
			}
			time.Sleep(7 * time.Minute / 2)
			require.ErrorContains(t, r.k.Healthy(), "was last listed")
			node := controllertest.Get[*corev1.Node](r.c, "", "n1")
			require.Contains(t, fmt.Sprint(node.Status.Conditions), "threshold is "+limit.String())
			fails.Store(false)
			time.Sleep(20 * time.Second)
			require.NoError(t, r.k.Healthy())
		})
	}
}

// What a worker has done itself is looked at once, by the worker, however slow the runtime is, and lists of
// the runtime that show nothing else are enough. A pod that an earlier kubelet may have begun is listed, once
// it has its sandbox: static ones, which may have been there before.
func TestAStartIsLookedAtOnce(t *testing.T) {
	for _, slow := range []time.Duration{0, 1200 * time.Millisecond} {
		var ofOnePod atomic.Int32
		bubble(t, func(r *rig) {
			r.rt.Fault = func(method string, q any) fakecri.Fault {
				if q, ok := q.(*cri.ListPodSandboxRequest); ok && q.GetFilter().GetLabelSelector() != nil {
					ofOnePod.Add(1)
				}
				if method == "RunPodSandbox" || method == "StartContainer" {
					time.Sleep(slow)
				}
				return 0
			}
			r.opts.StaticPodDir = t.TempDir()
		}, func(r *rig) {
			time.Sleep(300 * time.Millisecond) // not at the time of a list
			r.pod("web", nil, "a", "b")
			time.Sleep(5 * time.Second) // the rotation of logs comes later
			require.True(t, ready(r.get("web")))
			require.Equal(t, 1, r.rt.Calls("PodSandboxStatus"))
			require.Equal(t, 2, r.rt.Calls("ContainerStatus"))
			require.Zero(t, ofOnePod.Load(), "nobody else can have made anything of it")
			// Of a container that ends, both are looked at: the list does not say why it has ended.
			r.rt.Kill("web", "a", 1)
			time.Sleep(10 * time.Second)
			require.EqualValues(t, 1, r.restarts("web"))
			require.Less(t, r.rt.Calls("ContainerStatus"), 10)
			before := ofOnePod.Load()
			require.NoError(t, os.WriteFile(filepath.Join(r.opts.StaticPodDir, "static.yaml"), []byte(manifest("x")), 0o600))
			time.Sleep(30 * time.Second)
			require.Contains(t, r.rt.Running(), "static-n1/main")
			require.Greater(t, ofOnePod.Load(), before)
		})
	}
}

// A sandbox that ends while the first containers of its pod are looked at is replaced: the lists that show it
// are older than the look, or as old.
func TestASandboxThatEndsDuringAStart(t *testing.T) {
	for _, late := range []time.Duration{0, 700 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second} {
		bubble(t, func(r *rig) {
			var once atomic.Bool
			r.rt.Fault = func(method string, _ any) fakecri.Fault {
				if method == "ContainerStatus" && !once.Swap(true) {
					r.rt.KillSandbox("web")
					time.Sleep(late)
				}
				return 0
			}
		}, func(r *rig) {
			r.pod("web", nil, "a")
			time.Sleep(20 * time.Second)
			require.True(t, ready(r.get("web")), "%v", late)
			require.EqualValues(t, 1, r.rt.SandboxConfig("web").Metadata.Attempt, "%v", late)
			require.Len(t, r.rt.Running(), 1)
			require.Empty(t, r.rt.Doubles())
		})
	}
}
