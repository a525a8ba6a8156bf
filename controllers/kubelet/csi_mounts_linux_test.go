package kubelet_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecsi"
)

// realDisks is a rig with a driver on real sockets that mounts, outside of virtual time. mounts counts the
// mounts below the root directory of the kubelet, data holds what is in the volumes.
func realDisks(t *testing.T) (x *disks, data string, mounts func() int) {
	probe := t.TempDir()
	if err := unix.Mount("tmpfs", probe, "tmpfs", 0, ""); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must be able to mount: %v", err)
		t.Skipf("this process may not mount: %v", err)
	}
	require.NoError(t, unix.Unmount(probe, 0))
	root, err := os.MkdirTemp("", "k") // paths of sockets are short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	data = t.TempDir()
	r := &rig{t: t, c: controllertest.Start(t, controllertest.Options{}), rt: fakecri.New("img"), host: &host{}}
	dial, _ := r.rt.Serve(t.Context())
	r.opts = kubelet.Options{NodeName: "n1", RootDir: root, LogDir: filepath.Join(t.TempDir(), "logs"), NoCgroups: true, DiskForMemory: true, Host: r.host,
		RuntimeDial: dial, Plugins: &kubelet.PluginOptions{}}
	x = &disks{rig: r, d: fakecsi.New(diskDriver, fakecsi.Options{Data: data})}
	controllertest.Create(r.c, &storagev1.CSIDriver{ObjectMeta: controllertest.Name("", diskDriver), Spec: storagev1.CSIDriverSpec{AttachRequired: new(false), FSGroupPolicy: new(storagev1.FileFSGroupPolicy)}})
	_, err = x.d.Serve(t.Context(), root)
	require.NoError(t, err)
	r.start()
	return x, data, func() int {
		b, err := os.ReadFile("/proc/self/mounts")
		require.NoError(t, err)
		return strings.Count(string(b), root)
	}
}

// soon waits for what happens in real time.
func soon(t *testing.T, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, time.Minute, 20*time.Millisecond, what)
}

// With a driver on real sockets that mounts: pods share a volume's files, a kubelet that starts again keeps
// what is mounted, and no mount is left when the pods are deleted.
func TestCSIMounts(t *testing.T) {
	x, data, mounts := realDisks(t)
	x.claim("a", nil)
	x.claim("b", func(pv *corev1.PersistentVolume) { pv.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) })
	group := int64(os.Getgid())
	for _, name := range []string{"one", "two"} {
		x.pod(name, func(p *corev1.Pod) {
			uses("a")(p)
			p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
			p.Spec.Containers[0].VolumeMounts[0].SubPath = "sub"
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "raw", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "b"}}})
			p.Spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{{Name: "raw", DevicePath: "/dev/raw"}}
		}, "c")
	}
	soon(t, "ready", func() bool { return ready(x.get("one")) && ready(x.get("two")) })
	require.Equal(t, 6, mounts(), "a volume, a device and a subPath of each pod")
	at := func(pod string) string { return x.rt.Config(pod, "c").Mounts[0].HostPath }
	require.NoError(t, os.WriteFile(filepath.Join(at("one"), "file"), []byte("text"), 0o600))
	require.FileExists(t, filepath.Join(at("two"), "file"))
	info, err := os.Stat(filepath.Join(data, "disk-a"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSetgid, "the group's")

	x.rig.stop()
	require.Equal(t, 6, mounts(), "they outlive the kubelet")
	x.delete("one", 0)
	x.start()
	soon(t, "the pod that was deleted meanwhile is taken down", func() bool { return mounts() == 3 })
	require.True(t, ready(x.get("two")))
	x.delete("two", 1)
	soon(t, "gone", func() bool { return !x.exists("two") && len(x.d.Staged()) == 0 })
	require.Zero(t, mounts())
	require.Empty(t, x.left())
	require.Empty(t, x.d.Broken())
	require.FileExists(t, filepath.Join(data, "disk-a", "sub", "file"), "what is in a volume stays")
	x.rig.stop()
}

// local makes a volume a path of the node.
func local(pv *corev1.PersistentVolume, path string, options ...string) {
	pv.Spec.CSI, pv.Spec.Local, pv.Spec.MountOptions = nil, &corev1.LocalVolumeSource{Path: path}, options
	pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}}}}}}
}

