package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// The kinds of volumes that are mounted without a CSI driver, as their folders name them.
const (
	kindNFS      = "nfs"
	kindLocal    = "local-volume"
	kindHostPath = "host-path"
	kindISCSI    = "iscsi"
	kindFC       = "fc"
)

// mountPlugin is the part that those kinds share: nothing is attached, staged, refreshed or expanded.
type mountPlugin struct {
	mounts  mounter
	tools   *tools
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
func (p *mountPlugin) Path(_ *volume.Spec, r *volume.Record) string {
	if r.Device {
		return p.paths.Link(r)
	}
	return p.paths.Target(r)
}

// TearDown implements volume.Plugin.
func (p *mountPlugin) TearDown(ctx context.Context, r *volume.Record) error {
	target := p.paths.Target(r)
	if err := p.unmount(ctx, target); err != nil || !r.Device {
		return err
	}
	if err := os.Remove(target); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// unmount unmounts what is mounted at a path. The kernel does not return from unmounting a file system whose
// server is gone; that holds up this volume and no other.
func (p *mountPlugin) unmount(ctx context.Context, path string) error {
	done := make(chan error, 1)
	go func() { done <- p.mounts.unmount(path) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bind gives a pod a folder of the node, with the options of its PersistentVolume.
func (p *mountPlugin) bind(ctx context.Context, s *volume.Spec, r *volume.Record, source string) error {
	target := p.paths.Target(r)
	f, err := os.Open(source)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.mounts.bind(f, target); err != nil {
		return err
	}
	if s.PV != nil && len(s.PV.Spec.MountOptions) > 0 {
		if err := p.mounts.remount(ctx, target, s.PV.Spec.MountOptions); err != nil {
			return err
		}
	}
	if s.ReadOnly {
		return nil
	}
	return volume.SetGroup(ctx, target, s.Pod, func(began time.Time, err error) { p.metrics.Done(r, volume.GroupOperation, began, err) })
}

// mapDevice gives a pod a block device. It is mounted, so that its inode, and thus its number, is that of the
// device which the volume had when the pod began, whatever becomes of links to it.
func (p *mountPlugin) mapDevice(device string, r *volume.Record) error {
	real, err := filepath.EvalSymlinks(device)
	if err != nil {
		return err
	}
	f, err := openNoLinks(real, ".")
	if err != nil {
		return err
	}
	defer f.Close()
	return p.mounts.bind(f, p.paths.Target(r))
}

// turns lets one caller at a time do something with what has a name. Its zero value is ready.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed at the end
}

// take waits until no other call works on what has a name. done gives the turn back.
func (t *turns) take(ctx context.Context, name string) (done func(), err error) {
	for {
		t.mu.Lock()
		other := t.busy[name]
		if other == nil {
			if t.busy == nil {
				t.busy = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			t.busy[name] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.busy, name)
				t.mu.Unlock()
				close(mine)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
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
