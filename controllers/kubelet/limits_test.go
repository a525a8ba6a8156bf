package kubelet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/cgroup"
)

func demanding(requests, limits map[corev1.ResourceName]string) *corev1.Pod {
	list := func(m map[corev1.ResourceName]string) corev1.ResourceList {
		l := corev1.ResourceList{}
		for name, text := range m {
			l[name] = resource.MustParse(text)
		}
		return l
	}
	pod := &corev1.Pod{}
	pod.UID = "u"
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: list(requests), Limits: list(limits)}}}
	return pod
}

// CPU limits follow the period, or are left out, in containers, sandboxes and groups of pods alike.
func TestQuotaPeriod(t *testing.T) {
	pod := demanding(nil, map[corev1.ResourceName]string{"cpu": "1500m", "memory": "1Gi"})
	c := &pod.Spec.Containers[0]
	for _, v := range []struct{ period, quota, group, groupPeriod int64 }{{100000, 150000, 150000, 100000}, {10000, 15000, 15000, 10000}, {0, 0, -1, 100000}} {
		l, g := &limits{period: v.period}, &cgroups{period: v.period}
		require.EqualValues(t, v.quota, l.container(pod, c).CpuQuota)
		require.EqualValues(t, v.period, l.container(pod, c).CpuPeriod)
		require.EqualValues(t, v.quota, l.pod(pod).CpuQuota)
		s := g.settings(pod, podTotals(pod))
		require.EqualValues(t, v.group, s.Quota)
		require.EqualValues(t, v.groupPeriod, s.Period)
		require.EqualValues(t, 1<<30, s.Memory)
		require.EqualValues(t, 1536, s.Shares)
	}
	// What is not limited any more after a resize is not limited by what was before.
	free := demanding(map[corev1.ResourceName]string{"cpu": "1"}, nil)
	s := (&cgroups{period: 100000}).settings(free, podTotals(free))
	require.Equal(t, cgroup.Settings{Shares: 1024, Quota: -1, Period: 100000, Memory: -1, Huge: map[string]int64{}}, s)
	for _, p := range []string{"999us", "1001ms"} {
		d := map[string]Options{"999us": {CPUQuotaPeriod: 999e3}, "1001ms": {CPUQuotaPeriod: 1001e6}}[p]
		_, err := d.withDefaults()
		require.ErrorContains(t, err, "CPUQuotaPeriod: "+map[string]string{"999us": "999µs", "1001ms": "1.001s"}[p])
	}
}

func TestSwapOfContainers(t *testing.T) {
	capacity := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("8Gi")}
	l := &limits{capacity: capacity, v2: true, swapLimits: true, swaps: true, swap: 4 << 30}
	burstable := demanding(map[corev1.ResourceName]string{"memory": "1Gi"}, map[corev1.ResourceName]string{"memory": "2Gi"})
	r := l.container(burstable, &burstable.Spec.Containers[0])
	require.Equal(t, "536870912", r.Unified["memory.swap.max"])
	require.EqualValues(t, 2<<30+512<<20, r.MemorySwapLimitInBytes)
	critical := demanding(map[corev1.ResourceName]string{"memory": "1Gi"}, nil)
	critical.Spec.Priority = new(int32(2_000_000_000))
	for what, pod := range map[string]*corev1.Pod{
		"guaranteed":  demanding(nil, map[corev1.ResourceName]string{"cpu": "1", "memory": "1Gi"}),
		"best effort": demanding(nil, nil),
		"critical":    critical,
		"no request":  demanding(map[corev1.ResourceName]string{"cpu": "1"}, nil),
		"at its limit": demanding(map[corev1.ResourceName]string{"memory": "1Gi", "cpu": "1"},
			map[corev1.ResourceName]string{"memory": "1Gi"}),
	} {
		require.Equal(t, "0", l.container(pod, &pod.Spec.Containers[0]).Unified["memory.swap.max"], what)
	}
	of := func(l *limits) *cri.LinuxContainerResources {
		return l.container(burstable, &burstable.Spec.Containers[0])
	}
	require.Equal(t, "0", of(&limits{capacity: capacity, v2: true, swapLimits: true}).Unified["memory.swap.max"])
	none := of(newLimits(Options{Capacity: capacity, LimitedSwap: true}, true, false))
	require.NotContains(t, none.Unified, "memory.swap.max", "the kernel has no such file")
	require.Zero(t, none.MemorySwapLimitInBytes)
	require.Equal(t, "1", none.Unified["memory.oom.group"])
	one := of(&limits{capacity: capacity, swapLimits: true})
	require.Nil(t, one.Unified)
	require.EqualValues(t, 2<<30, one.MemorySwapLimitInBytes)
	require.Zero(t, of(&limits{capacity: capacity}).MemorySwapLimitInBytes)
}

// Whether the kernel limits swap is seen at the group of the kubelet: the root of version 2 has no limits.
func TestTheKernelLimitsSwap(t *testing.T) {
	root, self := t.TempDir(), filepath.Join(t.TempDir(), "cgroup")
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	require.False(t, limitsSwap(root, self, true))
	write(self, "0::/system.slice/kubelet.service\n")
	require.False(t, limitsSwap(root, self, true))
	write(filepath.Join(root, "system.slice/kubelet.service/memory.swap.max"), "max\n")
	require.True(t, limitsSwap(root, self, true))
	require.False(t, limitsSwap(root, self, false))
	write(filepath.Join(root, "memory/memory.memsw.limit_in_bytes"), "0\n")
	require.True(t, limitsSwap(root, self, false))
}

