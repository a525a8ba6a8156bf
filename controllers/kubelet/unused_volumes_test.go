package kubelet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// A pod does not wait for volumes that no container mounts. They are not made until an ephemeral container
// mounts one.
func TestVolumesThatNoContainerMounts(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "web")}
		p.Spec.NodeName = "n1"
		p.Spec.Containers = []corev1.Container{{Name: "a", Image: "img", ImagePullPolicy: corev1.PullIfNotPresent}}
		for i, source := range []corev1.VolumeSource{
			{EmptyDir: &corev1.EmptyDirVolumeSource{}},
			{Secret: &corev1.SecretVolumeSource{SecretName: "missing"}},
			{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "missing"}},
			{HostPath: &corev1.HostPathVolumeSource{Path: "/missing", Type: new(corev1.HostPathDirectory)}},
		} {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: fmt.Sprint("v", i), VolumeSource: source})
		}
		p = controllertest.Create(r.c, p)
		time.Sleep(5 * time.Second)
		require.True(t, ready(r.get("web")))
		dir := filepath.Join(r.opts.RootDir, "pods", string(p.UID), "volumes")
		made, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, made)

		r.debug("web", func(c *corev1.EphemeralContainer) {
			c.VolumeMounts = []corev1.VolumeMount{{Name: "v0", MountPath: "/v"}}
		})
		time.Sleep(5 * time.Second)
		require.Contains(t, r.rt.Running(), "web/debug")
		require.DirExists(t, filepath.Join(dir, "kubernetes.io~empty-dir", "v0"))
	})
}
