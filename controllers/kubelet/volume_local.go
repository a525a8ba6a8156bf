package kubelet

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// localPlugin makes the volumes of PersistentVolumes that name a path of the node: a folder, or a block
// device. With volumeMode Filesystem a device is mounted once for the node, and formatted before if it is
// empty; what pods have is bound to that. With Block they have the device.
type localPlugin struct {
	mountPlugin

	turns turns // by volume
}

// Record implements volume.Plugin.
func (p *localPlugin) Record(_ context.Context, s *volume.Spec) (volume.Record, error) {
	return volume.Record{Kind: kindLocal, Pod: s.Pod.UID, Name: s.Name(), Device: s.Device()}, nil
}

// SetUp implements volume.Plugin.
func (p *localPlugin) SetUp(ctx context.Context, s *volume.Spec, r *volume.Record, _ bool, _ map[string]string) error {
	release, err := p.turns.take(ctx, r.Name)
	if err != nil {
		return err
	}
	defer release()
	source := s.PV.Spec.Local.Path
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	isDevice := info.Mode()&(os.ModeDevice|os.ModeCharDevice) == os.ModeDevice
	switch {
	case r.Device && !isDevice:
		return fmt.Errorf("%s is no block device, which volumeMode Block needs", source)
	case r.Device:
		return p.mapDevice(source, r)
	case isDevice:
		source = p.paths.Global(r)
		if err := p.mountDevice(ctx, s, source); err != nil {
			return err
		}
	case !info.IsDir():
		return fmt.Errorf("%s: only directory and block device are supported", source)
	}
	return p.bind(ctx, s, r, source)
}

// mountDevice mounts the device of a volume at a path, unless it is mounted there.
func (p *localPlugin) mountDevice(ctx context.Context, s *volume.Spec, at string) error {
	if p.mounts.mounted(at) {
		return nil
	}
	if err := os.MkdirAll(at, 0o750); err != nil {
		return err
	}
	from := s.PV.Spec.Local
	kind := "ext4"
	if from.FSType != nil && *from.FSType != "" {
		kind = *from.FSType
	}
	options := slices.Clone(s.PV.Spec.MountOptions)
	if s.ReadOnly {
		options = append(options, "ro")
	}
	if err := p.tools.formatAndMount(ctx, p.mounts, from.Path, at, kind, options); err != nil {
		_ = os.Remove(at)
		return fmt.Errorf("local: failed to mount device %s at %s (fstype: %s), error %w", from.Path, at, kind, err)
	}
	return nil
}

// TearDown implements volume.Plugin. The device is taken away with the last pod that has the volume.
func (p *localPlugin) TearDown(ctx context.Context, r *volume.Record) error {
	release, err := p.turns.take(ctx, r.Name)
	if err != nil {
		return err
	}
	defer release()
	if err := p.mountPlugin.TearDown(ctx, r); err != nil {
		return err
	}
	if r.Device {
		_ = os.Remove(p.paths.StageFolder(r)) // unless other pods have the device
		return nil
	}
	global := p.paths.Global(r)
	if _, err := os.Lstat(global); err != nil {
		return nil //nolint:nilerr // it is a folder's volume
	}
	if slices.ContainsFunc(p.paths.Others(r), p.mounts.mounted) {
		return nil
	}
	if err := p.mounts.unmount(global); err != nil {
		return err
	}
	return os.Remove(global) // it is empty, or else something is mounted
}

// Relabels implements volume.Plugin.
func (*localPlugin) Relabels(s *volume.Spec, r *volume.Record) bool { return !s.ReadOnly && !r.Device }