// A PersistentVolume that is a folder of its node is the folder itself for every pod, its files are the
// group's, and they stay when the pods have gone.
func TestLocalVolumes(t *testing.T) {
	x, _, mounts := realDisks(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "file"), nil, 0o600))
	for name, path := range map[string]string{"a": folder, "missing": filepath.Join(folder, "none"), "file": filepath.Join(folder, "file")} {
		x.claim(name, func(pv *corev1.PersistentVolume) {
			local(pv, path, "noexec")
		})
		x.pod(name, func(p *corev1.Pod) {
			uses(name)(p)
			p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(os.Getgid()))}
		}, "c")
	}
	soon(t, "ready", func() bool { return ready(x.get("a")) })
	at := x.rt.Config("a", "c").Mounts[0].HostPath
	require.NoError(t, os.WriteFile(filepath.Join(at, "other"), nil, 0o600))
	require.FileExists(t, filepath.Join(folder, "other"))
	info, err := os.Stat(filepath.Join(folder, "file"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o660), info.Mode(), "the group's")
	var options unix.Statfs_t
	require.NoError(t, unix.Statfs(at, &options))
	require.NotZero(t, options.Flags&unix.ST_NOEXEC)
	require.NoError(t, unix.Statfs(folder, &options))
	require.Zero(t, options.Flags&unix.ST_NOEXEC, "for pods only")
	for pod, why := range map[string]string{"missing": "no such file or directory", "file": "only directory and block device are supported"} {
		soon(t, why, func() bool { return strings.Contains(strings.Join(x.events(pod), ""), why) })
		require.False(t, ready(x.get(pod)))
	}
	for _, name := range []string{"a", "missing", "file"} {
		x.delete(name, 1)
	}
	soon(t, "gone", func() bool { return !x.exists("a") && !x.exists("missing") && !x.exists("file") })
	require.Zero(t, mounts())
	require.FileExists(t, filepath.Join(folder, "other"))
	x.rig.stop()
}

// blockDevice is a device of 16 MB with that at its start.
func blockDevice(t testing.TB, content []byte) string {
	file := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	require.NoError(t, os.Truncate(file, 16<<20))
	out, err := exec.Command("losetup", "--find", "--show", file).CombinedOutput()
	if err != nil {
		t.Skipf("no block device can be made: %v: %s", err, out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		out, err := exec.Command("losetup", "--detach", device).CombinedOutput()
		require.NoError(t, err, string(out))
	})
	return device
}

