package kubelet_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/controllertest"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// The logs of a pod are removed even if its sandboxes were gone before the kubelet noticed.
func TestLogsGoWithTheirPods(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.StopPods = false }, func(r *rig) {
		for _, name := range []string{"web", "batch", "kept"} {
			r.pod(name, func(p *corev1.Pod) {
				if name == "batch" {
					p.Spec.RestartPolicy = corev1.RestartPolicyNever
				}
			}, "c")
		}
		time.Sleep(5 * time.Second)
		folders := func() []string {
			list, err := filepath.Glob(filepath.Join(r.opts.LogDir, "*_*_*"))
			require.NoError(t, err)
			return list
		}
		require.Len(t, folders(), 3)
		r.rt.Kill("batch", "c", 0)
		time.Sleep(5 * time.Second)
		require.Len(t, folders(), 3, "logs of ended pods can be read")

		r.stop()
		r.delete("web", 0)
		r.delete("batch", 0)
		r.rt.Forget() // as after a reboot, or a cleanup by another program
		require.NoError(t, os.Mkdir(filepath.Join(r.opts.LogDir, "not-of-a-pod"), 0o755))
		r.start()
		time.Sleep(30 * time.Second)
		kept := controllertest.Get[*corev1.Pod](r.c, "default", "kept")
		require.Equal(t, []string{filepath.Join(r.opts.LogDir, "default_kept_"+string(kept.UID))}, folders())
		require.DirExists(t, filepath.Join(r.opts.LogDir, "not-of-a-pod"))
	})
}
