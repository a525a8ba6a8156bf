package kubelet_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet"
)

// mountsImage lets the first container mount an image at /data.
func mountsImage(image string, policy corev1.PullPolicy, edit func(*corev1.VolumeMount)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{"note": "of the pod"}
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: image, PullPolicy: policy}}}}
		m := corev1.VolumeMount{Name: "v", MountPath: "/data"}
		if edit != nil {
			edit(&m)
		}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{m}
	}
}

func (r *rig) mountAt(pod, path string) *cri.Mount {
	c := r.rt.Config(pod, "c")
	require.NotNil(r.t, c, pod)
	i := slices.IndexFunc(c.Mounts, func(m *cri.Mount) bool { return m.ContainerPath == path })
	require.GreaterOrEqual(r.t, i, 0, path)
	return c.Mounts[i]
}

func (r *rig) waiting(pod string) *corev1.ContainerStateWaiting {
	w := r.get(pod).Status.ContainerStatuses[0].State.Waiting
	require.NotNil(r.t, w, pod)
	return w
}

// An image is mounted as a volume once it is present, which needs the pod's credentials.
func TestImageVolumes(t *testing.T) {
	var pulls atomic.Int32
	bubble(t, func(r *rig) {
		capable(r)
		r.rt.ImageVolumes, r.opts.ImageVolumeDigests = true, true
		r.opts.ImageGC = kubelet.ImageGCPolicy{MinAge: time.Minute, MaxAge: 10 * time.Minute, Interval: time.Minute}
		r.rt.Pull = func(image string, auth *cri.AuthConfig) error {
			pulls.Add(1)
			if auth == nil || auth.Username != "reader" {
				return errors.New("denied")
			}
			return nil
		}
	}, func(r *rig) {
		r.pullSecret("login", "registry.example", "reader", "secret")
		private := func(edit func(*corev1.VolumeMount)) func(*corev1.Pod) {
			mounts := mountsImage("registry.example/data:1", corev1.PullIfNotPresent, edit)
			return func(p *corev1.Pod) {
				mounts(p)
				p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "login"}}
			}
		}
		r.pod("web", private(nil), "c")
		time.Sleep(5 * time.Second)
		require.True(t, ready(r.get("web")))
		m := r.mountAt("web", "/data")
		require.Equal(t, "registry.example/data:1", m.Image.Image)
		require.Equal(t, "registry.example/data:1", m.Image.UserSpecifiedImage)
		require.Equal(t, "of the pod", m.Image.Annotations["note"])
		require.Empty(t, m.HostPath)
		require.True(t, m.Readonly)
		st := r.get("web").Status.ContainerStatuses[0].VolumeMounts
		require.Equal(t, []corev1.VolumeMountStatus{{Name: "v", MountPath: "/data", VolumeStatus: &corev1.VolumeStatus{Image: &corev1.ImageVolumeStatus{ImageRef: "registry.example/data:1"}}}}, st)
		require.EqualValues(t, 1, pulls.Load())

		// Part of it, by a path that is made of variables.
		r.pod("part", private(func(m *corev1.VolumeMount) { m.SubPath = "etc/app" }), "c")
		r.pod("named", func(p *corev1.Pod) {
			private(func(m *corev1.VolumeMount) { m.SubPathExpr = "etc/$(WHICH)" })(p)
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "WHICH", Value: "other"}}
		}, "c")
		r.pod("out", func(p *corev1.Pod) {
			private(func(m *corev1.VolumeMount) { m.SubPathExpr = "$(WHICH)/etc" })(p)
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "WHICH", Value: ".."}}
		}, "c")
		// Without the credentials it is as if it were not here, whatever other pods may mount.
		r.pod("stranger", mountsImage("registry.example/data:1", corev1.PullNever, nil), "c")
		r.pod("missing", mountsImage("registry.example/none:1", corev1.PullAlways, nil), "c")
		time.Sleep(5 * time.Second)
		require.Equal(t, "etc/app", r.mountAt("part", "/data").ImageSubPath)
		require.Equal(t, "etc/other", r.mountAt("named", "/data").ImageSubPath)
		require.Nil(t, r.rt.Config("out", "c"))
		require.Equal(t, "CreateContainerConfigError", r.waiting("out").Reason)
		require.Contains(t, r.waiting("out").Message, "must not contain ..")
		require.Nil(t, r.rt.Config("stranger", "c"))
		require.Equal(t, "ErrImageNeverPull", r.waiting("stranger").Reason)
		require.Nil(t, r.rt.Config("missing", "c"))
		require.Contains(t, []string{"ErrImagePull", "ImagePullBackOff"}, r.waiting("missing").Reason)
		require.Contains(t, r.waiting("missing").Message, "denied")
		require.Contains(t, r.eventsOf("missing"), "Failed: Error: ErrImagePull")
		time.Sleep(time.Minute)
		require.Equal(t, "ImagePullBackOff", r.waiting("missing").Reason)

		// It is in use as long as a container mounts it, also after a restart of the kubelet.
		r.rt.AddImage("unused", 1, false)
		r.stop()
		r.start()
		time.Sleep(30 * time.Minute)
		require.NotContains(t, r.rt.Images(), "unused")
		require.Contains(t, r.rt.Images(), "registry.example/data:1")
		metrics := r.metrics()
		require.Contains(t, metrics, "kubelet_image_volume_mounted_errors_total 0")
		for _, pod := range []string{"web", "part", "named", "out", "stranger", "missing"} {
			r.delete(pod, 1)
		}
		time.Sleep(30 * time.Minute)
		require.NotContains(t, r.rt.Images(), "registry.example/data:1")
	})
}

// A runtime that does not mount images, and one that fails to, refuse the container; it never runs without
// its volume.
func TestImageVolumesThatAreNotMounted(t *testing.T) {
	for name, v := range map[string]struct {
		prepare func(*rig)
		want    string
	}{
		"an old runtime": {func(*rig) {}, "the container runtime does not support image volumes: mount of /data: stat : no such file or directory"},
		"gone meanwhile": {func(r *rig) {
			r.rt.ImageVolumes = true
			r.rt.Fail = func(method string) error {
				if method == "CreateContainer" {
					_, _ = r.rt.RemoveImage(t.Context(), &cri.RemoveImageRequest{Image: &cri.ImageSpec{Image: "data"}})
				}
				return nil
			}
		}, "ImageVolumeMountFailed: image data is not present"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) { r.rt.AddImage("data", 1, false); v.prepare(r) }, func(r *rig) {
				r.pod("web", mountsImage("data", corev1.PullIfNotPresent, nil), "c")
				time.Sleep(3 * time.Second)
				require.Empty(t, r.rt.Running())
				require.Equal(t, "CreateContainerError", r.waiting("web").Reason)
				require.Equal(t, v.want, r.waiting("web").Message)
				require.Contains(t, r.metrics(), "kubelet_image_volume_requested_total 1")
				require.Contains(t, r.metrics(), "kubelet_image_volume_mounted_errors_total 1")
				require.Contains(t, r.metrics(), "kubelet_image_volume_mounted_succeed_total 0")
				require.True(t, slices.ContainsFunc(r.eventsOf("web"), func(e string) bool { return strings.HasPrefix(e, "Failed: Error: "+v.want) }))
			})
		})
	}
}
