package kubelet

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

func TestMemoryOfContainersIsProtected(t *testing.T) {
	type amounts = map[corev1.ResourceName]string
	allocatable := func() corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("8Gi")}
	}
	page := int64(os.Getpagesize())
	for name, c := range map[string]struct {
		pod     *corev1.Pod
		reserve bool
		want    map[string]string
	}{
		"guaranteed":  {demanding(amounts{"cpu": "1", "memory": "1Gi"}, amounts{"cpu": "1", "memory": "1Gi"}), true, map[string]string{"memory.min": "1073741824"}},
		"burstable":   {demanding(amounts{"memory": "1Gi"}, amounts{"memory": "2Gi"}), true, map[string]string{"memory.low": "1073741824", "memory.high": "1610612736"}},
		"no limit":    {demanding(amounts{"memory": "2Gi"}, nil), true, map[string]string{"memory.low": "2147483648", "memory.high": "5368709120"}},
		"best effort": {demanding(nil, nil), true, map[string]string{"memory.min": "0", "memory.low": "0"}},
		"throttled":   {demanding(amounts{"memory": "1Gi"}, amounts{"memory": "2Gi"}), false, map[string]string{"memory.min": "0", "memory.low": "0", "memory.high": "1610612736"}},
		"uneven": {demanding(amounts{"memory": "1000001"}, amounts{"memory": "3000000"}), false, map[string]string{"memory.min": "0", "memory.low": "0",
			"memory.high": resource.NewQuantity(2000000/page*page, resource.DecimalSI).String()}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &limits{v2: true, qos: &MemoryQoS{Throttling: 0.5, Reserve: c.reserve}, allocatable: allocatable}
			got := l.container(c.pod, &c.pod.Spec.Containers[0]).Unified
			require.Equal(t, c.want, got)
		})
	}
}

// The groups of pods, of classes and of the node protect what pods request, as their sums change.
func TestMemoryOfGroupsIsProtected(t *testing.T) {
	for name, reserve := range map[string]bool{"reserved": true, "throttled only": false} {
		t.Run(name, func(t *testing.T) {
			g := newGroupTree(t, true)
			g.cgroups.qos = &MemoryQoS{Throttling: 0.9, Reserve: reserve}
			g.metrics = &metrics{memoryMin: prometheus.NewGauge(prometheus.GaugeOpts{Name: "a"}), memoryLow: prometheus.NewGauge(prometheus.GaugeOpts{Name: "b"})}
			for _, class := range []string{"", "burstable", "podg", "burstable/podb"} {
				require.NoError(t, os.MkdirAll(g.dir(class), 0o755))
				for _, f := range []string{"memory.min", "memory.low"} {
					require.NoError(t, os.WriteFile(filepath.Join(g.dir(class), f), []byte("-"), 0o600))
				}
			}
			read := func(file string, parts ...string) string {
				b, err := os.ReadFile(filepath.Join(g.dir(parts...), file))
				require.NoError(t, err)
				return strings.TrimSpace(string(b))
			}
			guaranteed := demanding(map[corev1.ResourceName]string{"cpu": "1", "memory": "3Mi"}, map[corev1.ResourceName]string{"cpu": "1", "memory": "3Mi"})
			burstable := demanding(map[corev1.ResourceName]string{"memory": "2Mi"}, nil)
			guaranteed.UID, burstable.UID = "g", "b"
			g.workers["g"], g.workers["b"] = &worker{pod: guaranteed}, &worker{pod: burstable}
			require.NoError(t, g.cgroups.makePod(t.Context(), guaranteed, podTotals(guaranteed)))
			require.NoError(t, g.cgroups.makePod(t.Context(), burstable, podTotals(burstable)))
			g.weighGroups(t.Context(), true)
			want := []string{"5242880", "2097152", "3145728", "2097152"}
			if !reserve {
				want = []string{"0", "0", "0", "0"}
			}
			require.Equal(t, want, []string{read("memory.min"), read("memory.low", "burstable"), read("memory.min", "podg"), read("memory.low", "burstable", "podb")})
			require.Equal(t, "0", read("memory.low", "podg"))
			burstable.Status.Phase = corev1.PodSucceeded
			g.weighGroups(t.Context(), true)
			if reserve {
				require.Equal(t, "3145728", read("memory.min"))
			}
			require.Equal(t, "0", read("memory.low", "burstable"))
		})
	}
}

// Version 1 of cgroups cannot protect memory, and says so; a wrong factor is refused everywhere.
func TestMemoryQoSThatCannotBe(t *testing.T) {
	dial := func(context.Context, string) (net.Conn, error) { return nil, net.ErrClosed }
	_, err := New(nil, Options{NodeName: "n", RuntimeDial: dial, RootDir: t.TempDir(), MemoryQoS: &MemoryQoS{Throttling: 0.9}})
	if _, v2 := os.Stat("/sys/fs/cgroup/cgroup.controllers"); v2 == nil {
		require.NoError(t, err)
	} else {
		require.EqualError(t, err, "kubelet: Options.MemoryQoS needs cgroup v2, and this machine has version 1")
	}
	for _, f := range []float64{0, -1, 1.01} {
		_, err := New(nil, Options{NodeName: "n", RuntimeDial: dial, RootDir: t.TempDir(), MemoryQoS: &MemoryQoS{Throttling: f}})
		require.ErrorContains(t, err, "kubelet: Options.MemoryQoS.Throttling: ")
	}
}
