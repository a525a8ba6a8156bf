package kubelet

import (
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client/events"
)

// pulled are the images of a container: its own, and those that it mounts, by volume.
type pulled struct {
	own     *cri.Image
	volumes map[string]*cri.ImageSpec
}

// imageVolumes makes the images present that a container mounts, as its own: with the pull policy of the
// volume and the credentials of the pod.
func (w *worker) imageVolumes(ctx context.Context, pod *corev1.Pod, c *corev1.Container, boxConfig *cri.PodSandboxConfig) (map[string]*cri.ImageSpec, error) {
	var found map[string]*cri.ImageSpec
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Image == nil || !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name }) {
			continue
		}
		handler, err := w.k.handlers.of(ctx, pod)
		if err != nil {
			return nil, err
		}
		image, err := w.k.images.ensure(ctx, pod, &corev1.Container{Image: v.Image.Reference, ImagePullPolicy: v.Image.PullPolicy}, boxConfig, w.about(pod, ""))
		if err != nil {
			var wait *waitError
			if errors.As(err, &wait) {
				w.k.recorder.About(w.about(pod, c.Name), nil, events.Warning, "Failed", "Error: "+wait.reason)
			}
			return nil, err
		}
		if found == nil {
			found = map[string]*cri.ImageSpec{}
		}
		found[v.Name] = &cri.ImageSpec{Image: image.Id, UserSpecifiedImage: v.Image.Reference, RuntimeHandler: handler, Annotations: pod.Annotations}
	}
	return found, nil
}

// imageMountFailed begins the runtime's error about an image that it could not mount; see
// k8s.io/cri-api/pkg/errors, v0.36.3.
const imageMountFailed = "ImageVolumeMountFailed"

// imagesMounted counts the image volumes of a container that has been created, or that the runtime refused,
// and returns its error. A runtime that mounts no images sees a mount of nothing, and its error does not say
// so.
func (w *worker) imagesMounted(volumes map[string]*cri.ImageSpec, err error) error {
	if len(volumes) == 0 {
		return err
	}
	w.k.metrics.imageVolumes.Add(float64(len(volumes)))
	text := status.Convert(err).Message()
	switch {
	case err == nil:
		w.k.metrics.imagesMounted.Add(float64(len(volumes)))
		return nil
	case strings.HasPrefix(text, imageMountFailed):
	case w.k.features.latest() != nil && len(w.k.features.latest().RuntimeHandlers) == 0:
		// It is older than image volumes.
		err = status.Error(status.Code(err), "the container runtime does not support image volumes: "+text)
	default:
		return err
	}
	w.k.metrics.imageErrors.Add(float64(len(volumes)))
	return err
}

// mountStatuses are what the status of a container says of its volumes. run is nil without a container.
func (w *worker) mountStatuses(pod *corev1.Pod, c *corev1.Container, run *container) (list []corev1.VolumeMountStatus) {
	for _, m := range c.VolumeMounts {
		st := corev1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		var mount *cri.Mount
		if run != nil {
			i := slices.IndexFunc(run.status.GetMounts(), func(have *cri.Mount) bool { return have.ContainerPath == absolute(m.MountPath) })
			if i >= 0 {
				mount = run.status.Mounts[i]
			}
		}
		if m.ReadOnly {
			st.RecursiveReadOnly = new(corev1.RecursiveReadOnlyDisabled)
			if mount.GetRecursiveReadOnly() {
				st.RecursiveReadOnly = new(corev1.RecursiveReadOnlyEnabled)
			}
		}
		if image := mount.GetImage().GetImage(); image != "" && w.k.opts.ImageVolumeDigests {
			st.VolumeStatus = &corev1.VolumeStatus{Image: &corev1.ImageVolumeStatus{ImageRef: image}}
		}
		list = append(list, st)
	}
	return list
}

// mountedImages are the images that containers mount.
func (v *views) mountedImages() map[string]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := map[string]bool{}
	for _, seen := range v.seen {
		for _, c := range seen.containers {
			for _, m := range c.status.GetMounts() {
				if image := m.GetImage(); image != nil {
					found[image.Image] = true
				}
			}
		}
	}
	return found
}
