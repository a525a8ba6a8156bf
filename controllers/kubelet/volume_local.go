package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// localPlugin makes the volumes of PersistentVolumes that name a path of the node: a folder, or a block
// device with a file system. A device is mounted once for the node, and formatted before if it is empty. What
// pods have is bound to that.
type localPlugin struct {
	mountPlugin

	mu   sync.Mutex
	busy map[string]chan struct{} // by volume that is worked on, closed at the end of that
}

func newLocalPlugin(p mountPlugin) *localPlugin {
	return &localPlugin{mountPlugin: p, busy: map[string]chan struct{}{}}
}

// Record implements volume.Plugin.
func (p *localPlugin) Record(_ context.Context, s *volume.Spec) (volume.Record, error) {
	return p.record(kindLocal, s)
}

// hold waits until no other call works on a volume.
func (p *localPlugin) hold(ctx context.Context, name string) (release func(), err error) {
	for {
		p.mu.Lock()
		other := p.busy[name]
		if other == nil {
			mine := make(chan struct{})
			p.busy[name] = mine
			p.mu.Unlock()
			return func() {
				p.mu.Lock()
				delete(p.busy, name)
				p.mu.Unlock()
				close(mine)
			}, nil
		}
		p.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// SetUp implements volume.Plugin.
func (p *localPlugin) SetUp(ctx context.Context, s *volume.Spec, r *volume.Record, _ bool, _ map[string]string) error {
	release, err := p.hold(ctx, r.Name)
	if err != nil {
		return err
	}
	defer release()
	source := s.PV.Spec.Local.Path
	info, err := os.Stat(source)
	switch {
	case err != nil:
		return err
	case info.Mode()&(os.ModeDevice|os.ModeCharDevice) == os.ModeDevice:
		source = p.paths.Global(r)
		if err := p.mountDevice(ctx, s, source); err != nil {
			return err
		}
	case !info.IsDir():
		return fmt.Errorf("%s: only directory and block device are supported", source)
	}
	f, err := os.Open(source)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.mounts.bind(f, p.paths.Target(r)); err != nil {
		return err
	}
	if options := s.PV.Spec.MountOptions; len(options) > 0 {
		if err := p.mounts.remount(ctx, p.paths.Target(r), options); err != nil {
			return err
		}
	}
	if s.ReadOnly {
		return nil
	}
	return volume.SetGroup(ctx, p.paths.Target(r), s.Pod, func(began time.Time, err error) { p.metrics.Done(r, volume.GroupOperation, began, err) })
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
	if err := formatAndMount(ctx, p.mounts, from.Path, at, kind, options); err != nil {
		_ = os.Remove(at)
		return fmt.Errorf("local: failed to mount device %s at %s (fstype: %s), error %w", from.Path, at, kind, err)
	}
	return nil
}

// TearDown implements volume.Plugin. The device is taken away with the last pod that has the volume.
func (p *localPlugin) TearDown(ctx context.Context, r *volume.Record) error {
	release, err := p.hold(ctx, r.Name)
	if err != nil {
		return err
	}
	defer release()
	if err := p.mountPlugin.TearDown(ctx, r); err != nil {
		return err
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
func (*localPlugin) Relabels(s *volume.Spec, _ *volume.Record) bool { return !s.ReadOnly }

// foreign is what diskFormat returns for a disk with a partition table.
const foreign = "unknown data, probably partitions"

// formatAndMount mounts a device, whose file system is made before if there is nothing on it, and checked and
// repaired if there is one. What is on a device is never overwritten.
func formatAndMount(ctx context.Context, mounts mounter, device, target, kind string, options []string) error {
	have, err := diskFormat(ctx, device)
	if err != nil {
		return fmt.Errorf("failed to get disk format of disk %s: %w", device, err)
	}
	readOnly := slices.Contains(options, "ro")
	switch {
	case have == "" && readOnly:
		return fmt.Errorf("cannot mount unformatted disk %s as we are manipulating it in read-only mode", device)
	case have == "":
		args := []string{device}
		switch kind {
		case "ext3", "ext4":
			args = []string{"-F", "-m0", device}
		case "xfs":
			args = []string{"-f", device}
		}
		// It is not broken off, which would leave a file system that is not whole.
		if out, err := exec.CommandContext(context.WithoutCancel(ctx), "mkfs."+kind, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("format of disk %q failed: type:(%q) target:(%q) options:(%q) errcode:(%w) output:(%s)", device, kind, target, options, err, out)
		}
	case !readOnly:
		if err := repair(ctx, device); err != nil {
			return err
		}
	}
	return mounts.mount(ctx, device, target, kind, append(slices.Clone(options), "defaults"))
}

// diskFormat returns the kind of the file system on a device, or foreign; empty if there is nothing on it.
func diskFormat(ctx context.Context, device string) (string, error) {
	out, err := exec.CommandContext(ctx, "blkid", "-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", device).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 2 {
		return "", nil
	} else if err != nil {
		return "", err
	}
	kind := ""
	for line := range strings.Lines(string(out)) {
		switch name, value, ok := strings.Cut(strings.TrimSpace(line), "="); {
		case !ok && name != "":
			return "", fmt.Errorf("blkid returns invalid output: %s", out)
		case name == "TYPE":
			kind = value
		case name == "PTTYPE":
			return foreign, nil
		}
	}
	return kind, nil
}

// repair checks a file system and repairs what can be. Only errors that are left are errors.
func repair(ctx context.Context, device string) error {
	const uncorrected = 4
	out, err := exec.CommandContext(context.WithoutCancel(ctx), "fsck", "-a", device).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == uncorrected {
		return fmt.Errorf("'fsck' found errors on device %s but could not correct them: %s", device, out)
	}
	return nil
}
