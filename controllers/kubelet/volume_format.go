package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// foreign is what diskFormat returns for a disk with a partition table.
const foreign = "unknown data, probably partitions"

// defaultFormat is the kind of a file system that is made if none is specified.
const defaultFormat = "ext4"

// formatAndMount mounts a device, whose file system is made before if there is nothing on it, and checked and
// repaired if there is one. What is on a device is never overwritten. Without a kind, a file system is
// mounted as what it is.
func (t *tools) formatAndMount(ctx context.Context, mounts mounter, device, target, kind string, options []string) error {
	have, err := t.diskFormat(ctx, device)
	if err != nil {
		return fmt.Errorf("failed to get disk format of disk %s: %w", device, err)
	}
	if kind == "" && have != foreign {
		kind = have
	}
	kind = cmp.Or(kind, defaultFormat)
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
		if out, err := t.endless(ctx, "mkfs."+kind, args...); err != nil {
			return fmt.Errorf("format of disk %q failed: type:(%q) target:(%q) options:(%q) errcode:(%w) output:(%s)", device, kind, target, options, err, out)
		}
	case !readOnly:
		if err := t.repair(ctx, device); err != nil {
			return err
		}
	}
	return mounts.mount(ctx, device, target, kind, append(slices.Clone(options), "defaults"))
}

// diskFormat returns the kind of the file system on a device, or foreign; empty if there is nothing on it.
func (t *tools) diskFormat(ctx context.Context, device string) (string, error) {
	out, err := t.program(ctx, "blkid", "-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", device)
	if err != nil && exitCode(err) == 2 {
		return "", nil
	} else if err != nil {
		return "", err
	}
	kind := ""
	for line := range strings.Lines(out) {
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
func (t *tools) repair(ctx context.Context, device string) error {
	const uncorrected = 4
	out, err := t.endless(ctx, "fsck", "-a", device)
	if exitCode(err) == uncorrected {
		return fmt.Errorf("'fsck' found errors on device %s but could not correct them: %s", device, out)
	}
	return nil
}
