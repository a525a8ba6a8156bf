package kubelet_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// twoNodes is the kernel's folder of a machine with two NUMA nodes, of two cores with two threads and 4 GiB
// each: CPUs 0, 1, 4, 5 and 2, 3, 6, 7.
func twoNodes() fstest.MapFS {
	sys := fstest.MapFS{}
	put := func(name, text string) { sys[name] = &fstest.MapFile{Data: []byte(text + "\n")} }
	put("cpu/online", "0-7")
	for id := range 8 {
		dir := fmt.Sprintf("cpu/cpu%d/topology/", id)
		put(dir+"physical_package_id", fmt.Sprint(id%4/2))
		put(dir+"thread_siblings_list", fmt.Sprintf("%d,%d", id%4, id%4+4))
	}
	for id, cpus := range []string{"0-1,4-5", "2-3,6-7"} {
		dir := fmt.Sprintf("node/node%d/", id)
		put(dir+"cpulist", cpus)
		put(dir+"distance", []string{"10 20", "20 10"}[id])
		put(dir+"meminfo", fmt.Sprintf("Node %d MemTotal: %d kB", id, 4<<20))
	}
	return sys
}

// guaranteed makes containers request and be limited to CPUs, by name, and 1 GiB each.
func guaranteed(cpus map[string]string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
			for i := range list {
				r := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus[list[i].Name]), corev1.ResourceMemory: resource.MustParse("1Gi")}
				list[i].Resources = corev1.ResourceRequirements{Requests: r, Limits: r}
			}
		}
	}
}

// places are the rigs of this file: eight CPUs of which CPU 0 is reserved.
func places(r *rig, policy kubelet.PlacementPolicy) {
	policy.System = twoNodes()
	r.opts.Placement, r.opts.StopPods = policy, false
	r.opts.Capacity[corev1.ResourceCPU] = resource.MustParse("8")
	r.opts.Reserved = cpuOf("1")
}

func (r *rig) metrics() string {
	answer := httptest.NewRecorder()
	r.k.ReadOnly().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return answer.Body.String()
}

// podResources are what containers have, by pod and container.
func (r *rig) podResources(s *sockets) map[string]pluginapi.ContainerResources {
	conn, err := pluginapi.Dial("kubelet.sock", func(ctx context.Context, _ string) (net.Conn, error) { return s.resources.DialContext(ctx) })
	require.NoError(r.t, err)
	defer conn.Close()
	list, err := pluginapi.Call[pluginapi.PodResourcesList](r.t.Context(), conn, "/v1.PodResourcesLister/List", &pluginapi.Empty{})
	require.NoError(r.t, err)
	all := map[string]pluginapi.ContainerResources{}
	for _, p := range list.Pods {
		for _, c := range p.Containers {
			all[p.Name+"/"+c.Name] = c
		}
	}
	return all
}

func (r *rig) cpus(pod, container string) string {
	return r.rt.Config(pod, container).Linux.Resources.CpusetCpus
}

