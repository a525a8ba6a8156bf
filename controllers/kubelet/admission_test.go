package kubelet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// wants makes the first container want that many CPUs.
func wants(cpus string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = cpuOf(cpus) }
}

func cpuOf(cpus string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)}
}

func TestPodsOfOneMomentDoNotRefuseEachOther(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.StopPods = false }, func(r *rig) {
		names := []string{"p1", "p2", "p3"}
		check := func(what string) {
			time.Sleep(5 * time.Second)
			require.Len(t, r.rt.Running(), 1, what)
			for _, name := range names {
				p := r.get(name)
				if slices.Contains(r.rt.Running(), name+"/a") {
					require.True(t, ready(p), what)
					continue
				}
				require.Equal(t, corev1.PodFailed, p.Status.Phase, what)
				require.Equal(t, "OutOfcpu", p.Status.Reason, what)
			}
			for _, name := range names {
				r.delete(name, 0)
			}
			time.Sleep(5 * time.Second)
			require.Empty(t, r.rt.Running(), what)
		}
		for _, name := range names {
			r.pod(name, wants("3"), "a")
		}
		check("while it runs")
		r.stop()
		for _, name := range names {
			r.pod(name, wants("3"), "a")
		}
		r.opts.StopPods = true
		r.start()
		check("while it was away")
	})
}

func TestARefusedPodTakesNoRoom(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.pod("large", wants("5"), "a")
		r.pod("fits", wants("4"), "a")
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"fits/a"}, r.rt.Running())
		require.Equal(t, "OutOfcpu", r.get("large").Status.Reason)
	})
}

func TestRoomIsFreeWhenContainersHaveStopped(t *testing.T) {
	bubble(t, func(r *rig) {
		r.rt.Play = func(c *cri.ContainerConfig) fakecri.Script {
			if c.Metadata.Name == "job" {
				return fakecri.Script{RunFor: 5 * time.Second}
			}
			return fakecri.Script{StopAfter: 20 * time.Second}
		}
	}, func(r *rig) {
		r.pod("first", wants("3"), "a")
		time.Sleep(3 * time.Second)
		r.delete("first", 30)
		time.Sleep(2 * time.Second)
		r.pod("early", wants("3"), "a")
		time.Sleep(2 * time.Second)
		require.Equal(t, corev1.PodFailed, r.get("early").Status.Phase, "the first still runs")
		time.Sleep(20 * time.Second)
		r.pod("job", func(p *corev1.Pod) { wants("3")(p); p.Spec.RestartPolicy = corev1.RestartPolicyNever }, "job")
		time.Sleep(8 * time.Second)
		require.Equal(t, corev1.PodSucceeded, r.get("job").Status.Phase)
		r.pod("last", wants("3"), "a")
		time.Sleep(2 * time.Second)
		require.True(t, ready(r.get("last")))
	})
}

func TestTheOldestPodsStayWhenTheNodeShrinks(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.StopPods = false }, func(r *rig) {
		for _, name := range []string{"c", "b", "a"} {
			r.pod(name, wants("1"), "main")
			time.Sleep(2 * time.Second)
		}
		r.stop()
		r.opts.Reserved = cpuOf("3")
		r.start()
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"a/main", "b/main", "c/main"}, r.rt.Running(), "what runs is left alone")
		r.stop()
		r.rt.Forget()
		r.opts.Reserved = cpuOf("2")
		r.opts.StopPods = true
		r.start()
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"b/main", "c/main"}, r.rt.Running())
		require.Equal(t, "OutOfcpu", r.get("a").Status.Reason)
	})
}

func TestInitContainersNeedRoom(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.pod("first", wants("2"), "a")
		time.Sleep(2 * time.Second)
		r.pod("second", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "img", ImagePullPolicy: corev1.PullNever,
				Resources: corev1.ResourceRequirements{Requests: cpuOf("3")}}}
		}, "a")
		time.Sleep(2 * time.Second)
		require.Equal(t, "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000", r.get("second").Status.Message)
	})
}
