package kubelet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// resize changes the resources of container a as kubectl patch --subresource=resize does.
func (r *rig) resize(name, resources string) {
	r.t.Helper()
	_, err := client.For[*corev1.Pod](r.c.Conn()).Patch(r.t.Context(), types.NamespacedName{Namespace: "default", Name: name},
		client.Patch{Type: types.StrategicMergePatchType, Data: fmt.Appendf(nil, `{"spec":{"containers":[{"name":"a","resources":%s}]}}`, resources)},
		client.PatchOptions{Subresource: "resize"})
	require.NoError(r.t, err)
	time.Sleep(3 * time.Second)
}

func (r *rig) condition(name string, t corev1.PodConditionType) *corev1.PodCondition {
	for _, c := range r.get(name).Status.Conditions {
		if c.Type == t {
			return &c
		}
	}
	return nil
}

// settled requires that container a of a pod has that many CPUs, by the runtime and by the status.
func (r *rig) settled(name, cpus string, restarts int32) {
	r.t.Helper()
	p := r.get(name)
	st := p.Status.ContainerStatuses[0]
	want := resource.MustParse(cpus)
	require.Equal(r.t, want.MilliValue()*1024/1000, r.rt.Config(name, "a").Linux.Resources.CpuShares)
	for _, list := range []corev1.ResourceList{st.Resources.Requests, st.AllocatedResources} {
		have := list[corev1.ResourceCPU]
		require.Zero(r.t, have.Cmp(want), "%s, want %s", have.String(), cpus)
	}
	require.Nil(r.t, r.condition(name, corev1.PodResizeInProgress))
	require.Equal(r.t, restarts, st.RestartCount)
	require.True(r.t, ready(p))
}

func requests(cpus string) string { return fmt.Sprintf(`{"requests":{"cpu":%q}}`, cpus) }

// The resources of a pod as a whole are changed while it runs, because its node declares that it can do so.
func TestResizeOfAPodAsAWhole(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) { p.Spec.Resources = &corev1.ResourceRequirements{Requests: cpuOf("1")} }, "a")
		time.Sleep(3 * time.Second)
		change := func(cpus string) error {
			_, err := client.For[*corev1.Pod](r.c.Conn()).Patch(r.t.Context(), types.NamespacedName{Namespace: "default", Name: "web"},
				client.Patch{Type: types.MergePatchType, Data: fmt.Appendf(nil, `{"spec":{"resources":%s}}`, requests(cpus))},
				client.PatchOptions{Subresource: "resize"})
			time.Sleep(3 * time.Second)
			return err
		}
		has := func(cpus string) {
			t.Helper()
			st := r.get("web").Status
			for _, list := range []corev1.ResourceList{st.Resources.Requests, st.AllocatedResources} {
				have := list[corev1.ResourceCPU]
				require.Equal(t, cpus, have.String())
			}
		}
		has("1")
		require.NoError(t, change("2"))
		has("2")
		require.ErrorContains(t, change("5"), "node didn't have enough allocatable resources")
		r.pod("other", wants("1"), "a")
		time.Sleep(3 * time.Second)
		require.NoError(t, change("4"))
		has("2")
		require.Equal(t, "Deferred", r.condition("web", corev1.PodResizePending).Reason)
		require.NoError(t, change("3"))
		has("3")
		require.Nil(t, r.condition("web", corev1.PodResizePending))
		require.Zero(t, r.get("web").Status.ContainerStatuses[0].RestartCount)
	})
}

