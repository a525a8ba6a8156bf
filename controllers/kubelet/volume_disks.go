package kubelet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// diskPlugin makes the volumes of disks that are reached over a network, as block devices of the node. The
// stage of a volume is its disk: that is attached and, with volumeMode Filesystem, mounted. What pods have is
// bound to that. Folders, and what is in them, are as those of the real kubelet.
type diskPlugin struct {
	mountPlugin
	network diskNetwork
	// attached is false for a kubelet whose volumes no controller attaches.
	attached bool

	mu      sync.Mutex
	devices map[string]string // of disks with volumeMode Block, by folder of the stage
}

// diskNetwork is how disks are reached. Its methods may be called from many goroutines, those for one disk
// from one at a time.
type diskNetwork interface {
	// disk describes the disk of a volume: all of the record but the pod's part, and the kind of the file
	// system.
	disk(s *volume.Spec) (r volume.Record, kind string, err error)
	// attach makes a disk a block device of the node, and returns its path.
	attach(ctx context.Context, s *volume.Spec, r *volume.Record) (device string, err error)
	// detach removes the block devices of a disk. Nothing of it is mounted. alone is false if another stage
	// has the same disk.
	detach(ctx context.Context, r *volume.Record, alone bool) error
	// handles and describe are those of volume.Stager.
	handles() string
	describe(r *volume.Record)
}

var _ volume.Stager = (*diskPlugin)(nil)

func newDiskPlugin(p mountPlugin, network diskNetwork, attached bool) *diskPlugin {
	return &diskPlugin{mountPlugin: p, network: network, attached: attached, devices: map[string]string{}}
}

// Handles implements volume.Stager.
func (p *diskPlugin) Handles() string { return p.network.handles() }

// Describe implements volume.Stager.
func (p *diskPlugin) Describe(r *volume.Record) {
	if r.Handle != "" {
		p.network.describe(r)
	}
}

// Record implements volume.Plugin.
func (p *diskPlugin) Record(_ context.Context, s *volume.Spec) (volume.Record, error) {
	r, _, err := p.network.disk(s)
	r.Pod, r.Name, r.Device = s.Pod.UID, s.Name(), s.Device()
	return r, err
}

// Attached implements volume.Plugin.
func (p *diskPlugin) Attached(context.Context, *volume.Spec) (bool, error) { return p.attached, nil }

// Staged implements volume.Plugin.
func (p *diskPlugin) Staged(context.Context, *volume.Record) (bool, error) { return true, nil }

// Stage implements volume.Plugin.
func (p *diskPlugin) Stage(ctx context.Context, s *volume.Spec, r *volume.Record, _ map[string]string) error {
	folder := p.paths.StageFolder(r)
	if !r.Device && p.mounts.mounted(folder) {
		return nil
	}
	_, kind, err := p.network.disk(s)
	if err != nil {
		return err
	}
	device, err := p.network.attach(ctx, s, r)
	if err != nil {
		return volume.Unattached(err)
	}
	if r.Device {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.devices[folder] = device
		return nil
	}
	var options []string
	if s.PV != nil {
		options = slices.Clone(s.PV.Spec.MountOptions)
	}
	if s.ReadOnly {
		options = append(options, "ro")
	}
	if s.Label != "" {
		options = append(options, fmt.Sprintf("context=%q", s.Label))
	}
	return p.tools.formatAndMount(ctx, p.mounts, device, folder, kind, options)
}

// Unstage implements volume.Plugin. A disk is not detached while something else than a pod's volume that is
// known has it: writes would be lost.
func (p *diskPlugin) Unstage(ctx context.Context, r *volume.Record) error {
	folder := p.paths.StageFolder(r)
	if !r.Device {
		if peers := p.mounts.peers(folder); len(peers) > 0 {
			return fmt.Errorf("the device mount path %q is still mounted by other references %v", folder, peers)
		}
		if err := p.unmount(ctx, folder); err != nil {
			return err
		}
	} else if points, err := p.mounts.below(folder); err != nil || len(points) > 0 {
		return errors.Join(err, fmt.Errorf("the device %q is still referenced from other Pods %v", folder, points))
	}
	if err := p.network.detach(ctx, r, p.alone(r)); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.devices, folder)
	return nil
}

// alone reports whether no other stage has the disk of one.
func (p *diskPlugin) alone(r *volume.Record) bool {
	return !slices.ContainsFunc(p.paths.Staged(r.Kind, p.network.handles()), func(o volume.Record) bool {
		if o.Handle == r.Handle && o.Device == r.Device {
			return false
		}
		p.network.describe(&o)
		return o.Unique == r.Unique
	})
}

// SetUp implements volume.Plugin.
func (p *diskPlugin) SetUp(ctx context.Context, s *volume.Spec, r *volume.Record, _ bool, _ map[string]string) error {
	folder := p.paths.StageFolder(r)
	if !r.Device {
		return p.bind(ctx, s, r, folder)
	}
	p.mu.Lock()
	device := p.devices[folder]
	p.mu.Unlock()
	if device == "" {
		return errors.New("the disk is not attached")
	}
	return p.mapDevice(device, r)
}

// Labels implements volume.Plugin.
func (*diskPlugin) Labels(*volume.Spec) bool { return true }

// Relabels implements volume.Plugin.
func (*diskPlugin) Relabels(s *volume.Spec, r *volume.Record) bool {
	return !s.ReadOnly && !r.Device && s.Label == ""
}
