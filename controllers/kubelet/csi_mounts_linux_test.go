package kubelet_test

import (
	"context"
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

// With a driver on real sockets that mounts: pods share a volume's files, a kubelet that starts again keeps
// what is mounted, and no mount is left when the pods are deleted.
func TestCSIMounts(t *testing.T) {
	probe := t.TempDir()
	if err := unix.Mount("tmpfs", probe, "tmpfs", 0, ""); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must be able to mount: %v", err)
		t.Skipf("this process may not mount: %v", err)
	}
	require.NoError(t, unix.Unmount(probe, 0))
	root, err := os.MkdirTemp("", "k") // paths of sockets are short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	data := t.TempDir()
	mounts := func() (n int) {
		b, err := os.ReadFile("/proc/self/mounts")
		require.NoError(t, err)
		return strings.Count(string(b), root)
	}

	r := &rig{t: t, c: controllertest.Start(t, controllertest.Options{}), rt: fakecri.New("img"), host: &host{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dial, _ := r.rt.Serve(ctx)
	r.opts = kubelet.Options{NodeName: "n1", RootDir: root, LogDir: filepath.Join(t.TempDir(), "logs"), NoCgroups: true, DiskForMemory: true, Host: r.host,
		RuntimeDial: dial, Plugins: &kubelet.PluginOptions{}}
	x := &disks{rig: r, d: fakecsi.New(diskDriver, fakecsi.Options{Data: data})}
	controllertest.Create(r.c, &storagev1.CSIDriver{ObjectMeta: controllertest.Name("", diskDriver), Spec: storagev1.CSIDriverSpec{AttachRequired: new(false), FSGroupPolicy: new(storagev1.FileFSGroupPolicy)}})
	_, err = x.d.Serve(ctx, root)
	require.NoError(t, err)
	r.start()
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
	soon := func(what string, f func() bool) {
		t.Helper()
		require.Eventually(t, f, time.Minute, 20*time.Millisecond, what)
	}
	soon("ready", func() bool { return ready(x.get("one")) && ready(x.get("two")) })
	require.Equal(t, 6, mounts(), "a volume, a device and a subPath of each pod")
	at := func(pod string) string { return x.rt.Config(pod, "c").Mounts[0].HostPath }
	require.NoError(t, os.WriteFile(filepath.Join(at("one"), "file"), []byte("text"), 0o600))
	require.FileExists(t, filepath.Join(at("two"), "file"))
	info, err := os.Stat(filepath.Join(data, "disk-a"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSetgid, "the group's")

	r.stop()
	require.Equal(t, 6, mounts(), "they outlive the kubelet")
	x.delete("one", 0)
	r.start()
	soon("the pod that was deleted meanwhile is taken down", func() bool { return mounts() == 3 })
	require.True(t, ready(x.get("two")))
	x.delete("two", 1)
	soon("gone", func() bool { return !x.exists("two") && len(x.d.Staged()) == 0 })
	require.Zero(t, mounts())
	require.Empty(t, x.left())
	require.Empty(t, x.d.Broken())
	require.FileExists(t, filepath.Join(data, "disk-a", "sub", "file"), "what is in a volume stays")
	r.stop()
}
