package kubelet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

func TestParseStalls(t *testing.T) {
	const some, full = "some avg10=1.50 avg60=0.25 avg300=0.01 total=123456\n", "full avg10=0.00 avg60=0.10 avg300=0.00 total=7\n"
	want := usage.Stall{Total: 123456, Avg10: 1.5, Avg60: 0.25, Avg300: 0.01}
	require.Equal(t, &usage.Stalls{Some: want, Full: usage.Stall{Total: 7, Avg60: 0.1}}, parseStalls(some+full))
	require.Equal(t, &usage.Stalls{Some: want}, parseStalls(some), "older kernels have no full of the CPU")
	for _, bad := range []string{"", "\n", full, "some\n", "some avg10=x avg60=0 avg300=0 total=0\n", some + "full avg10=0.00\n", strings.Replace(some, "123456", "-1", 1)} {
		require.Nil(t, parseStalls(bad), bad)
	}
}

// What the kernel counts in its files, or the runtime says, is in the summary and the metrics.
func TestPressure(t *testing.T) {
	g := newGroupTree(t, true)
	write := func(total string, parts ...string) {
		dir := filepath.Join(append([]string{g.cgroups.tree.Mount}, parts...)...)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for i, name := range []string{"cpu", "memory", "io"} {
			text := "some avg10=0.50 avg60=0.00 avg300=0.00 total=" + total + string(rune('1'+i)) + "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=" + string(rune('1'+i)) + "\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+".pressure"), []byte(text), 0o600))
		}
	}
	now := time.Now()
	container := func(name string) usage.Container {
		return usage.Container{Name: name, ID: name + "-id", CPUAt: now, MemoryAt: now, Created: now}
	}
	sample := &usage.Sample{At: now, Pods: map[types.UID]*usage.Pod{
		"u":      {Namespace: "default", Name: "web", UID: "u", Containers: []usage.Container{container("plain"), container("scoped"), container("told"), container("broken"), container("gone")}},
		"orphan": {Namespace: "default", Name: "orphan", UID: "orphan", Containers: []usage.Container{container("lost")}},
	}}
	sample.Pods["u"].Containers[2].Pressure = usage.Pressure{CPU: stallsOf(&cri.PsiStats{Some: &cri.PsiData{Total: 77, Avg300: 9}})}
	g.run("u", "500m")
	require.Nil(t, g.groupStats(sample).node.CPU, "a kernel without")

	write("100")
	pod := []string{"kubepods", "burstable", "podu"}
	write("200", pod...)
	write("300", append(pod, "plain-id")...)
	write("400", append(pod, "cri-containerd-scoped-id.scope")...)
	write("500", append(pod, "told-id")...)
	write("600", append(pod, "broken-id")...)
	require.NoError(t, os.WriteFile(filepath.Join(append(append([]string{g.cgroups.tree.Mount}, pod...), "broken-id", "memory.pressure")...), []byte("some"), 0o600))

	p := g.groupStats(sample)
	var got struct {
		Node nodeUsage
		Pods []podUsage
	}
	b, err := json.Marshal(summarize("n", now, sample, p, false))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &got))
	require.EqualValues(t, 1001, got.Node.CPU.Pressure.Some.Total)
	require.EqualValues(t, 1002, got.Node.Memory.Pressure.Some.Total)
	require.EqualValues(t, 3, got.Node.IO.Pressure.Full.Total)
	require.InDelta(t, 0.5, got.Node.CPU.Pressure.Some.Avg10, 0)
	web := got.Pods[1]
	require.EqualValues(t, 2001, web.CPU.Pressure.Some.Total)
	require.EqualValues(t, 2002, web.Memory.Pressure.Some.Total)
	require.EqualValues(t, 2003, web.IO.Pressure.Some.Total)
	by := map[string]containerStats{}
	for _, c := range web.Containers {
		by[c.Name] = c
	}
	require.EqualValues(t, 3001, by["plain"].CPU.Pressure.Some.Total)
	require.EqualValues(t, 4003, by["scoped"].IO.Pressure.Some.Total)
	require.EqualValues(t, 77, by["told"].CPU.Pressure.Some.Total, "the runtime's own")
	require.InDelta(t, 9, by["told"].CPU.Pressure.Some.Avg300, 0)
	require.Nil(t, by["told"].Memory.Pressure)
	require.EqualValues(t, 6001, by["broken"].CPU.Pressure.Some.Total)
	require.Nil(t, by["broken"].Memory.Pressure)
	require.Nil(t, by["gone"].CPU.Pressure)
	require.Nil(t, by["gone"].IO)
	require.Nil(t, got.Pods[0].CPU.Pressure, "a pod that the kubelet does not run")

	text := string(containerMetrics(sample, p, corev1.ResourceList{}))
	for _, line := range []string{
		"# TYPE container_pressure_cpu_stalled_seconds_total counter",
		"# HELP container_pressure_io_waiting_seconds_total Total time duration tasks in the container have waited due to IO congestion.",
		`container_pressure_cpu_waiting_seconds_total{container="plain",id="plain-id",namespace="default",pod="web"} 0.003001`,
		`container_pressure_cpu_stalled_seconds_total{container="plain",id="plain-id",namespace="default",pod="web"} 1e-06`,
		`container_pressure_memory_waiting_seconds_total{container="scoped",id="scoped-id",namespace="default",pod="web"} 0.004002`,
		`container_pressure_io_stalled_seconds_total{container="scoped",id="scoped-id",namespace="default",pod="web"} 3e-06`,
	} {
		require.Contains(t, text, line+"\n")
	}
	require.NotContains(t, text, `container="gone",id="gone-id",namespace="default",pod="web"} 0`+"\n# HELP container_pressure")

	g.cgroups.tree.V2 = false
	require.NotContains(t, string(containerMetrics(sample, g.groupStats(sample), corev1.ResourceList{})), "pressure")
	b, err = json.Marshal(summarize("n", now, sample, g.groupStats(sample), false))
	require.NoError(t, err)
	require.NotContains(t, string(b), "psi")
}

