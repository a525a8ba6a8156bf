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
)

// groupTree is a kubelet whose cgroups are plain folders, of version 1 or 2.
type groupTree struct {
	*Kubelet
	t    *testing.T
	file string // that holds a group's share of CPU time
}

func newGroupTree(t *testing.T, v2 bool) *groupTree {
	g := &groupTree{t: t, file: "cpu.shares"}
	g.Kubelet = &Kubelet{workers: map[types.UID]*worker{}, pleg: &pleg{}, ledger: &ledger{}, cgroups: &cgroups{root: "/", mount: t.TempDir(), v2: v2, burstable: -1}}
	if v2 {
		g.file = "cpu.weight"
		for _, class := range []string{"", "burstable", "besteffort"} {
			dir := filepath.Join(g.cgroups.mount, "kubepods", class)
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, g.file), []byte("100"), 0o600))
		}
	} else {
		for _, controller := range []string{"cpu", "memory", "pids"} {
			require.NoError(t, os.Mkdir(filepath.Join(g.cgroups.mount, controller), 0o755))
		}
	}
	require.NoError(t, g.cgroups.prepare(Options{NoPodLimit: true, Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}))
	return g
}

func (g *groupTree) dir(parts ...string) string {
	base := filepath.Join(g.cgroups.mount, "cpu")
	if g.cgroups.v2 {
		base = g.cgroups.mount
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
			g.weighGroups(true)
			require.Equal(t, v.two, g.share("burstable"))
			require.Equal(t, v.idle, g.share("besteffort"))
			require.NoError(t, g.cgroups.makePod(best, podTotals(best)))

			g.run("d", "1")
			g.weighGroups(false)
			require.Equal(t, v.three, g.share("burstable"), "before the pod's own group is made")
			delete(g.workers, "d")
			g.weighGroups(false)
			require.Equal(t, v.three, g.share("burstable"))
			g.weighGroups(true)
			require.Equal(t, v.two, g.share("burstable"))

			// A kubelet that starts leaves what runs alone until it knows all pods.
			g.cgroups.burstable = -1
			require.NoError(t, g.cgroups.prepare(Options{NoPodLimit: true, Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}))
			g.workers = map[types.UID]*worker{}
			g.run("static", "10m")
			g.weighGroups(false)
			require.Equal(t, v.two, g.share("burstable"))
			ended := g.run("e", "3")
			ended.Status.Phase = corev1.PodSucceeded
			delete(g.workers, "static")
			g.weighGroups(true)
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
			g.sweep(wanted)
			require.Equal(t, map[types.UID]bool{"worker": true, "manifest": true, "runtime": true}, g.cgroups.pods())
			require.DirExists(t, g.dir("burstable"))
		})
	}
}