// Containers get other resources while they run, within what the node has room for.
func TestResize(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.StopPods = false }, func(r *rig) {
		for _, name := range []string{"web", "other"} {
			r.pod(name, wants("1"), "a", "b")
		}
		time.Sleep(3 * time.Second)
		r.settled("web", "1", 0)
		r.resize("web", requests("2"))
		r.settled("web", "2", 0)
		require.Nil(t, r.condition("web", corev1.PodResizePending))
		r.shows(`kubelet_container_requested_resizes_total{operation="increase",requirement="requests",resource="cpu"} 1`, `kubelet_pod_resize_duration_milliseconds_count{success="true"} 1`,
			"kubelet_pod_in_progress_resizes 0")

		// More than there is room for waits; more than the node has is refused. Meanwhile it has what it had.
		r.resize("other", requests("3"))
		c := r.condition("other", corev1.PodResizePending)
		require.Equal(t, "Deferred", c.Reason)
		require.Equal(t, "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000", c.Message)
		require.Equal(t, r.get("other").Generation, c.ObservedGeneration)
		r.settled("other", "1", 0)
		r.shows(`kubelet_pod_pending_resizes{reason="deferred"} 1`)
		r.stop()
		r.opts.Reserved = cpuOf("2")
		r.start()
		time.Sleep(5 * time.Second)
		c = r.condition("other", corev1.PodResizePending)
		require.Equal(t, "Infeasible", c.Reason)
		require.Equal(t, "Node didn't have enough capacity: cpu, requested: 3000, capacity: 2000", c.Message)
		r.opts.Reserved = nil

		// A kubelet that is started again knows what it gave, and so does one that has lost its checkpoint,
		// but for what was changed while the container ran.
		for _, damage := range []func(string){func(string) {}, func(path string) { require.NoError(t, os.WriteFile(path, []byte("{"), 0o600)) }} {
			r.stop()
			damage(filepath.Join(r.opts.RootDir, "pods", string(r.get("other").UID), "allocation"))
			r.start()
			time.Sleep(5 * time.Second)
			r.settled("web", "2", 0)
			r.settled("other", "1", 0)
			require.Equal(t, "Deferred", r.condition("other", corev1.PodResizePending).Reason)
		}
		r.rt.Kill("web", "a", 1)
		time.Sleep(3 * time.Second)
		r.settled("web", "2", 1)

		// What waits gets its turn when others need less, or end.
		r.resize("web", requests("1"))
		r.settled("web", "1", 1)
		require.Nil(t, r.condition("web", corev1.PodResizePending))
		time.Sleep(time.Second)
		r.settled("other", "3", 0)
		require.Nil(t, r.condition("other", corev1.PodResizePending))
		r.shows(`kubelet_pod_deferred_accepted_resizes_total{retry_trigger="pod_resized"} 1`, `kubelet_container_requested_resizes_total{operation="decrease",requirement="requests",resource="cpu"} 1`)
		r.resize("web", requests("2"))
		require.Equal(t, "Deferred", r.condition("web", corev1.PodResizePending).Reason)
		r.delete("other", 0)
		time.Sleep(5 * time.Second)
		r.settled("web", "2", 1)
		r.shows(`kubelet_pod_deferred_accepted_resizes_total{retry_trigger="pod_terminated"} 1`)
		r.pod("large", wants("2500m"), "a")
		time.Sleep(3 * time.Second)
		require.Equal(t, "OutOfcpu", r.get("large").Status.Reason)
		r.delete("web", 0)
		time.Sleep(5 * time.Second)
		require.NoDirExists(t, filepath.Join(r.opts.RootDir, "pods", string(r.get("large").UID)))
	})
}

// A resize policy of RestartContainer starts the container again, and no other.
func TestResizeWithRestart(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) {
			wants("1")(p)
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
		}, "a", "b")
		time.Sleep(3 * time.Second)
		r.resize("web", requests("2"))
		time.Sleep(3 * time.Second)
		r.settled("web", "2", 1)
		require.EqualValues(t, 0, r.get("web").Status.ContainerStatuses[1].RestartCount)
		require.Zero(t, r.rt.Calls("UpdateContainerResources"))
		require.Empty(t, r.rt.Doubles())
	})
}

// What a running container cannot be given is tried again and said; an answer that is lost changes nothing.
func TestResizeThatFails(t *testing.T) {
	var refuses, usage atomic.Bool
	var lost atomic.Int32
	bubble(t, func(r *rig) {
		r.opts.StopPods = false
		r.rt.Fail = func(method string) error {
			if refuses.Load() && method == "UpdateContainerResources" {
				return status.Error(codes.Unknown, "no such controller")
			}
			return nil
		}
		r.rt.Fault = func(method string, _ any) fakecri.Fault {
			if method == "UpdateContainerResources" && lost.Add(-1) >= 0 {
				return fakecri.After
			}
			return 0
		}
		r.rt.Measure = func(*cri.ContainerConfig) fakecri.Usage {
			if usage.Load() {
				return fakecri.Usage{Memory: 900 << 20}
			}
			return fakecri.Usage{}
		}
	}, func(r *rig) {
		memory := func(limit string) string {
			return fmt.Sprintf(`{"requests":{"cpu":"1","memory":"100Mi"},"limits":{"memory":%q}}`, limit)
		}
		r.pod("web", func(p *corev1.Pod) {
			wants("1")(p)
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("100Mi")
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
		}, "a")
		time.Sleep(3 * time.Second)
		refuses.Store(true)
		r.resize("web", requests("2"))
		c := r.condition("web", corev1.PodResizeInProgress)
		require.Equal(t, "Error", c.Reason)
		require.Equal(t, "update container a: no such controller", c.Message)
		r.stop()
		r.start()
		time.Sleep(5 * time.Second)
		require.Equal(t, "update container a: no such controller", r.condition("web", corev1.PodResizeInProgress).Message)
		lost.Store(2)
		refuses.Store(false)
		time.Sleep(time.Minute)
		r.settled("web", "2", 0)

		usage.Store(true)
		r.resize("web", memory("512Mi"))
		require.Equal(t, `attempting to set container "a" memory limit (536870912) below current usage (943718400)`, r.condition("web", corev1.PodResizeInProgress).Message)
		require.EqualValues(t, 1<<30, r.rt.Config("web", "a").Linux.Resources.MemoryLimitInBytes)
		usage.Store(false)
		time.Sleep(time.Minute)
		require.Nil(t, r.condition("web", corev1.PodResizeInProgress))
		require.EqualValues(t, 512<<20, r.rt.Config("web", "a").Linux.Resources.MemoryLimitInBytes)
		limit := r.get("web").Status.ContainerStatuses[0].Resources.Limits[corev1.ResourceMemory]
		require.EqualValues(t, 512<<20, limit.Value())
		require.EqualValues(t, 0, r.restarts("web"))
	})
}