// The swap of groups is that of their files, or what the runtime says, in the summary and the metrics.
func TestSwapOfGroups(t *testing.T) {
	g := newGroupTree(t, true)
	write := func(used, most string, parts ...string) {
		dir := filepath.Join(append([]string{g.cgroups.tree.Mount, "kubepods", "burstable", "podu"}, parts...)...)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "memory.swap.current"), []byte(used+"\n"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte(most+"\n"), 0o600))
	}
	now := time.Now()
	container := func(name string) usage.Container {
		return usage.Container{Name: name, ID: name + "-id", CPUAt: now, MemoryAt: now, Created: now}
	}
	sample := &usage.Sample{At: now, Swap: &usage.Swap{Used: 1, Available: new(uint64(9))}, Pods: map[types.UID]*usage.Pod{
		"u":      {Namespace: "default", Name: "web", UID: "u", Containers: []usage.Container{container("bound"), container("free"), container("said"), container("bad")}},
		"orphan": {Namespace: "default", Name: "orphan", UID: "orphan", Containers: []usage.Container{container("a"), container("b")}},
	}}
	said := containerUsage(&cri.ContainerStats{Swap: &cri.SwapUsage{SwapUsageBytes: &cri.UInt64Value{Value: 5}, SwapAvailableBytes: &cri.UInt64Value{Value: 6}}}).Swap
	sample.Pods["u"].Containers[2].Swap = said
	sample.Pods["orphan"].Containers[0].Swap, sample.Pods["orphan"].Containers[1].Swap = said, said
	g.run("u", "500m")
	write("700", "max")
	write("300", "1000", "bound-id")
	write("2000", "1000", "full-id")
	write("400", "max", "cri-containerd-free-id.scope")
	write("1", "1", "said-id")
	write("some", "1", "bad-id")
	sample.Pods["u"].Containers = append(sample.Pods["u"].Containers, container("full"))

	groups := g.groupStats(sample)
	b, err := json.Marshal(summarize("n", now, sample, groups, true))
	require.NoError(t, err)
	var got struct {
		Node nodeUsage
		Pods []podUsage
	}
	require.NoError(t, json.Unmarshal(b, &got))
	swap := func(s *swapUsage) []uint64 {
		switch {
		case s == nil:
			return nil
		case s.Available == nil:
			return []uint64{s.Usage}
		}
		return []uint64{s.Usage, *s.Available}
	}
	require.Equal(t, []uint64{1, 9}, swap(got.Node.Swap))
	require.Equal(t, []uint64{10, 12}, swap(got.Pods[0].Swap), "a pod without a group")
	require.Equal(t, []uint64{700}, swap(got.Pods[1].Swap))
	by := map[string][]uint64{}
	for _, c := range got.Pods[1].Containers {
		by[c.Name] = swap(c.Swap)
	}
	require.Equal(t, map[string][]uint64{"bound": {300, 700}, "full": {2000, 0}, "free": {400}, "said": {5, 6}, "bad": nil}, by)

	text := string(resourceMetrics(sample, groups)) + string(containerMetrics(sample, groups, corev1.ResourceList{}))
	for _, line := range []string{
		`node_swap_usage_bytes 1 `,
		`container_swap_usage_bytes{container="bound",namespace="default",pod="web"} 300 `,
		`container_swap_limit_bytes{container="bound",namespace="default",pod="web"} 1000 `,
		`container_swap_usage_bytes{container="free",namespace="default",pod="web"} 400 `,
		`pod_swap_usage_bytes{namespace="default",pod="web"} 700 `,
		`pod_swap_usage_bytes{namespace="default",pod="orphan"} 10 `,
		`container_memory_swap{container="said",id="said-id",namespace="default",pod="web"} 5 `,
	} {
		require.Contains(t, text, "\n"+line)
	}
	require.NotContains(t, text, `container_swap_limit_bytes{container="free"`)
	require.NotContains(t, text, `_swap_usage_bytes{container="bad"`)

	g.cgroups.tree.V2, sample.Swap = false, nil
	sample.Pods["u"].Containers[2].Swap, sample.Pods["orphan"].Containers[0].Swap, sample.Pods["orphan"].Containers[1].Swap = nil, nil, nil
	groups = g.groupStats(sample)
	b, err = json.Marshal(summarize("n", now, sample, groups, false))
	require.NoError(t, err)
	require.NotContains(t, string(b)+string(resourceMetrics(sample, groups))+string(containerMetrics(sample, groups, corev1.ResourceList{})), "swap")
}
