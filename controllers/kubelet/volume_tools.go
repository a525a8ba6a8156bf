package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tools are what disks are attached with: programs, and the files of the kernel and of udev.
type tools struct {
	// root is the folder that /sys and /dev are in; empty for those of the machine.
	root string
	// run runs a program and returns what it prints. Its error has a method ExitCode if the program has ended
	// with another code than 0, and is exec.ErrNotFound if there is none.
	run func(ctx context.Context, program string, args ...string) (string, error)
}

// systemTools are those of the machine that the kubelet runs on.
func systemTools() *tools { return &tools{run: runProgram} }

// programTimeout is how long a program may take: a login at an iSCSI target takes two minutes if nothing
// answers.
const programTimeout = 3 * time.Minute

func runProgram(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = 5 * time.Second // what it has started may hold its output
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%s was ended: %w", program, ctx.Err())
	}
	return string(out), err
}

// packages are those that have the programs of volumes, for messages.
var packages = map[string]string{
	"iscsiadm":  "open-iscsi (Debian, Ubuntu) or iscsi-initiator-utils (Fedora, RHEL)",
	"multipath": "multipath-tools (Debian, Ubuntu) or device-mapper-multipath (Fedora, RHEL)",
	"mkfs.xfs":  "xfsprogs", "mkfs.btrfs": "btrfs-progs", "mkfs.ext4": "e2fsprogs", "mkfs.ext3": "e2fsprogs",
}

// program runs a program, and ends it when it takes too long. Its error says what is to be installed.
func (t *tools) program(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	return t.runIt(ctx, program, args)
}

// endless is program for what is never ended, because that would leave half of it done.
func (t *tools) endless(ctx context.Context, program string, args ...string) (string, error) {
	return t.runIt(context.WithoutCancel(ctx), program, args)
}

func (t *tools) runIt(ctx context.Context, program string, args []string) (string, error) {
	out, err := t.run(ctx, program, args...)
	if errors.Is(err, exec.ErrNotFound) && packages[program] != "" {
		err = fmt.Errorf("%s is not installed on this node; it is in %s: %w", program, packages[program], exec.ErrNotFound)
	}
	return out, err
}

// exitCode is that of a program that has failed; -1 if it did not run or was ended.
func exitCode(err error) int {
	if exit, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok {
		return exit.ExitCode()
	}
	return -1
}

// path is a file of the machine.
func (t *tools) path(elements ...string) string {
	return filepath.Join(append([]string{t.root, "/"}, elements...)...)
}

// write writes to a file of the kernel that is there.
func (t *tools) write(text string, elements ...string) error {
	f, err := os.OpenFile(t.path(elements...), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// read is the content of a file of the kernel without the space around it.
func (t *tools) read(elements ...string) (string, error) {
	b, err := os.ReadFile(t.path(elements...))
	return strings.TrimSpace(string(b)), err
}

// entries are the names in a folder that begin with prefix; none if it cannot be read.
func (t *tools) entries(prefix string, elements ...string) (list []string) {
	all, _ := os.ReadDir(t.path(elements...))
	for _, e := range all {
		if strings.HasPrefix(e.Name(), prefix) {
			list = append(list, e.Name())
		}
	}
	return list
}

// deviceOf is the name of the block device that a link leads to, such as sdb; empty if there is none.
func (t *tools) deviceOf(link string) string {
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		return ""
	}
	return filepath.Base(real)
}

// multipathOf is the name of the device that joins several paths, of which a device is one; empty if there is
// none.
func (t *tools) multipathOf(device string) string {
	if strings.HasPrefix(device, "dm-") {
		return device
	}
	for _, name := range t.entries("dm-", "sys/block") {
		if _, err := os.Lstat(t.path("sys/block", name, "slaves", device)); err == nil {
			return name
		}
	}
	return ""
}

// multipaths are the devices that join devices.
func (t *tools) multipaths(devices []string) (list []string) {
	for _, device := range devices {
		if name := t.multipathOf(device); name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// removeDevice has the kernel remove a SCSI device; none is no error.
func (t *tools) removeDevice(device string) error {
	err := t.write("1", "sys/block", device, "device/delete")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
