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

	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/controllers/internal/mountinfo"
)

// newMounter mounts if this process may.
func newMounter() mounter {
	if os.Geteuid() != 0 {
		return folders{}
	}
	return &kernelMounter{}
}

type kernelMounter struct{}

func (m *kernelMounter) tmpfs(dir string, size int64) error {
	if m.mounted(dir) {
		return nil
	}
	var options []string
	if size > 0 {
		options = []string{fmt.Sprintf("size=%d", size)}
	}
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, strings.Join(append(options, "noswap"), ","))
	if errors.Is(err, unix.EINVAL) { // a kernel before 6.4
		err = unix.Mount("tmpfs", dir, "tmpfs", 0, strings.Join(options, ","))
	}
	if errors.Is(err, unix.EPERM) {
		return errNoMounts // root of a sandbox
	}
	return err
}

func (m *kernelMounter) share(dir string) (end func(), err error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if shared, err := mountinfo.Shared(real); err != nil || shared {
		return func() {}, err
	}
	// What is mounted inside stays visible.
	if err := unix.Mount(real, real, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		if errors.Is(err, unix.EPERM) {
			return func() {}, nil // root of a sandbox, which cannot mount volumes either
		}
		return nil, &os.PathError{Op: "mount", Path: real, Err: err}
	}
	end = func() { _ = unix.Unmount(real, unix.UMOUNT_NOFOLLOW) }
	if err := unix.Mount("", real, "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		end()
		return nil, &os.PathError{Op: "mount", Path: real, Err: err}
	}
	return end, nil
}

func (m *kernelMounter) hugePages(dir string, page, size int64) error {
	if m.mounted(dir) {
		return nil
	}
	options := fmt.Sprintf("mode=0777,pagesize=%d", page)
	if size > 0 {
		options += fmt.Sprintf(",size=%d", size)
	}
	err := unix.Mount("nodev", dir, "hugetlbfs", 0, options)
	if errors.Is(err, unix.EPERM) {
		return errNoMounts // root of a sandbox
	}
	return err
}

func (m *kernelMounter) below(dir string) ([]string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	points, err := mountinfo.Points()
	if err != nil {
		return nil, err
	}
	var inside []string
	for _, p := range points {
		if strings.HasPrefix(p, real+"/") {
			inside = append(inside, p)
		}
	}
	return inside, nil
}

func (m *kernelMounter) mounted(dir string) bool {
	// The table of mounts grows with the pods, and a kernel since 5.8 answers without it.
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, dir, unix.AT_NO_AUTOMOUNT, 0, &st) == nil && st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	points, err := mountinfo.Points()
	return err == nil && slices.Contains(points, real)
}

func (m *kernelMounter) peers(path string) []string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	points, _ := mountinfo.Peers(real) // it has been read before, to find what is mounted
	return points
}

// mount runs mount(8), which finds the helper of the kind of file system, such as mount.nfs.
func (m *kernelMounter) mount(ctx context.Context, source, target, kind string, options []string) error {
	args := []string{"-t", kind}
	if len(options) > 0 {
		args = append(args, "-o", strings.Join(options, ","))
	}
	for _, word := range []string{source, target} {
		if strings.HasPrefix(word, "-") {
			return fmt.Errorf("%q begins like an option", word)
		}
	}
	return runMount(ctx, append(args, source, target))
}

func (m *kernelMounter) remount(ctx context.Context, target string, options []string) error {
	return runMount(ctx, []string{"-o", strings.Join(append([]string{"bind", "remount"}, options...), ","), target})
}

func runMount(ctx context.Context, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, mountTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "mount", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mount failed: %w: mounting arguments: %s: output: %s", err, strings.Join(args, " "), strings.TrimSpace(string(out)))
	}
	return nil
}

// mountTimeout is how long mount(8) may take.
const mountTimeout = 2 * time.Minute

func (m *kernelMounter) unmount(dir string) error {
	err := unix.Unmount(dir, unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EBUSY) && m.ours(dir) {
		err = unix.Unmount(dir, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return nil // not mounted any more
	}
	return err
}

// ours reports whether a mount is one that nothing is written to once the pod has stopped: a file system in
// memory, or the mount of a subPath. Others, which containers have made, are taken away when they are not in
// use any more.
func (m *kernelMounter) ours(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err == nil && st.Type == unix.TMPFS_MAGIC {
		return true
	}
	return strings.Contains(dir, "/"+subPathFolder+"/")
}
