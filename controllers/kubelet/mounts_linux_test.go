package kubelet_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

func needMounts(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must be able to mount: %v", err)
		t.Skipf("mounts: this process may not mount: %v", err)
	}
	require.NoError(t, unix.Unmount(dir, 0))
}

func mountsBelow(t *testing.T, dir string) (n int) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); strings.HasPrefix(f[4], dir+"/") {
			n++
		}
	}
	return n
}

// The mounts of subPaths go with their pod, also when the kubelet was restarted meanwhile, and when the pod
// was deleted while it was away.
func TestSubPathMountsAreCleanedUp(t *testing.T) {
	needMounts(t)
	var mu sync.Mutex
	paths := map[string]string{} // by container path, of the latest container
	bubble(t, func(r *rig) {
		r.opts.StopPods = false
		r.rt.Play = func(c *cri.ContainerConfig) fakecri.Script {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range c.Mounts {
				paths[m.ContainerPath] = m.HostPath
			}
			return fakecri.Script{}
		}
	}, func(r *rig) {
		path := func(p string) string {
			mu.Lock()
			defer mu.Unlock()
			return paths[p]
		}
		make := func(name string) *corev1.Pod {
			return r.pod(name, func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
				p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/all"}, {Name: "v", MountPath: "/sub", SubPath: "a/b"}}
			}, "c")
		}
		for _, away := range []string{"never", "restarted", "deleted meanwhile"} {
			pod := make(strings.ReplaceAll(away, " ", "-"))
			time.Sleep(5 * time.Second)
			require.True(t, ready(r.get(pod.Name)))
			require.Equal(t, 1, mountsBelow(t, r.opts.RootDir))
			require.NoError(t, os.WriteFile(filepath.Join(path("/sub"), "data"), []byte(away), 0o600))
			b, err := os.ReadFile(filepath.Join(path("/all"), "a", "b", "data"))
			require.NoError(t, err, "it is the folder in the volume")
			require.Equal(t, away, string(b))
			switch away {
			case "restarted":
				r.stop()
				r.start()
				time.Sleep(5 * time.Second)
				require.Equal(t, 1, mountsBelow(t, r.opts.RootDir))
				r.delete(pod.Name, 0)
			case "deleted meanwhile":
				r.stop()
				r.delete(pod.Name, 0)
				r.start()
			default:
				r.delete(pod.Name, 0)
			}
			time.Sleep(20 * time.Second)
			require.False(t, r.exists(pod.Name))
			require.Zero(t, mountsBelow(t, r.opts.RootDir))
			require.NoDirExists(t, filepath.Join(r.opts.RootDir, "pods", string(pod.UID)))
		}
	})
}
