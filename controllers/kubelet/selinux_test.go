package kubelet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecsi"
)

const fileLabel = "system_u:object_r:container_file_t:s0"

// level lets the pod's containers run with a level.
func level(l string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: l}}
	}
}

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
				r.opts.SELinux = &kubelet.SELinux{FileLabel: fileLabel}
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
	two := func(p *corev1.Pod) {
		level("s0:c1,c2")(p)
		p.Spec.Containers = append(p.Spec.Containers, p.Spec.Containers[0])
		p.Spec.Containers[1].Name = "second"
		p.Spec.Containers[1].SecurityContext = &corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: "s0:c3"}}
	}
	const twoLabels = "multiple SELinux labels found: system_u:object_r:container_file_t:s0:c1,c2,system_u:object_r:container_file_t:s0:c3"
	alone := func(pv *corev1.PersistentVolume) {
		pv.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
		pv.Spec.MountOptions = []string{"noatime"}
	}
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
		"two labels":                        {pod: two, volume: alone, fails: twoLabels},
		"two labels of a driver without it": {pod: two, volume: alone, driver: storagev1.CSIDriverSpec{SELinuxMount: new(false)}, fails: twoLabels},
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
				require.Contains(t, x.events("p"), "FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: "+c.fails)
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

// mode lets a volume have one access mode.
func mode(m corev1.PersistentVolumeAccessMode) func(*corev1.PersistentVolume) {
	return func(pv *corev1.PersistentVolume) {
		pv.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{m}
	}
}

// labelledMounts lets the kubelet mount all volumes with labels, or only those of one pod alone.
func labelledMounts(all bool) func(*rig) {
	return func(r *rig) { r.opts.SELinux, r.opts.SELinuxMount = &kubelet.SELinux{FileLabel: fileLabel}, all }
}

// stagedWith are the options with which a volume was mounted last.
func (x *disks) stagedWith() []string {
	return x.d.Last("NodeStageVolume").(*csi.NodeStageVolumeRequest).VolumeCapability.GetMount().MountFlags
}

// withContext are the mount options of a level; none for an empty one.
func withContext(level string) []string {
	if level == "" {
		return nil
	}
	return []string{fmt.Sprintf("context=%q", strings.TrimSuffix(fileLabel, "s0")+level)}
}

// unprocessed is the event of a pod that waits for its volume.
func unprocessed(why string) string {
	return "FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: " + why
}

