package kubelet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/cgroup"
)

// groupTree is a kubelet whose cgroups are plain folders, of version 1 or 2.
type groupTree struct {
	*Kubelet
	t    *testing.T
	file string // that holds a group's share of CPU time
}

func newGroupTree(t *testing.T, v2 bool) *groupTree {
	g := &groupTree{t: t, file: "cpu.shares"}
	g.Kubelet = &Kubelet{workers: map[types.UID]*worker{}, pleg: &pleg{}, ledger: &ledger{}, cgroups: &cgroups{tree: cgroup.Tree{Mount: t.TempDir(), V2: v2}, burstable: -1}}
	if v2 {
		g.file = "cpu.weight"
		for _, class := range []string{"", "burstable", "besteffort"} {
			dir := filepath.Join(g.cgroups.tree.Mount, "kubepods", class)
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, g.file), []byte("100"), 0o600))
		}
	} else {
		for _, controller := range []string{"cpu", "memory", "pids"} {
			require.NoError(t, os.Mkdir(filepath.Join(g.cgroups.tree.Mount, controller), 0o755))
		}
	}
	require.NoError(t, g.cgroups.prepare(t.Context(), Options{NoPodLimit: true, Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}, false))
	return g
}

func (g *groupTree) dir(parts ...string) string {
	base := filepath.Join(g.cgroups.tree.Mount, "cpu")
	if g.cgroups.tree.V2 {
		base = g.cgroups.tree.Mount
	}
	return filepath.Join(append([]string{base, "kubepods"}, parts...)...)
}

func (g *groupTree) share(parts ...string) string {
	b, err := os.ReadFile(filepath.Join(g.dir(parts...), g.file))
	require.NoError(g.t, err)
	return strings.TrimSpace(string(b))
}

// run adds a worker whose containers request CPU time.
func (g *groupTree) run(uid types.UID, requests ...string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.UID = uid
	for _, r := range requests {
		c := corev1.Container{Name: "c"}
		if r != "" {
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(r)}
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
	g.workers[uid] = &worker{pod: pod}
	return pod
}

// The CPU weight of the burstable cgroup follows the sum of the requests in it.
func TestBurstablePodsGetWhatTheyRequest(t *testing.T) {
	for name, v := range map[string]struct {
		v2                     bool
		idle, two, three, node string
	}{
		"v1": {false, "2", "614", "1638", "4096"},
		"v2": {true, "1", "24", "63", "157"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroupTree(t, v.v2)
			require.Equal(t, v.node, g.share())
			if !v.v2 {
				require.Equal(t, v.idle, g.share("burstable"))
			}
			g.run("a", "500m")
			g.run("b", "100m", "")
			best := g.run("c", "")
			g.weighGroups(t.Context(), true)
			require.Equal(t, v.two, g.share("burstable"))
			require.Equal(t, v.idle, g.share("besteffort"))
			require.NoError(t, g.cgroups.makePod(t.Context(), best, podTotals(best)))

			g.run("d", "1")
			g.weighGroups(t.Context(), false)
			require.Equal(t, v.three, g.share("burstable"), "before the pod's own group is made")
			delete(g.workers, "d")
			g.weighGroups(t.Context(), false)
			require.Equal(t, v.three, g.share("burstable"))
			g.weighGroups(t.Context(), true)
			require.Equal(t, v.two, g.share("burstable"))

			// A kubelet that starts leaves what runs alone until it knows all pods.
			g.cgroups.burstable = -1
			require.NoError(t, g.cgroups.prepare(t.Context(), Options{NoPodLimit: true, Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}, false))
			g.workers = map[types.UID]*worker{}
			g.run("static", "10m")
			g.weighGroups(t.Context(), false)
			require.Equal(t, v.two, g.share("burstable"))
			ended := g.run("e", "3")
			ended.Status.Phase = corev1.PodSucceeded
			delete(g.workers, "static")
			g.weighGroups(t.Context(), true)
			require.Equal(t, v.idle, g.share("burstable"))
		})
	}
}

// A cgroup that could not be removed with its pod is removed later.
func TestGroupsOfGonePodsAreSwept(t *testing.T) {
	for name, v2 := range map[string]bool{"v1": false, "v2": true} {
		t.Run(name, func(t *testing.T) {
			g := newGroupTree(t, v2)
			g.static = map[types.UID]*corev1.Pod{"manifest": {}}
			g.pleg.pods = map[types.UID]int{"runtime": 1}
			g.run("worker", "1")
			wanted := func(uid types.UID) bool { return g.static[uid] != nil || g.workers[uid] != nil }
			for _, uid := range []string{"worker", "manifest", "runtime", "gone"} {
				for _, class := range []string{"", "burstable", "besteffort"} {
					require.NoError(t, os.MkdirAll(g.dir(class, "pod"+uid, "container"), 0o755))
				}
			}
			require.Equal(t, map[types.UID]bool{"worker": true, "manifest": true, "runtime": true, "gone": true}, g.cgroups.pods())
			g.sweep(t.Context(), wanted)
			require.Equal(t, map[types.UID]bool{"worker": true, "manifest": true, "runtime": true}, g.cgroups.pods())
			require.DirExists(t, g.dir("burstable"))
		})
	}
}

// The groups of other processes are limited to what is reserved for them, and must exist.
func TestReservedGroups(t *testing.T) {
	g := newGroupTree(t, false)
	g.node, g.recorder = &node{k: g.Kubelet}, events.New(noServer{}, events.Options{Component: "kubelet"})
	g.opts.ReservedGroups = []ReservedGroup{{Name: "/system", What: "System Reserved", Resources: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("1Gi"), resourcePID: resource.MustParse("100")}}}
	require.EqualError(t, g.limitReserved(t.Context(), false), `Failed to enforce System Reserved Cgroup Limits on "/system": there is no such cgroup`)
	values := map[string]string{"cpu/system/cpu.shares": "512", "memory/system/memory.limit_in_bytes": "1073741824", "pids/system/pids.max": "100"}
	for file := range values {
		require.NoError(t, os.Mkdir(filepath.Join(g.cgroups.tree.Mount, filepath.Dir(file)), 0o700))
	}
	require.NoError(t, g.limitReserved(t.Context(), false))
	for file, want := range values {
		b, err := os.ReadFile(filepath.Join(g.cgroups.tree.Mount, file))
		require.NoError(t, err)
		require.Equal(t, want, string(b))
	}
	g.opts.ReservedGroups[0].Name = "/"
	require.ErrorContains(t, g.limitReserved(t.Context(), false), "no such cgroup", "never the root")
}

// All pods together get what is not reserved, as soon as they do not use more.
func TestPodsAreLimitedTogether(t *testing.T) {
	g := newGroupTree(t, false)
	g.node, g.recorder = &node{k: g.Kubelet}, events.New(noServer{}, events.Options{Component: "kubelet"})
	g.opts.Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}
	g.limitPods(t.Context())
	b, err := os.ReadFile(filepath.Join(g.cgroups.tree.Mount, "memory/kubepods/memory.limit_in_bytes"))
	require.NoError(t, err)
	require.Equal(t, "2147483648", string(b))
}