// Containers of Guaranteed pods with whole CPUs have them for themselves, and all others keep off them, over
// restarts of the kubelet.
func TestCPUsOfTheirOwn(t *testing.T) {
	s := &sockets{}
	var failing atomic.Bool
	bubble(t, func(r *rig) {
		places(r, kubelet.PlacementPolicy{StaticCPUs: true})
		r.rt.Fail = func(method string) error {
			if failing.Load() && method == "UpdateContainerResources" {
				return errors.New("not now")
			}
			return nil
		}
		r.opts.Plugins = s.options()
	}, func(r *rig) {
		r.pod("small", wants("100m"), "a")
		time.Sleep(2 * time.Second)
		require.Equal(t, "0-7", r.cpus("small", "a"))
		r.pod("own", guaranteed(map[string]string{"a": "2", "b": "500m"}), "a", "b")
		time.Sleep(2 * time.Second)
		require.Equal(t, "1,5", r.cpus("own", "a"), "a whole core without a reserved CPU, of the node that has fewer free")
		require.Zero(t, r.rt.Config("own", "a").Linux.Resources.CpuQuota)
		require.Equal(t, "0,2-4,6-7", r.cpus("own", "b"))
		require.NotZero(t, r.rt.Config("own", "b").Linux.Resources.CpuQuota)
		require.Equal(t, "0,2-4,6-7", r.cpus("small", "a"), "a running container leaves them at once")
		require.Contains(t, r.metrics(), "kubelet_cpu_manager_exclusive_cpu_allocation_count 2\n")
		require.Contains(t, r.metrics(), "kubelet_cpu_manager_shared_pool_size_millicores 5000\n")
		require.Contains(t, r.metrics(), `kubelet_cpu_manager_allocation_per_numa{numa_node="0"} 2`)
		list := r.podResources(s)
		r.shows(`kubelet_pod_resources_endpoint_requests_total{server_api_version="v1"} 1`, `kubelet_pod_resources_endpoint_requests_list{server_api_version="v1"} 1`)
		require.Equal(t, []int64{1, 5}, list["own/a"].CPUs)
		require.Empty(t, list["own/b"].CPUs)

		// Another kubelet takes up what there is, whether it knows what was given or asks the containers.
		r.stop()
		r.opts.Plugins = s.options()
		r.start()
		time.Sleep(15 * time.Second)
		require.Equal(t, "1,5", r.cpus("own", "a"))
		require.EqualValues(t, 0, r.restarts("own"))
		r.rt.Kill("own", "a", 1)
		time.Sleep(3 * time.Second)
		require.Equal(t, "1,5", r.cpus("own", "a"), "the same ones again")

		// A resize of what it has for itself is refused.
		r.resize("own", `{"requests":{"cpu":"3"},"limits":{"cpu":"3"}}`)
		c := r.condition("own", corev1.PodResizePending)
		require.NotNil(t, c)
		require.Equal(t, "Infeasible", c.Reason)
		require.Equal(t, `Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"`, c.Message)
		r.shows(`kubelet_pod_infeasible_resizes_total{reason_detail="guaranteed_pod_cpu_manager_static_policy"} 1`, `kubelet_pod_pending_resizes{reason="infeasible"} 1`)

		// The runtime fails for a while; then the others get the CPUs that are free again.
		failing.Store(true)
		r.delete("own", 0)
		time.Sleep(5 * time.Second)
		require.Equal(t, "0,2-4,6-7", r.cpus("small", "a"))
		failing.Store(false)
		time.Sleep(10 * time.Second)
		require.Equal(t, "0-7", r.cpus("small", "a"))
	})
}

