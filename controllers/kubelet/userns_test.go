package kubelet_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// capable makes the runtime one with the default handler, which can do everything, and another, which cannot.
func capable(r *rig) {
	r.rt.Features = &cri.RuntimeFeatures{SupplementalGroupsPolicy: true}
	r.rt.Handlers = []*cri.RuntimeHandler{{Name: "", Features: &cri.RuntimeHandlerFeatures{UserNamespaces: true, RecursiveReadOnlyMounts: true}}, {Name: "plain"}}
}

func apart(p *corev1.Pod) { p.Spec.HostUsers = new(false) }

func (r *rig) mapping(pod string) *cri.IDMapping {
	ns := r.rt.SandboxConfig(pod).Linux.SecurityContext.NamespaceOptions.UsernsOptions
	require.Equal(r.t, cri.NamespaceMode_POD, ns.Mode)
	require.Len(r.t, ns.Uids, 1)
	require.Equal(r.t, ns.Uids[0].String(), ns.Gids[0].String())
	return ns.Uids[0]
}

func TestUserNamespaces(t *testing.T) {
	bubble(t, func(r *rig) { capable(r); r.opts.UserNamespaces.IDsPerPod = 131072; r.opts.StopPods = false }, func(r *rig) {
		node := controllertest.Get[*corev1.Node](r.c, "", "n1").Status
		require.True(t, *node.Features.SupplementalGroupsPolicy)
		require.Equal(t, []string{"", "plain"}, []string{node.RuntimeHandlers[0].Name, node.RuntimeHandlers[1].Name})
		require.True(t, *node.RuntimeHandlers[0].Features.UserNamespaces)
		require.False(t, *node.RuntimeHandlers[1].Features.UserNamespaces)

		r.pod("a", func(p *corev1.Pod) {
			apart(p)
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
		}, "c")
		r.pod("b", apart, "c")
		r.pod("host", nil, "c")
		time.Sleep(5 * time.Second)
		a, b := r.mapping("a"), r.mapping("b")
		require.EqualValues(t, 131072, a.Length)
		require.Zero(t, a.ContainerId)
		require.GreaterOrEqual(t, a.HostId, uint32(131072))
		require.NotEqual(t, a.HostId, b.HostId)
		c := r.rt.Config("a", "c")
		require.Equal(t, a.HostId, c.Linux.SecurityContext.NamespaceOptions.UsernsOptions.Uids[0].HostId)
		require.GreaterOrEqual(t, len(c.Mounts), 2)
		for _, m := range c.Mounts {
			require.Equal(t, a.HostId, m.UidMappings[0].HostId, m.ContainerPath)
			require.Equal(t, a.HostId, m.GidMappings[0].HostId, m.ContainerPath)
		}
		require.Equal(t, cri.NamespaceMode_NODE, r.rt.SandboxConfig("host").Linux.SecurityContext.NamespaceOptions.UsernsOptions.Mode)
		require.Empty(t, r.rt.Config("host", "c").Mounts[0].UidMappings)
		require.Contains(t, r.metrics(), "kubelet_started_user_namespaced_pods_total 2")
		require.Contains(t, r.metrics(), "kubelet_started_user_namespaced_pods_errors_total 0")

		// Over a restart and damage to a file the pods keep what they have.
		file := func(pod string) string {
			return filepath.Join(r.opts.RootDir, "pods", string(r.get(pod).UID), "userns")
		}
		kept, err := os.ReadFile(file("b"))
		require.NoError(t, err)
		r.stop()
		require.NoError(t, os.WriteFile(file("b"), []byte("{"), 0o600))
		r.start()
		r.rt.Kill("a", "c", 1)
		r.rt.Kill("b", "c", 1)
		time.Sleep(30 * time.Second)
		require.Contains(t, r.rt.Running(), "a/c")
		require.Contains(t, r.rt.Running(), "b/c")
		require.Equal(t, a.HostId, r.rt.Config("a", "c").Linux.SecurityContext.NamespaceOptions.UsernsOptions.Uids[0].HostId)
		require.Equal(t, b.HostId, r.rt.Config("b", "c").Linux.SecurityContext.NamespaceOptions.UsernsOptions.Uids[0].HostId)
		again, err := os.ReadFile(file("b"))
		require.NoError(t, err)
		require.Equal(t, string(kept), string(again))
		// A new sandbox of a pod has the ids of the one before.
		r.rt.KillSandbox("a")
		time.Sleep(time.Minute)
		require.Equal(t, a.HostId, r.mapping("a").HostId)
		for _, pod := range []string{"a", "b", "host"} {
			r.delete(pod, 1)
		}
		time.Sleep(10 * time.Second)
		left, err := os.ReadDir(filepath.Join(r.opts.RootDir, "pods"))
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

// A runtime, or a handler of it, without user namespaces leaves the pod waiting, and says so.
func TestUserNamespacesThatTheRuntimeDoesNotHave(t *testing.T) {
	for name, v := range map[string]struct {
		old   bool
		class string
		want  string
	}{
		"an old runtime":     {true, "", "FailedCreatePodSandBox: Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces"},
		"a handler":          {false, "plain", "FailedCreatePodSandBox: Failed to create pod sandbox: can't set `spec.hostUsers: false`, RuntimeClass handler \"plain\" does not support user namespaces"},
		"a handler not here": {false, "none", "FailedCreatePodSandBox: Failed to create pod sandbox: can't set `spec.hostUsers: false`, RuntimeClass handler \"none\" does not support user namespaces: the handler \"none\" is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				if !v.old {
					capable(r)
				}
			}, func(r *rig) {
				if v.class != "" {
					controllertest.Create(r.c, &nodev1.RuntimeClass{ObjectMeta: controllertest.Name("", v.class), Handler: v.class})
				}
				r.pod("web", func(p *corev1.Pod) {
					apart(p)
					if v.class != "" {
						p.Spec.RuntimeClassName = &v.class
					}
				}, "c")
				time.Sleep(30 * time.Second)
				require.Equal(t, corev1.PodPending, r.get("web").Status.Phase)
				require.Contains(t, r.eventsOf("web"), v.want)
				require.Nil(t, r.rt.SandboxConfig("web"), "it never runs without what it demands")
				require.NotContains(t, r.metrics(), "kubelet_started_user_namespaced_pods_errors_total 0")
				require.NoFileExists(t, filepath.Join(r.opts.RootDir, "pods", string(r.get("web").UID), "userns"))
			})
		})
	}
}

