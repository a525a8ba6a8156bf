package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// The kinds of volumes that are mounted without a CSI driver, as their folders name them.
const (
	kindNFS      = "nfs"
	kindLocal    = "local-volume"
	kindHostPath = "host-path"
)

// mountPlugin is the part that those kinds share: nothing is attached, staged, refreshed or expanded.
type mountPlugin struct {
	mounts  mounter
	paths   volume.Paths
	metrics *metrics
}

func (*mountPlugin) record(kind string, s *volume.Spec) (volume.Record, error) {
	if s.Device() {
		return volume.Record{}, fmt.Errorf("volumeMode Block is not supported for volumes of kind %s", kind)
	}
	return volume.Record{Kind: kind, Pod: s.Pod.UID, Name: s.Name()}, nil
}

// Attached implements volume.Plugin.
func (*mountPlugin) Attached(context.Context, *volume.Spec) (bool, error) { return false, nil }

// Staged implements volume.Plugin.
func (*mountPlugin) Staged(context.Context, *volume.Record) (bool, error) { return false, nil }

// Stage implements volume.Plugin.
func (*mountPlugin) Stage(context.Context, *volume.Spec, *volume.Record, map[string]string) error {
	return errors.ErrUnsupported
}

// Unstage implements volume.Plugin.
func (*mountPlugin) Unstage(context.Context, *volume.Record) error { return nil }

// Labels implements volume.Plugin.
func (*mountPlugin) Labels(*volume.Spec) bool { return false }

// Relabels implements volume.Plugin.
func (*mountPlugin) Relabels(*volume.Spec, *volume.Record) bool { return false }

// Refreshes implements volume.Plugin.
func (*mountPlugin) Refreshes(*volume.Spec) bool { return false }

// Expand implements volume.Plugin.
func (*mountPlugin) Expand(context.Context, *volume.Spec, *volume.Record, bool, resource.Quantity) (bool, error) {
	return false, nil
}

// Stats implements volume.Plugin.
func (*mountPlugin) Stats(context.Context, *volume.Record, bool) (*volume.Stats, error) {
	return nil, nil //nolint:nilnil // unknown, as volume.Plugin says
}

// Path implements volume.Plugin.
func (p *mountPlugin) Path(_ *volume.Spec, r *volume.Record) string { return p.paths.Target(r) }

// TearDown implements volume.Plugin. The kernel does not return from unmounting a file system whose server is
// gone; that holds up this volume and no other.
func (p *mountPlugin) TearDown(ctx context.Context, r *volume.Record) error {
	done := make(chan error, 1)
	go func() { done <- p.mounts.unmount(p.paths.Target(r)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nfsPlugin mounts exports of NFS servers.
type nfsPlugin struct{ mountPlugin }

// Record implements volume.Plugin.
func (p *nfsPlugin) Record(_ context.Context, s *volume.Spec) (volume.Record, error) {
	return p.record(kindNFS, s)
}

// SetUp implements volume.Plugin.
func (p *nfsPlugin) SetUp(ctx context.Context, s *volume.Spec, r *volume.Record, _ bool, _ map[string]string) error {
	from, options := s.Volume.NFS, []string(nil)
	if s.PV != nil {
		from, options = s.PV.Spec.NFS, append(options, s.PV.Spec.MountOptions...)
	}
	if s.ReadOnly {
		options = append(options, "ro")
	}
	target := p.paths.Target(r)
	if p.mounts.mounted(target) {
		return nil
	}
	server := from.Server
	if ip, err := netip.ParseAddr(server); err == nil && ip.Is6() {
		server = "[" + server + "]"
	}
	return p.mounts.mount(ctx, server+":"+from.Path, target, "nfs", options)
}

// hostPathPlugin is for PersistentVolumes that are a path of the node. Nothing is mounted for them.
type hostPathPlugin struct{ mountPlugin }

// Record implements volume.Plugin.
func (p *hostPathPlugin) Record(_ context.Context, s *volume.Spec) (volume.Record, error) {
	return p.record(kindHostPath, s)
}

// SetUp implements volume.Plugin.
func (*hostPathPlugin) SetUp(_ context.Context, s *volume.Spec, _ *volume.Record, _ bool, _ map[string]string) error {
	return checkHostPath(s.PV.Spec.HostPath)
}

// TearDown implements volume.Plugin.
func (*hostPathPlugin) TearDown(context.Context, *volume.Record) error { return nil }

// Path implements volume.Plugin.
func (*hostPathPlugin) Path(s *volume.Spec, _ *volume.Record) string {
	return s.PV.Spec.HostPath.Path
}
