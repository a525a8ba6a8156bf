package kubelet_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

func nodeCondition(r *rig, t corev1.NodeConditionType) corev1.ConditionStatus {
	for _, c := range controllertest.Get[*corev1.Node](r.c, "", "n1").Status.Conditions {
		if c.Type == t {
			return c.Status
		}
	}
	return ""
}

func podCondition(p *corev1.Pod, t corev1.PodConditionType) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == t {
			return c
		}
	}
	return corev1.PodCondition{}
}

// simulateMemory makes pods use the memory of a map by pod name, out of 8 GiB.
func (r *rig) simulateMemory(use map[string]uint64) {
	r.rt.Measure = func(c *cri.ContainerConfig) fakecri.Usage {
		return fakecri.Usage{Memory: use[c.Labels["io.kubernetes.pod.name"]]}
	}
	r.host.memory = func() uint64 {
		left := 8 * gi
		for _, name := range r.rt.Running() {
			for pod, n := range use {
				if name == pod+"/a" {
					left -= min(left, n)
				}
			}
		}
		return left
	}
}

// The pod that uses the most beyond its requests goes first, one at a time, until there is memory again; a
// critical one never.
func TestMemoryPressureEvicts(t *testing.T) {
	bubble(t, func(r *rig) {
		r.simulateMemory(map[string]uint64{"modest": 3 * gi, "greedy": 3 * gi, "critical": 2 * gi})
		r.rt.Play = func(*cri.ContainerConfig) fakecri.Script { return fakecri.Script{StopAfter: 5 * time.Second} }
	}, func(r *rig) {
		r.pod("modest", func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Gi")}
		}, "a")
		time.Sleep(3 * time.Second)
		r.pod("critical", func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }, "a")
		r.pod("greedy", nil, "a")
		time.Sleep(20 * time.Second)
		p := r.get("greedy")
		require.Equal(t, corev1.PodFailed, p.Status.Phase)
		for _, e := range controllertest.List[*corev1.Event](r.c, "default") {
			if e.Reason == "Evicted" {
				require.Equal(t, map[string]string{"starved_resource": "memory", "offending_containers": "a", "offending_containers_usage": "3Gi"}, e.Annotations)
			}
		}
		require.Equal(t, "Evicted", p.Status.Reason)
		require.Equal(t, "The node was low on resource: memory. Threshold quantity: 100Mi, available: 0. "+
			"Container a was using 3Gi, request is 0, has larger consumption of memory. ", p.Status.Message)
		require.Equal(t, "TerminationByKubelet", podCondition(p, corev1.DisruptionTarget).Reason)
		require.EqualValues(t, 137, p.Status.ContainerStatuses[0].State.Terminated.ExitCode, "it got one second")
		require.Equal(t, corev1.ConditionTrue, nodeCondition(r, corev1.NodeMemoryPressure))
		require.Equal(t, []string{"critical/a", "modest/a"}, r.rt.Running())

		r.pod("late", nil, "a")
		r.pod("late-burstable", func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}
		}, "a")
		time.Sleep(3 * time.Second)
		require.Equal(t, "The node had condition: [MemoryPressure]. ", r.get("late").Status.Message)
		r.shows(`kubelet_evictions{eviction_signal="memory.available"} 1`, `kubelet_eviction_stats_age_seconds_count{eviction_signal="memory.available"} 1`,
			`kubelet_admission_rejections_total{reason="Evicted"} 1`)
		require.Equal(t, corev1.PodRunning, r.get("late-burstable").Status.Phase)

		time.Sleep(6 * time.Minute)
		require.Equal(t, corev1.ConditionFalse, nodeCondition(r, corev1.NodeMemoryPressure))
		require.Equal(t, []string{"critical/a", "late-burstable/a", "modest/a"}, r.rt.Running())
	})
}

// TestReportsOfTheKernelEvictAtOnce has memory become short just after a look at the node.
func TestReportsOfTheKernelEvictAtOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		r.opts.NoPodLimit, r.opts.Eviction.KernelReports, r.opts.Eviction.Interval = false, true, 5*time.Minute
		r.simulateMemory(map[string]uint64{"greedy": 8 * gi, "modest": gi})
	}, func(r *rig) {
		r.pod("modest", nil, "a")
		time.Sleep(6 * time.Minute)
		var node, pods alarm
		r.host.set(func() {
			node, pods = r.host.alarms["/sys/fs/cgroup/memory"], r.host.alarms["/sys/fs/cgroup/memory/kubepods"]
		})
		require.Equal(t, 8*gi-100<<20, node.workingSet)
		require.NotZero(t, pods.workingSet, "the memory of all pods has a threshold too")
		r.pod("greedy", nil, "a")
		time.Sleep(5 * time.Second)
		require.Equal(t, corev1.PodRunning, r.get("greedy").Status.Phase, "nobody has looked")
		node.crossed()
		node.crossed() // one look is enough
		time.Sleep(5 * time.Second)
		require.Equal(t, "Evicted", r.get("greedy").Status.Reason)
		require.Equal(t, []string{"modest/a"}, r.rt.Running())
		pods.crossed()
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"modest/a"}, r.rt.Running())
	})
}