// Of two pods that need a volume with different labels, the second waits until the first has gone, and has
// then the volume with its own. Where volumes of several pods are not mounted with labels, such pods are
// counted.
func TestPodsThatShareAVolume(t *testing.T) {
	const one, two = "s0:c1,c2", "s0:c98,c99"
	policy := func(edit func(*corev1.Pod), p corev1.PodSELinuxChangePolicy) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			edit(pod)
			pod.Spec.SecurityContext.SELinuxChangePolicy = &p
		}
	}
	recursive := func(l string) func(*corev1.Pod) { return policy(level(l), corev1.SELinuxChangePolicyRecursive) }
	privileged := func(p *corev1.Pod) {
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	}
	label := func(level string) string {
		if level == "" {
			return ""
		}
		return strings.TrimSuffix(fileLabel, "s0") + level
	}
	const errors, warnings = "errors", "warnings"
	for name, c := range map[string]struct {
		mode          corev1.PersistentVolumeAccessMode
		some          bool // only volumes of one pod alone are mounted with labels
		without       bool // the driver does not support labels
		first, second func(*corev1.Pod)
		have, want    string // levels of the mounts
		counted       string
	}{
		"levels":                   {mode: corev1.ReadWriteMany, first: level(one), second: level(two), have: one, want: two, counted: errors},
		"levels, one node":         {mode: corev1.ReadWriteOnce, first: level(one), second: level(two), have: one, want: two, counted: errors},
		"levels, one pod":          {mode: corev1.ReadWriteOncePod, some: true, first: level(one), second: level(two), have: one, want: two, counted: errors},
		"one level":                {mode: corev1.ReadWriteMany, first: level(one), second: policy(level(one), corev1.SELinuxChangePolicyMountOption), have: one},
		"file by file later":       {mode: corev1.ReadWriteMany, first: level(one), second: recursive(one), have: one, counted: errors},
		"file by file first":       {mode: corev1.ReadWriteMany, first: recursive(one), second: level(one), want: one, counted: errors},
		"both file by file":        {mode: corev1.ReadWriteMany, first: recursive(one), second: recursive(two)},
		"privileged first":         {mode: corev1.ReadWriteMany, first: privileged, second: level(one), want: one, counted: errors},
		"privileged later":         {mode: corev1.ReadWriteMany, first: level(one), second: privileged, have: one, counted: errors},
		"privileged, file by file": {mode: corev1.ReadWriteMany, first: privileged, second: recursive(one)},
		"both privileged":          {mode: corev1.ReadWriteMany, first: privileged, second: privileged},
		"a driver without":         {mode: corev1.ReadWriteMany, without: true, first: level(one), second: level(two)},
		"levels, counted":          {mode: corev1.ReadWriteMany, some: true, first: level(one), second: level(two), counted: warnings},
		"policies, counted":        {mode: corev1.ReadWriteOnce, some: true, first: level(one), second: recursive(one), counted: warnings},
		"one level, nothing":       {mode: corev1.ReadWriteOnce, some: true, first: level(one), second: level(one)},
	} {
		withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{SELinuxMount: new(!c.without)}, func(t *testing.T, x *disks) {
			x.claim("a", mode(c.mode))
			both := func(edit func(*corev1.Pod)) func(*corev1.Pod) {
				return func(p *corev1.Pod) { edit(p); uses("a")(p) }
			}
			x.pod("first", both(c.first), "c")
			time.Sleep(5 * time.Second)
			require.True(t, ready(x.get("first")), name)
			require.Equal(t, withContext(c.have), x.stagedWith(), name)
			x.pod("second", both(c.second), "c")
			time.Sleep(10 * time.Second)
			waits := c.counted == errors
			require.Equal(t, !waits, ready(x.get("second")), name)
			require.Zero(t, x.d.Calls("NodeUnstageVolume"), name)
			text, short := x.metrics(), map[corev1.PersistentVolumeAccessMode]string{corev1.ReadWriteMany: "RWX", corev1.ReadWriteOnce: "RWO", corev1.ReadWriteOncePod: "RWOP"}[c.mode]
			for _, kind := range []string{errors, warnings} {
				line := fmt.Sprintf(`volume_manager_selinux_volume_context_mismatch_%s_total{access_mode=%q,volume_plugin="kubernetes.io/csi/%s"}`, kind, short, diskDriver)
				require.Equal(t, kind == c.counted, strings.Contains(text, line), "%s: %s", name, kind)
			}
			if !waits {
				return
			}
			require.Contains(t, x.events("second"), unprocessed(fmt.Sprintf("conflicting SELinux labels of volume pv-a: %q and %q", label(c.have), label(c.want))), name)
			x.delete("first", 1)
			time.Sleep(10 * time.Second)
			require.True(t, ready(x.get("second")), name)
			require.Equal(t, 1, x.d.Calls("NodeUnstageVolume"), name)
			require.Equal(t, withContext(c.want), x.stagedWith(), name)
		}, labelledMounts(!c.some))
	}
}

// A pod that has ended keeps no volume from others. While its volume cannot be taken down, the next pod waits
// for that.
func TestAVolumeIsUnmountedForAnotherLabel(t *testing.T) {
	for _, exit := range []int32{0, 1} {
		withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{SELinuxMount: new(true)}, func(t *testing.T, x *disks) {
			x.claim("a", mode(corev1.ReadWriteMany))
			x.pod("first", func(p *corev1.Pod) {
				level("s0:c1")(p)
				uses("a")(p)
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
			}, "c")
			time.Sleep(5 * time.Second)
			require.True(t, ready(x.get("first")))
			x.set("NodeUnpublishVolume", fakecri.Before)
			x.rt.Kill("first", "c", exit)
			time.Sleep(5 * time.Second)
			x.pod("second", func(p *corev1.Pod) { level("s0:c2")(p); uses("a")(p) }, "c")
			time.Sleep(5 * time.Second)
			require.False(t, ready(x.get("second")))
			require.Contains(t, x.events("second"), "FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: "+
				`waiting for unmount of volume "kubernetes.io/csi/disks.example.com^disk-a", because it is already mounted to a different pod with a different SELinux label`)
			require.Equal(t, withContext("s0:c1"), x.stagedWith())
			x.set()
			time.Sleep(time.Minute)
			require.True(t, ready(x.get("second")))
			require.Equal(t, withContext("s0:c2"), x.stagedWith())
			line := fmt.Sprintf(`volume_manager_selinux_volumes_admitted_total{access_mode="RWX",volume_plugin="kubernetes.io/csi/%s"}`, diskDriver)
			x.shows(line + " 2")
			require.NotContains(t, x.metrics(), "mismatch_errors_total{")
		}, labelledMounts(true))
	}
}

