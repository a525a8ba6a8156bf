package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/controllers/internal/mountinfo"
)

// openNoLinks opens a path below root element by element. A symbolic link is an error, the last element
// included.
func openNoLinks(root, rest string) (*os.File, error) {
	const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	at, err := unix.Open(root, flags, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: root, Err: err}
	}
	if rest != "." {
		for part := range strings.SplitSeq(rest, string(filepath.Separator)) {
			next, err := unix.Openat(at, part, flags, 0)
			_ = unix.Close(at)
			if err != nil {
				return nil, &fs.PathError{Op: "open", Path: part, Err: err}
			}
			at = next
			var st unix.Stat_t
			if err := unix.Fstat(at, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
				_ = unix.Close(at)
				return nil, errors.Join(err, fmt.Errorf("%q was replaced by a symbolic link", part))
			}
		}
	}
	return os.NewFile(uintptr(at), filepath.Join(root, rest)), nil
}

// bind mounts an open file or folder, and nothing mounted below it, at target, which is made.
func (m *kernelMounter) bind(source *os.File, target string) error {
	var want unix.Stat_t
	if err := unix.Fstat(int(source.Fd()), &want); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return err
	}
	if done, err := m.clearTarget(target, &want); done || err != nil {
		return err
	}
	if err := makeTarget(target, want.Mode&unix.S_IFMT == unix.S_IFDIR); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", source.Fd()), target, "", unix.MS_BIND, ""); err != nil {
		return &fs.PathError{Op: "mount", Path: target, Err: err}
	}
	return nil
}

// clearTarget takes away what is at target, unless it is what is wanted: the container may be started again.
func (m *kernelMounter) clearTarget(target string, want *unix.Stat_t) (done bool, err error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(target))
	if err != nil {
		return false, err
	}
	for {
		points, err := mountinfo.Points()
		if err != nil {
			return false, err
		}
		if !slices.Contains(points, filepath.Join(dir, filepath.Base(target))) {
			break
		}
		var have unix.Stat_t
		if err := unix.Lstat(target, &have); err == nil && have.Dev == want.Dev && have.Ino == want.Ino {
			return true, nil
		}
		if err := unix.Unmount(target, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH); err != nil {
			return false, &fs.PathError{Op: "unmount", Path: target, Err: err}
		}
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return false, nil
}

// makeTarget makes the empty folder or file that something is mounted over.
func makeTarget(target string, folder bool) error {
	if folder {
		return os.Mkdir(target, 0o750)
	}
	f, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	return f.Close()
}