// A soft threshold waits for its grace period, and the pod has time to end.
func TestSoftEvictionGivesTime(t *testing.T) {
	bubble(t, func(r *rig) {
		r.opts.Eviction = kubelet.EvictionPolicy{Hard: map[string]string{}, Soft: map[string]string{"memory.available": "50%"},
			SoftGrace: map[string]string{"memory.available": "2m"}, MaxPodGrace: 20 * time.Second}
		r.simulateMemory(map[string]uint64{"web": 5 * gi})
		r.rt.Play = func(*cri.ContainerConfig) fakecri.Script {
			return fakecri.Script{StopAfter: 15 * time.Second, StopCode: 7}
		}
	}, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(100 * time.Second)
		require.Equal(t, corev1.ConditionTrue, nodeCondition(r, corev1.NodeMemoryPressure))
		require.Equal(t, corev1.PodRunning, r.get("web").Status.Phase)
		time.Sleep(35 * time.Second)
		require.Equal(t, corev1.PodRunning, r.get("web").Status.Phase, "it has not ended yet")
		time.Sleep(20 * time.Second)
		p := r.get("web")
		require.Equal(t, corev1.PodFailed, p.Status.Phase)
		require.EqualValues(t, 7, p.Status.ContainerStatuses[0].State.Terminated.ExitCode)
	})
}

// Too little disk space first costs images and dead containers. Only if that does not help a pod has to go.
func TestDiskPressureRemovesImagesFirst(t *testing.T) {
	var free atomic.Uint64
	free.Store(hostSize / 2)
	bubble(t, func(r *rig) {
		r.rt.AddImage("old", 30*gi, false)
		r.rt.AddImage("pause", 1*gi, true)
		r.host.node = func() uint64 {
			if slices.Contains(r.rt.Images(), "old") {
				return free.Load()
			}
			return free.Load() + 30*gi
		}
		r.rt.Measure = func(*cri.ContainerConfig) fakecri.Usage { return fakecri.Usage{Disk: 5 * gi} }
	}, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(time.Minute)
		free.Store(5 * gi)
		time.Sleep(20 * time.Second)
		require.Equal(t, []string{"img", "pause"}, r.rt.Images())
		require.Equal(t, corev1.PodRunning, r.get("web").Status.Phase)
		require.Equal(t, corev1.ConditionTrue, nodeCondition(r, corev1.NodeDiskPressure))

		free.Store(0)
		r.host.set(func() { r.host.node = free.Load })
		time.Sleep(20 * time.Second)
		p := r.get("web")
		require.Equal(t, "Evicted", p.Status.Reason)
		require.Contains(t, p.Status.Message, "The node was low on resource: ephemeral-storage. Threshold quantity: ")
		require.Regexp(t, `Container a was using (5Gi|52428\d+Ki), `, p.Status.Message, "what its log directory takes depends on the file system")
		r.pod("late", nil, "a")
		time.Sleep(3 * time.Second)
		require.Equal(t, "The node had condition: [DiskPressure]. ", r.get("late").Status.Message)
	})
}

// All pods that have too much on the disk go at once.
func TestEmptyDirOverItsLimitEvicts(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		limit := resource.MustParse("1Mi")
		for _, name := range []string{"one", "two", "small"} {
			p := r.pod(name, func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}}}
			}, "a")
			time.Sleep(time.Minute)
			require.True(t, ready(r.get(name)))
			if name != "small" {
				r.write(fmt.Sprintf("pods/%s/volumes/kubernetes.io~empty-dir/v/file", p.UID), 2<<20)
			}
		}
		time.Sleep(90 * time.Second)
		for _, name := range []string{"one", "two"} {
			require.Equal(t, `Usage of EmptyDir volume "v" exceeds the limit "1Mi". `, r.get(name).Status.Message)
		}
		require.True(t, ready(r.get("small")))
		r.shows(`kubelet_evictions{eviction_signal="emptydirfs.limit"} 2`)
	})
}