// What was staged with one label is taken away before it is staged with another, however often that fails,
// and the pods of the same label share it.
func TestAStageIsOfOneLabel(t *testing.T) {
	withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{SELinuxMount: new(true)}, func(t *testing.T, x *disks) {
		x.claim("a", mode(corev1.ReadWriteMany))
		x.pod("first", func(p *corev1.Pod) { level("s0:c1")(p); uses("a")(p) }, "c")
		time.Sleep(5 * time.Second)
		require.True(t, ready(x.get("first")))
		x.set("NodeUnstageVolume", fakecri.Before)
		x.delete("first", 1)
		time.Sleep(5 * time.Second)
		require.Empty(t, x.d.Published())
		for _, name := range []string{"second", "third"} {
			x.pod(name, func(p *corev1.Pod) { level("s0:c2")(p); uses("a")(p) }, "c")
		}
		time.Sleep(20 * time.Second)
		require.Equal(t, withContext("s0:c1"), x.stagedWith())
		require.Contains(t, strings.Join(x.events("second"), "\n"), "UnmountDevice failed for volume")
		x.set()
		time.Sleep(time.Minute)
		require.True(t, ready(x.get("second")) && ready(x.get("third")))
		require.Equal(t, withContext("s0:c2"), x.stagedWith())
	}, labelledMounts(true))
}

// A kubelet that starts again finds with which label a volume is mounted. A pod that has it keeps it as it
// is, whatever has been configured since, and no pod that was made meanwhile gets before it.
func TestLabelsAfterARestart(t *testing.T) {
	for _, before := range []bool{true, false} {
		withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{SELinuxMount: new(true)}, func(t *testing.T, x *disks) {
			x.claim("a", mode(corev1.ReadWriteMany))
			first := x.pod("first", func(p *corev1.Pod) { level("s0:c1")(p); uses("a")(p) }, "c")
			time.Sleep(5 * time.Second)
			require.True(t, ready(x.get("first")))
			have, label, prefix := "", "", strings.TrimSuffix(fileLabel, "s0")
			if before {
				have, label = "s0:c1", prefix+"s0:c1"
			}
			record, err := os.ReadFile(filepath.Join(x.opts.RootDir, "pods", string(first.UID), "volumes/kubernetes.io~csi/pv-a/vol_data.json"))
			require.NoError(t, err)
			require.Equal(t, before, strings.Contains(string(record), `"seLinuxMountContext":"system_u:object_r:container_file_t:s0:c1"`))
			x.crash()
			x.pod("second", func(p *corev1.Pod) { level("s0:c2")(p); uses("a")(p) }, "c")
			x.opts.SELinuxMount = true
			x.restart()
			time.Sleep(10 * time.Second)
			require.True(t, ready(x.get("first")))
			require.Zero(t, x.restarts("first"))
			require.False(t, ready(x.get("second")))
			require.Zero(t, x.d.Calls("NodeUnpublishVolume"))
			require.Equal(t, withContext(have), x.stagedWith())
			require.Contains(t, x.events("second"), unprocessed(fmt.Sprintf("conflicting SELinux labels of volume pv-a: %q and %q", label, prefix+"s0:c2")))
			require.NotContains(t, strings.Join(x.events("second"), ""), "waiting for unmount")
			x.rt.Kill("first", "c", 1)
			time.Sleep(30 * time.Second)
			require.True(t, ready(x.get("first")), "its containers may start again")
			x.delete("first", 1)
			time.Sleep(time.Minute)
			require.True(t, ready(x.get("second")))
			require.Equal(t, withContext("s0:c2"), x.stagedWith())
		}, labelledMounts(before), func(r *rig) { r.opts.StopPods = false })
	}
}

