package fakecri

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// image is one image, whose name is its id.
type image struct {
	name   string
	size   uint64
	pinned bool
}

func (i *image) cri() *cri.Image {
	return &cri.Image{Id: i.name, RepoTags: []string{i.name}, Size: i.size, Pinned: i.pinned}
}

// AddImage makes an image present. Pinned images are never to be removed.
func (r *Runtime) AddImage(name string, size uint64, pinned bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images[name] = &image{name, size, pinned}
}

// Images returns the names of the images that are present, sorted.
func (r *Runtime) Images() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.images))
}

// ListImages implements CRI.
func (r *Runtime) ListImages(context.Context, *cri.ListImagesRequest) (*cri.ListImagesResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &cri.ListImagesResponse{}
	for _, i := range byID(r.images) {
		out.Images = append(out.Images, i.cri())
	}
	return out, nil
}

// ImageStatus implements CRI.
func (r *Runtime) ImageStatus(_ context.Context, q *cri.ImageStatusRequest) (*cri.ImageStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.images[q.Image.Image]; i != nil {
		return &cri.ImageStatusResponse{Image: i.cri()}, nil
	}
	return &cri.ImageStatusResponse{}, nil
}

// PullImage implements CRI.
func (r *Runtime) PullImage(_ context.Context, q *cri.PullImageRequest) (*cri.PullImageResponse, error) {
	if r.Pull == nil {
		return nil, status.Errorf(codes.Unknown, "no registry")
	}
	if err := r.Pull(q.Image.Image, q.Auth); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images[q.Image.Image] = &image{name: q.Image.Image, size: 1}
	return &cri.PullImageResponse{ImageRef: q.Image.Image}, nil
}

// RemoveImage implements CRI.
func (r *Runtime) RemoveImage(_ context.Context, q *cri.RemoveImageRequest) (*cri.RemoveImageResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.images, q.Image.Image)
	return &cri.RemoveImageResponse{}, nil
}

// checkMounts refuses mounts of nothing, and of images that are not present. The lock is held.
func (r *Runtime) checkMounts(c *cri.ContainerConfig) error {
	for _, m := range c.Mounts {
		switch {
		case m.Image.GetImage() == "" || !r.ImageVolumes:
			if m.HostPath == "" {
				return status.Errorf(codes.Unknown, "mount of %s: stat : no such file or directory", m.ContainerPath)
			}
		case m.HostPath != "":
			return status.Errorf(codes.InvalidArgument, "mount of %s: both an image and the path %s", m.ContainerPath, m.HostPath)
		case r.images[m.Image.Image] == nil:
			return status.Errorf(codes.Unknown, "ImageVolumeMountFailed: image %s is not present", m.Image.Image)
		}
	}
	return nil
}

// ImageFsInfo implements CRI.
func (r *Runtime) ImageFsInfo(context.Context, *cri.ImageFsInfoRequest) (*cri.ImageFsInfoResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	used := uint64(0)
	for _, i := range r.images {
		used += i.size
	}
	reply := &cri.ImageFsInfoResponse{ImageFilesystems: []*cri.FilesystemUsage{{
		Timestamp: time.Now().UnixNano(), FsId: &cri.FilesystemIdentifier{Mountpoint: cmp.Or(r.ImageDir, "/")}, UsedBytes: &cri.UInt64Value{Value: used}}}}
	if r.LayerDir != "" {
		reply.ContainerFilesystems = []*cri.FilesystemUsage{{Timestamp: time.Now().UnixNano(), FsId: &cri.FilesystemIdentifier{Mountpoint: r.LayerDir}, UsedBytes: &cri.UInt64Value{}}}
	}
	return reply, nil
}