// Where images have a disk of their own, and what containers write has not, each is cleared of what is on it.
func TestEachDiskIsClearedOfItsOwn(t *testing.T) {
	var node, images atomic.Uint64
	bubble(t, func(r *rig) {
		node.Store(hostSize / 2)
		images.Store(hostSize / 2)
		r.rt.ImageDir, r.rt.LayerDir = "/images", "/layers"
		r.host.node, r.host.images = node.Load, images.Load
		r.rt.AddImage("old", 1*gi, false)
		r.rt.Measure = func(c *cri.ContainerConfig) fakecri.Usage { return fakecri.Usage{Disk: 5 * gi} }
		r.opts.ImageGC.HighPercent = 100
	}, func(r *rig) {
		r.pod("web", nil, "a")
		r.pod("done", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }, "a")
		time.Sleep(5 * time.Minute)
		r.rt.Kill("done", "a", 0)
		time.Sleep(time.Minute)
		_, containers := r.rt.Counts()
		require.Equal(t, 2, containers, "one of them has ended")
		node.Store(hostSize / 20)
		time.Sleep(9 * time.Second)
		require.Contains(t, r.rt.Images(), "old", "that disk has room")
		_, containers = r.rt.Counts()
		require.LessOrEqual(t, containers, 1)
		time.Sleep(20 * time.Second)
		p := r.get("web")
		require.Equal(t, "Evicted", p.Status.Reason)
		require.Regexp(t, `Container a was using (5Gi|52428\d+Ki), `, p.Status.Message, "layers are on the disk that is short")
		require.Contains(t, r.rt.Images(), "old")

		node.Store(hostSize / 2)
		time.Sleep(6 * time.Minute)
		r.pod("next", nil, "a")
		time.Sleep(5 * time.Second)
		require.True(t, ready(r.get("next")))
		images.Store(hostSize / 20)
		time.Sleep(15 * time.Second)
		require.NotContains(t, r.rt.Images(), "old")
		require.Contains(t, r.ask("/stats/summary"), `"containerFs":{"time"`)
	})
}

// What cannot be measured is not taken for a disk without room.
func TestImagesThatCannotBeMeasured(t *testing.T) {
	bubble(t, func(r *rig) {
		r.host.node = func() uint64 { return hostSize / 100 }
		r.rt.AddImage("old", 1*gi, false)
		r.rt.Fail = func(method string) error {
			if method == "ImageFsInfo" {
				return errors.New("no snapshotter")
			}
			return nil
		}
	}, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(12 * time.Minute)
		require.Contains(t, r.rt.Images(), "old")
		require.True(t, ready(r.get("web")))
		require.Condition(t, func() bool {
			for _, e := range controllertest.List[*corev1.Event](r.c, "default") {
				if e.Reason == "ImageGCFailed" && strings.Contains(e.Message, "failed to get imageFs stats") {
					return true
				}
			}
			return false
		})
	})
}

func TestUnusedImagesAreRemoved(t *testing.T) {
	var free atomic.Uint64
	free.Store(hostSize / 2)
	bubble(t, func(r *rig) {
		r.rt.ImageDir, r.host.images = "/images", free.Load
		r.opts.Eviction.Hard = map[string]string{}
		r.rt.AddImage("big", 4*gi, false)
		r.rt.AddImage("pinned", 4*gi, true)
		r.rt.AddImage("used-lately", 4*gi, false)
	}, func(r *rig) {
		r.pod("web", nil, "a")
		r.pod("other", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "used-lately" }, "a")
		time.Sleep(6 * time.Minute)
		r.delete("other", 0)
		free.Store(hostSize * 16 / 100) // 84 % are used
		time.Sleep(10 * time.Minute)
		require.Len(t, r.rt.Images(), 4)
		free.Store(hostSize*17/100 - 1) // 4 GiB more have to be free for 80 %
		r.rt.AddImage("new", 4*gi, false)
		free.Store(hostSize * 15 / 100)
		time.Sleep(5 * time.Minute)
		require.Equal(t, []string{"img", "new", "pinned"}, r.rt.Images(), "5 GiB were needed, the two oldest gave 8")
		r.shows(`kubelet_image_garbage_collected_total{reason="space"} 2`)
		free.Store(hostSize / 10)
		time.Sleep(5 * time.Minute)
		found := false
		for _, e := range controllertest.List[*corev1.Event](r.c, "default") {
			found = found || e.Reason == "FreeDiskSpaceFailed" && strings.HasPrefix(e.Message, "Insufficient free disk space on the node's image filesystem (90% of 100.0 GiB used). Failed to free sufficient space by deleting unused images (freed ")
		}
		require.True(t, found)
	})
}