// A volume with the access mode ReadWriteOncePod alone is one pod's at a time, and is not taken away from the
// node for the next one with the same label.
func TestAVolumeOfOnePodAlone(t *testing.T) {
	withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{SELinuxMount: new(true)}, func(t *testing.T, x *disks) {
		x.claim("a", mode(corev1.ReadWriteOncePod))
		for _, name := range []string{"first", "second"} {
			x.pod(name, func(p *corev1.Pod) { level("s0:c1")(p); uses("a")(p) }, "c")
			time.Sleep(5 * time.Second)
		}
		require.True(t, ready(x.get("first")))
		require.False(t, ready(x.get("second")))
		require.Contains(t, x.events("second"), `FailedMount: MountVolume.SetUp failed for volume "pv-a" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`)
		x.delete("first", 1)
		time.Sleep(10 * time.Second)
		require.True(t, ready(x.get("second")))
		require.Zero(t, x.d.Calls("NodeUnstageVolume"))
	}, labelledMounts(false))
}

// of gives an ephemeral container a level and, at /v, a volume.
func of(level, volume string) func(*corev1.EphemeralContainer) {
	return func(e *corev1.EphemeralContainer) {
		e.SecurityContext = &corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: level}}
		e.VolumeMounts = []corev1.VolumeMount{{Name: volume, MountPath: "/v"}}
	}
}

// The label of an ephemeral container is one of the labels of a volume. A pod that has the volume already
// keeps it, and its ephemeral container starts.
func TestLabelsOfEphemeralContainers(t *testing.T) {
	const mismatch = `volume_manager_selinux_pod_context_mismatch_errors_total{access_mode="RWOP"} `
	for _, mounted := range []bool{true, false} {
		withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{SELinuxMount: new(true)}, func(t *testing.T, x *disks) {
			x.claim("a", mode(corev1.ReadWriteOncePod))
			if !mounted {
				x.set("NodeStageVolume", fakecri.Before)
			}
			x.pod("p", func(p *corev1.Pod) { level("s0:c1")(p); uses("a")(p) }, "c")
			time.Sleep(5 * time.Second)
			require.Equal(t, mounted, ready(x.get("p")))
			require.NotContains(t, x.metrics(), mismatch)
			x.debug("p", of("s0:c2", "data"))
			x.set()
			time.Sleep(10 * time.Minute)
			require.Equal(t, mounted, ready(x.get("p")))
			require.Equal(t, mounted, slices.Contains(x.rt.Running(), "p/debug"))
			require.Contains(t, x.metrics(), mismatch)
			two := "multiple SELinux labels found: system_u:object_r:container_file_t:s0:c1,system_u:object_r:container_file_t:s0:c2"
			if mounted {
				require.NotContains(t, strings.Join(x.events("p"), "\n"), "FailedMount")
			} else {
				require.Contains(t, x.events("p"), unprocessed(two))
			}
		}, labelledMounts(false))
	}
}

// Containers with several labels share what is not mounted with one, and are counted.
func TestContainersOfSeveralLabels(t *testing.T) {
	const mismatch = `volume_manager_selinux_pod_context_mismatch_warnings_total{access_mode="inline"} `
	for _, debugged := range []bool{false, true} {
		bubble(t, labelledMounts(false), func(r *rig) {
			r.pod("p", func(p *corev1.Pod) {
				level("s0:c1")(p)
				p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
				for i := range p.Spec.Containers {
					p.Spec.Containers[i].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
				}
				if !debugged {
					p.Spec.Containers[1].SecurityContext = &corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: "s0:c2"}}
				}
			}, "a", "b")
			time.Sleep(3 * time.Second)
			require.True(t, ready(r.get("p")))
			if debugged {
				require.NotContains(t, r.metrics(), mismatch)
				r.debug("p", of("s0:c2", "v"))
				time.Sleep(3 * time.Second)
			}
			require.Contains(t, r.metrics(), mismatch)
		})
	}
}
