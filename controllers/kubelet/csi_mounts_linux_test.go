package kubelet_test

import (
	"os"
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

// A PersistentVolume that is a folder of its node is the folder itself for every pod, its files are the
// group's, and they stay when the pods have gone.
func TestLocalVolumes(t *testing.T) {
	x, _, mounts := realDisks(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "file"), nil, 0o600))
	for name, path := range map[string]string{"a": folder, "missing": filepath.Join(folder, "none"), "file": filepath.Join(folder, "file")} {
		x.claim(name, func(pv *corev1.PersistentVolume) {
			pv.Spec.CSI, pv.Spec.Local = nil, &corev1.LocalVolumeSource{Path: path}
			pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}}}}}}
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
	for pod, why := range map[string]string{"missing": "no such file or directory", "file": "block devices with a file system are not supported"} {
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