// A PersistentVolume that is a block device of its node gets a file system if it has none, is mounted once,
// and stays mounted as long as a pod uses it. What is on a device is never overwritten.
func TestLocalBlockDevices(t *testing.T) {
	for _, program := range []string{"mkfs.ext4", "blkid", "losetup"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	x, _, mounts := realDisks(t)
	table := make([]byte, 512) // one partition, which covers all
	copy(table[446:], []byte{0, 0, 2, 0, 0x83, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0x7f, 0, 0})
	table[510], table[511] = 0x55, 0xaa
	devices := map[string]string{"a": blockDevice(t, nil), "table": blockDevice(t, table), "empty": blockDevice(t, nil)}
	for name, device := range devices {
		x.claim(name, func(pv *corev1.PersistentVolume) {
			local(pv, device, "noatime")
		})
	}
	group := int64(os.Getgid())
	pod := func(name, claim string, readOnly bool) {
		x.pod(name, func(p *corev1.Pod) {
			uses(claim)(p)
			p.Spec.Volumes[len(p.Spec.Volumes)-1].PersistentVolumeClaim.ReadOnly = readOnly
			p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
		}, "c")
	}
	pod("one", "a", false)
	pod("two", "a", false)
	pod("partitions", "table", false)
	pod("reader", "empty", true)
	soon(t, "ready", func() bool { return ready(x.get("one")) && ready(x.get("two")) })
	at := func(pod string) string { return x.rt.Config(pod, "c").Mounts[0].HostPath }
	require.NoError(t, os.WriteFile(filepath.Join(at("one"), "file"), []byte("text"), 0o600))
	require.FileExists(t, filepath.Join(at("two"), "file"))
	global := filepath.Join(x.opts.RootDir, "plugins/kubernetes.io/local-volume/mounts/pv-a")
	require.FileExists(t, filepath.Join(global, "file"))
	require.Equal(t, 3, mounts(), "the device, and a part of it for each pod")
	b, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	require.Regexp(t, devices["a"]+" "+global+" ext4 rw,noatime", string(b))
	for pod, why := range map[string]string{"partitions": "failed to mount device " + devices["table"], "reader": "cannot mount unformatted disk " + devices["empty"]} {
		soon(t, why, func() bool { return strings.Contains(strings.Join(x.events(pod), ""), why) })
	}
	raw, err := os.ReadFile(devices["table"])
	require.NoError(t, err)
	require.Equal(t, table, raw[:512])
	require.NotContains(t, string(raw), "\x53\xef", "no file system of ext4 has been made")

	x.delete("one", 1)
	x.delete("partitions", 1)
	x.delete("reader", 1)
	soon(t, "gone", func() bool { return !x.exists("one") && !x.exists("partitions") && !x.exists("reader") })
	require.Equal(t, 2, mounts(), "the other pod still has it")
	x.rig.stop()
	x.delete("two", 0)
	x.start()
	soon(t, "the pod that was deleted meanwhile is taken down", func() bool {
		_, err := os.Stat(global)
		return mounts() == 0 && os.IsNotExist(err)
	})

	pod("three", "a", false)
	soon(t, "ready", func() bool { return ready(x.get("three")) })
	require.FileExists(t, filepath.Join(at("three"), "file"), "what is in a volume stays")
	x.delete("three", 1)
	soon(t, "gone", func() bool { return !x.exists("three") })
	require.Zero(t, mounts())
	x.rig.stop()
}

// A PersistentVolume with volumeMode Block that is a block device of its node is the device itself for pods,
// and is not formatted; what is no device is refused. A kubelet that starts again keeps what pods have.
func TestLocalRawDevices(t *testing.T) {
	x, _, mounts := realDisks(t)
	device, folder := blockDevice(t, []byte("content")), t.TempDir()
	for name, path := range map[string]string{"a": device, "folder": folder} {
		x.claim(name, func(pv *corev1.PersistentVolume) {
			local(pv, path)
			pv.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		})
	}
	pod := func(name, claim string, readOnly bool) {
		x.pod(name, func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "raw", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim, ReadOnly: readOnly}}}}
			p.Spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{{Name: "raw", DevicePath: "/dev/raw"}}
		}, "c")
	}
	pod("one", "a", false)
	pod("two", "a", true)
	pod("refused", "folder", false)
	soon(t, "ready", func() bool { return ready(x.get("one")) && ready(x.get("two")) })
	stage := filepath.Join(x.opts.RootDir, "plugins/kubernetes.io~local-volume/volumeDevices/pv-a")
	var want, have unix.Stat_t
	require.NoError(t, unix.Stat(device, &want))
	for name, permissions := range map[string]string{"one": "mrw", "two": "r"} {
		uid := string(x.get(name).UID)
		dev := x.rt.Config(name, "c").Devices[0]
		require.Equal(t, filepath.Join(x.opts.RootDir, "pods", uid, "volumeDevices/kubernetes.io~local-volume/pv-a"), dev.HostPath)
		require.Equal(t, "/dev/raw "+permissions, dev.ContainerPath+" "+dev.Permissions)
		to, err := os.Readlink(dev.HostPath)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(stage, uid), to)
		require.NoError(t, unix.Stat(dev.HostPath, &have))
		require.Equal(t, want.Rdev, have.Rdev)
	}
	raw, err := os.ReadFile(x.rt.Config("one", "c").Devices[0].HostPath)
	require.NoError(t, err)
	require.Equal(t, "content", string(raw[:7]))
	soon(t, "refused", func() bool {
		return strings.Contains(strings.Join(x.events("refused"), ""), "FailedMapVolume: MapVolume.MapPodDevice failed for volume \"pv-folder\" : "+folder+" is no block device")
	})
	require.Equal(t, 2, mounts())

	x.delete("refused", 1)
	x.delete("one", 1)
	soon(t, "gone", func() bool { return !x.exists("one") && !x.exists("refused") && mounts() == 1 })
	x.rig.stop()
	require.Equal(t, 1, mounts(), "it outlives the kubelet")
	x.delete("two", 0)
	x.start()
	soon(t, "the pod that was deleted meanwhile is taken down", func() bool {
		_, err := os.Stat(stage)
		return mounts() == 0 && os.IsNotExist(err)
	})
	raw, err = os.ReadFile(device)
	require.NoError(t, err)
	require.Equal(t, "content", string(raw[:7]))
	x.rig.stop()
}