// The sandbox, the pod's cgroup and the node's room count what the class of a pod costs.
func TestRuntimeClassOverhead(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		controllertest.Create(r.c, &nodev1.RuntimeClass{ObjectMeta: controllertest.Name("", "vm"), Handler: "kata", Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("64Mi")}}})
		amounts := func(cpu, memory string) corev1.ResourceList {
			return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
		}
		pod := func(name, cpu string) {
			r.pod(name, func(p *corev1.Pod) {
				p.Spec.RuntimeClassName = new("vm")
				p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: amounts(cpu, "128Mi"), Limits: amounts(cpu, "128Mi")}
			}, "c")
		}
		pod("web", "1")
		time.Sleep(5 * time.Second)
		box := r.rt.SandboxConfig("web").Linux
		require.Equal(t, "kata", r.rt.Handler("web"))
		require.EqualValues(t, 512, box.Overhead.CpuShares)
		require.EqualValues(t, 50000, box.Overhead.CpuQuota)
		require.EqualValues(t, 64<<20, box.Overhead.MemoryLimitInBytes)
		require.EqualValues(t, 1024, box.Resources.CpuShares, "without the overhead")
		require.EqualValues(t, 128<<20, box.Resources.MemoryLimitInBytes)
		pod("more", "2300m") // with its overhead more than the 2.5 CPUs that are left of 4
		time.Sleep(5 * time.Second)
		require.Equal(t, "OutOfcpu", r.get("more").Status.Reason)
		require.Equal(t, "Node didn't have enough resource: cpu, requested: 2800, used: 1500, capacity: 4000", r.get("more").Status.Message)
	})
}

// What the runtime can do decides about strict groups and mounts that are read-only all the way down.
func TestFeaturesOfTheRuntime(t *testing.T) {
	demand := func(mode corev1.RecursiveReadOnlyMode, class string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroupsPolicy: new(corev1.SupplementalGroupsPolicyStrict)}
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v", ReadOnly: true, RecursiveReadOnly: &mode}}
			if class != "" {
				p.Spec.RuntimeClassName = &class
			}
		}
	}
	bubble(t, capable, func(r *rig) {
		controllertest.Create(r.c, &nodev1.RuntimeClass{ObjectMeta: controllertest.Name("", "plain"), Handler: "plain"})
		r.pod("all", demand(corev1.RecursiveReadOnlyEnabled, ""), "c")
		r.pod("none", demand(corev1.RecursiveReadOnlyEnabled, "plain"), "c")
		r.pod("perhaps", demand(corev1.RecursiveReadOnlyIfPossible, "plain"), "c")
		time.Sleep(5 * time.Second)
		c := r.rt.Config("all", "c")
		require.True(t, c.Mounts[0].RecursiveReadOnly)
		require.Equal(t, cri.SupplementalGroupsPolicy_Strict, c.Linux.SecurityContext.SupplementalGroupsPolicy)
		require.Equal(t, cri.SupplementalGroupsPolicy_Strict, r.rt.SandboxConfig("all").Linux.SecurityContext.SupplementalGroupsPolicy)
		require.Equal(t, corev1.RecursiveReadOnlyEnabled, *r.get("all").Status.ContainerStatuses[0].VolumeMounts[0].RecursiveReadOnly)
		require.False(t, r.rt.Config("perhaps", "c").Mounts[0].RecursiveReadOnly)
		require.Equal(t, corev1.RecursiveReadOnlyDisabled, *r.get("perhaps").Status.ContainerStatuses[0].VolumeMounts[0].RecursiveReadOnly)
		require.Nil(t, r.rt.Config("none", "c"))
		waiting := r.get("none").Status.ContainerStatuses[0].State.Waiting
		require.Equal(t, "CreateContainerConfigError", waiting.Reason)
		require.Equal(t, `volume "v" requested recursive read-only mode, but it is not supported by the runtime`, waiting.Message)
	})
	bubble(t, nil, func(r *rig) {
		r.pod("strict", demand(corev1.RecursiveReadOnlyDisabled, ""), "c")
		time.Sleep(5 * time.Second)
		require.Equal(t, "SupplementalGroupsPolicyNotSupported", r.get("strict").Status.Reason)
	})
}