// A container that may swap cannot request another amount of memory without being started again, even on a
// machine without swap.
func TestSwappingContainersKeepTheirMemory(t *testing.T) {
	memory := func(request, limit string) *corev1.Pod {
		return demanding(map[corev1.ResourceName]string{"memory": request, "cpu": "1"}, map[corev1.ResourceName]string{"memory": limit})
	}
	swaps := newLimits(Options{LimitedSwap: true}, true, true)
	for what, c := range map[string]struct {
		limits     *limits
		was, now   *corev1.Pod
		again      bool
		impossible bool
	}{
		"request":                {swaps, memory("1Gi", "2Gi"), memory("512Mi", "2Gi"), false, true},
		"started again":          {swaps, memory("1Gi", "2Gi"), memory("512Mi", "2Gi"), true, false},
		"limit":                  {swaps, memory("1Gi", "2Gi"), memory("1Gi", "3Gi"), false, false},
		"swaps afterwards":       {swaps, memory("2Gi", "2Gi"), memory("1Gi", "2Gi"), false, true},
		"swaps no more":          {swaps, memory("1Gi", "2Gi"), memory("2Gi", "2Gi"), false, true},
		"never swaps":            {swaps, memory("1Gi", "1Gi"), memory("512Mi", "512Mi"), false, false},
		"no swap":                {newLimits(Options{}, true, true), memory("1Gi", "2Gi"), memory("512Mi", "2Gi"), false, false},
		"no limit in the kernel": {newLimits(Options{LimitedSwap: true}, true, false), memory("1Gi", "2Gi"), memory("512Mi", "2Gi"), false, false},
		"cgroup of version one":  {newLimits(Options{LimitedSwap: true}, false, true), memory("1Gi", "2Gi"), memory("512Mi", "2Gi"), false, false},
	} {
		policy := corev1.NotRequired
		if c.again {
			policy = corev1.RestartContainer
		}
		c.now.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: policy}}
		l := &ledger{limits: c.limits, allocatable: func() corev1.ResourceList { return c.was.Spec.Containers[0].Resources.Limits }}
		why := l.unresizable(c.now, &tenant{allocation: allocationOf(c.was), need: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("2Gi")}})
		if !c.impossible {
			require.Nil(t, why, what)
			continue
		}
		require.Equal(t, "Infeasible", why.Reason, what)
		require.Equal(t, "In-place resize of containers with swap is not supported.", why.Message, what)
		require.Equal(t, "swap_limitation", fixedDetail(why.Message))
	}
}

// With cgroup v2 all processes of a container end when it is out of memory, unless the options say otherwise.
func TestOutOfMemoryEndsAContainerAsAWhole(t *testing.T) {
	pod := demanding(nil, nil)
	group := func(v2 bool, one *bool) string {
		l := newLimits(Options{SingleProcessOOMKill: one}, v2, true)
		l.allocatable = func() corev1.ResourceList { return nil }
		return l.container(pod, &pod.Spec.Containers[0]).Unified["memory.oom.group"]
	}
	require.Equal(t, "1", group(true, nil))
	require.Equal(t, "1", group(true, new(false)))
	require.Empty(t, group(true, new(true)))
	require.Empty(t, group(false, nil))
}

func TestHugePages(t *testing.T) {
	for name, want := range map[corev1.ResourceName]string{"hugepages-2Mi": "2MB", "hugepages-1Gi": "1GB", "hugepages-64Ki": "64KB", "hugepages-1536Ki": "1536KB"} {
		size, ok := hugePageSize(name)
		require.True(t, ok)
		require.Equal(t, want, size)
	}
	for _, name := range []corev1.ResourceName{"memory", "hugepages-", "hugepages-x", "hugepages--2Mi"} {
		_, ok := hugePageSize(name)
		require.False(t, ok, name)
	}
	dir := t.TempDir()
	for folder, n := range map[string]string{"hugepages-2048kB": "16\n", "hugepages-1048576kB": "0\n", "hugepages-odd": "1", "other": "1", "hugepages-64kB": "many"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, folder, "nr_hugepages"), []byte(n), 0o600))
	}
	capacity := measuredHugePages(dir)
	require.Len(t, capacity, 2)
	two, one := capacity["hugepages-2Mi"], capacity["hugepages-1Gi"]
	require.Equal(t, "32Mi 0", two.String()+" "+one.String())

	pod := demanding(nil, map[corev1.ResourceName]string{"hugepages-2Mi": "8Mi", "memory": "1Mi"})
	require.ElementsMatch(t, []*cri.HugepageLimit{{PageSize: "2MB", Limit: 8 << 20}, {PageSize: "1GB"}}, hugePageLimits(&pod.Spec.Containers[0], capacity))
	c := newCgroups(Options{Capacity: capacity})
	pod.Spec.Containers[0].Resources.Requests = pod.Spec.Containers[0].Resources.Limits
	require.Equal(t, map[string]int64{"2MB": 8 << 20, "1GB": 0}, c.hugeLimits(pod, false))
	require.Equal(t, map[string]int64{"2MB": -1, "1GB": -1}, c.hugeLimits(nil, true))
}

// All pods together get what is not reserved.
func TestNodeSettings(t *testing.T) {
	opts := Options{Capacity: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")},
		Reserved: corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi"), "pid": resource.MustParse("1000")}, Host: machine{}}
	s := nodeSettings(opts)
	all, _ := machine{}.PIDs()
	require.Equal(t, cgroup.Settings{Shares: 3584, Memory: 7 << 30, PIDs: int64(all) - 1000}, s)
	opts.NoPodLimit = true
	require.Equal(t, cgroup.Settings{Shares: 4096, Memory: -1}, nodeSettings(opts))
}
