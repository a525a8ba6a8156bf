package kubelet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecsi"
)

// relabelled are the mounts of a container whose files the runtime labels.
func relabelled(c *cri.ContainerConfig) (paths []string) {
	for _, m := range c.Mounts {
		if m.SelinuxRelabel {
			paths = append(paths, m.ContainerPath)
		}
	}
	return paths
}

// Where SELinux is enabled the runtime labels what belongs to the pod, and nothing else.
func TestTheRuntimeLabelsVolumes(t *testing.T) {
	volumes := func(p *corev1.Pod) {
		for name, source := range map[string]corev1.VolumeSource{
			"empty": {EmptyDir: &corev1.EmptyDirVolumeSource{}}, "down": {DownwardAPI: &corev1.DownwardAPIVolumeSource{}},
			"host": {HostPath: &corev1.HostPathVolumeSource{Path: "/"}},
		} {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
			p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
		}
	}
	for _, enabled := range []bool{false, true} {
		bubble(t, func(r *rig) {
			if enabled {
				r.opts.SELinux = &kubelet.SELinux{FileLabel: "system_u:object_r:container_file_t:s0"}
			}
		}, func(r *rig) {
			r.pod("p", volumes, "c")
			time.Sleep(3 * time.Second)
			require.True(t, ready(r.get("p")))
			var want []string
			if enabled {
				want = []string{"/empty", "/down", "/etc/hosts", "/dev/termination-log"}
			}
			require.ElementsMatch(t, want, relabelled(r.rt.Config("p", "c")))
		})
	}
}

// A volume of one pod alone, whose driver supports it, is mounted with the label of the pod, for all files at
// once. In all other cases it is mounted as ever.
func TestVolumesAreMountedWithALabel(t *testing.T) {
	level := func(l string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: l}}
		}
	}
	alone := func(pv *corev1.PersistentVolume) {
		pv.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
		pv.Spec.MountOptions = []string{"noatime"}
	}
	const fileLabel = "system_u:object_r:container_file_t:s0"
	for name, c := range map[string]struct {
		pod    func(*corev1.Pod)
		volume func(*corev1.PersistentVolume)
		driver storagev1.CSIDriverSpec
		off    bool
		want   []string
		fails  string
	}{
		"labelled": {pod: level("s0:c1,c2"), volume: alone, want: []string{"noatime", `context="system_u:object_r:container_file_t:s0:c1,c2"`}},
		"with a user": {pod: func(p *corev1.Pod) {
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{User: "u", Role: "r", Type: "spc_t", Level: "s0"}}
		}, volume: alone, want: []string{"noatime", `context="u:object_r:container_file_t:s0"`}},
		"no SELinux":        {pod: level("s0:c1,c2"), volume: alone, off: true, want: []string{"noatime"}},
		"no options":        {pod: func(*corev1.Pod) {}, volume: alone, want: []string{"noatime"}},
		"no level":          {pod: level(""), volume: alone, want: []string{"noatime"}},
		"shared":            {pod: level("s0:c1,c2"), volume: func(*corev1.PersistentVolume) {}},
		"driver without it": {pod: level("s0:c1,c2"), volume: alone, driver: storagev1.CSIDriverSpec{SELinuxMount: new(false)}, want: []string{"noatime"}},
		"file by file": {pod: func(p *corev1.Pod) {
			level("s0:c1,c2")(p)
			p.Spec.SecurityContext.SELinuxChangePolicy = new(corev1.SELinuxChangePolicyRecursive)
		}, volume: alone, want: []string{"noatime"}},
		"two labels": {pod: func(p *corev1.Pod) {
			level("s0:c1,c2")(p)
			p.Spec.Containers = append(p.Spec.Containers, p.Spec.Containers[0])
			p.Spec.Containers[1].Name = "second"
			p.Spec.Containers[1].SecurityContext = &corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: "s0:c3"}}
		}, volume: alone, fails: "multiple SELinux labels found: system_u:object_r:container_file_t:s0:c1,c2,system_u:object_r:container_file_t:s0:c3"},
	} {
		if c.driver.SELinuxMount == nil {
			c.driver.SELinuxMount = new(true)
		}
		withDisks(t, fakecsi.Options{}, c.driver, func(t *testing.T, x *disks) {
			if !c.off {
				x.opts.SELinux = &kubelet.SELinux{FileLabel: fileLabel}
				x.restart()
				time.Sleep(3 * time.Second)
			}
			x.claim("a", c.volume)
			x.pod("p", func(p *corev1.Pod) { c.pod(p); uses("a")(p) }, "c")
			time.Sleep(5 * time.Second)
			const mislabelled = "volume_manager_selinux_pod_context_mismatch_errors_total"
			if c.fails != "" {
				attempts := int32(0)
				for _, e := range controllertest.List[*corev1.Event](x.c, "default") {
					if e.Reason == "FailedMount" {
						attempts += e.Count
					}
				}
				require.Positive(t, attempts)
				x.shows(fmt.Sprintf(`%s{access_mode="RWOP"} %d`, mislabelled, attempts))
				require.Contains(t, x.events("p"), "FailedMount: MountVolume.SetUp failed for volume \"data\" : "+c.fails)
				return
			}
			require.True(t, ready(x.get("p")), name)
			require.NotContains(t, x.metrics(), mislabelled+"{")
			stage := x.d.Last("NodeStageVolume").(*csi.NodeStageVolumeRequest).VolumeCapability.GetMount().MountFlags
			require.Equal(t, c.want, stage, name)
			require.Equal(t, c.want, x.d.Last("NodePublishVolume").(*csi.NodePublishVolumeRequest).VolumeCapability.GetMount().MountFlags, name)
		})
	}
}