// A pod whose CPUs, memory and devices do not come from one NUMA node is refused with upstream's reason.
func TestAlignedResources(t *testing.T) {
	s := &sockets{}
	bubble(t, func(r *rig) {
		places(r, kubelet.PlacementPolicy{StaticCPUs: true, StaticMemory: true, Alignment: "single-numa-node",
			ReservedMemory: map[int]corev1.ResourceList{0: {corev1.ResourceMemory: resource.MustParse("100Mi")}}})
		r.opts.Plugins = s.options()
	}, func(r *rig) {
		p := &plugin{t: r.t, sockets: s, name: "dev"}
		p.set("d1", "d2", "d3")
		for i, node := range []int64{0, 1, 1} {
			p.devices[i].Topology = &pluginapi.Topology{Nodes: []pluginapi.NUMANode{{ID: node}}}
		}
		require.NoError(t, p.serve())
		time.Sleep(2 * time.Second)
		with := func(cpus string, devices int) func(*corev1.Pod) {
			return func(pod *corev1.Pod) {
				guaranteed(map[string]string{"a": cpus})(pod)
				q := resource.NewQuantity(int64(devices), resource.DecimalSI)
				pod.Spec.Containers[0].Resources.Limits["example.com/dev"] = q
				pod.Spec.Containers[0].Resources.Requests["example.com/dev"] = q
			}
		}
		r.pod("two", with("2", 2), "a")
		time.Sleep(2 * time.Second)
		require.Equal(t, "d2,d3", r.env("two", "a", "DEVICES"))
		require.Equal(t, "2,6", r.cpus("two", "a"))
		require.Equal(t, "1", r.rt.Config("two", "a").Linux.Resources.CpusetMems)
		list := r.podResources(s)
		require.Equal(t, []pluginapi.ContainerMemory{{Type: "memory", Size: 1 << 30, Topology: &pluginapi.Topology{Nodes: []pluginapi.NUMANode{{ID: 1}}}}}, list["two/a"].Memory)
		r.delete("two", 0)
		time.Sleep(3 * time.Second)
		r.pod("three", with("2", 3), "a")
		time.Sleep(2 * time.Second)
		st := r.get("three").Status
		require.Equal(t, "TopologyAffinityError", st.Reason)
		require.Equal(t, "Resources cannot be allocated with Topology locality", st.Message)
		require.Equal(t, "3 of 3", r.nodeAmounts("dev"))
		require.Contains(t, r.metrics(), "kubelet_topology_manager_admission_errors_total 1\n")
		require.Contains(t, r.metrics(), `kubelet_container_aligned_compute_resources_failure_count{boundary="numa_node",scope="container"} 1`)

		// What a refused pod would have had is there for others.
		r.pod("four", with("4", 1), "a")
		time.Sleep(2 * time.Second)
		require.Equal(t, "2-3,6-7", r.cpus("four", "a"))
		require.NotEqual(t, "d1", r.env("four", "a", "DEVICES"))
		r.stop()
		r.opts.Plugins, r.opts.StopPods = s.options(), true
		r.start()
		time.Sleep(3 * time.Second)
	})
}

// A policy that does not fit the machine or the reservations ends the start with a sentence.
func TestPlacementsThatCannotBe(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		for want, policy := range map[string]kubelet.PlacementPolicy{
			"needs at least one reserved CPU":                        {StaticCPUs: true},
			"does not have the reserved CPUs 9":                      {StaticCPUs: true, ReservedCPUs: "9"},
			`"x" is no list of CPUs`:                                 {StaticCPUs: true, ReservedCPUs: "x"},
			"needs ReservedMemory":                                   {StaticMemory: true},
			"the total 1Gi of memory is not 100Mi":                   {StaticMemory: true, ReservedMemory: map[int]corev1.ResourceList{0: {corev1.ResourceMemory: resource.MustParse("1Gi")}}},
			"memory is reserved of NUMA node 7":                      {StaticMemory: true, ReservedMemory: map[int]corev1.ResourceList{7: {corev1.ResourceMemory: resource.MustParse("100Mi")}}},
			"1 pods of NUMA node 0 cannot be reserved":               {StaticMemory: true, ReservedMemory: map[int]corev1.ResourceList{0: {"pods": resource.MustParse("1")}}},
			`"nearby" is none of`:                                    {Alignment: "nearby"},
			"more than 1 NUMA nodes, this one has 2":                 {Alignment: "restricted", MaxNodes: 1},
			"SpreadCores excludes":                                   {SpreadCores: true, FullCores: true},
			"AlignCaches excludes":                                   {AlignCaches: true, SpreadNodes: true},
			"AlignSockets excludes the alignment single-numa-node":   {AlignSockets: true, Alignment: "single-numa-node"},
			"read the machine: open cpu/online: file does not exist": {StaticCPUs: true, System: fstest.MapFS{}},
		} {
			if policy.System == nil {
				policy.System = twoNodes()
			}
			opts := r.opts
			opts.Placement = policy
			_, err := kubelet.New(r.line, opts)
			require.ErrorContains(t, err, want)
			require.True(t, strings.HasPrefix(err.Error(), "kubelet: "), err)
		}
	})
}
