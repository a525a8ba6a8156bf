package kubelet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// remove removes a folder and all in it that is of the same mount. It enters nothing that is mounted in it,
// not even a folder of the same file system, and fails there: that is not the folder's content.
func (m *kernelMounter) remove(dir string) error {
	parent, err := os.OpenFile(filepath.Dir(dir), unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	mount, err := mountOf(parent)
	if err != nil {
		return err
	}
	return removeAt(parent, filepath.Base(dir), mount)
}

// removeAt removes an entry of an open folder of a mount.
func removeAt(parent *os.File, name, mount string) error {
	path := filepath.Join(parent.Name(), name)
	failed := func(op string, err error) error { return &fs.PathError{Op: op, Path: path, Err: err} }
	err := unix.Unlinkat(int(parent.Fd()), name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return failed("remove", err)
	}
	fd, openErr := unix.Openat(int(parent.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(openErr, unix.ENOENT) {
		return nil
	}
	if openErr != nil {
		return failed("remove", err)
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	here, err := mountOf(dir)
	if err != nil {
		return err
	}
	if here != mount {
		return failed("remove", errMounted)
	}
	for {
		emptied, err := removeEntries(dir, mount)
		if err != nil {
			return err
		}
		err = unix.Unlinkat(int(parent.Fd()), name, unix.AT_REMOVEDIR)
		if errors.Is(err, unix.ENOTEMPTY) && emptied { // removing may have hidden some from the reader
			continue
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return failed("remove", err)
		}
		return nil
	}
}

// removeEntries removes what is in an open folder of a mount, and reports whether there was anything. A pod
// may have written any number of files, so they are not all listed at once.
func removeEntries(dir *os.File, mount string) (some bool, err error) {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	var first error
	for {
		names, err := dir.Readdirnames(1024)
		for _, n := range names {
			some = true
			if err := removeAt(dir, n, mount); err != nil && first == nil {
				first = err
			}
		}
		if errors.Is(err, io.EOF) {
			return some, first
		}
		if err != nil {
			return some, err
		}
	}
}

// errMounted says that something is mounted where only files of the folder were expected.
var errMounted = errors.New("a file system is mounted here")

// mountOf is the identity of the mount that an open file is in.
func mountOf(f *os.File) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", f.Fd()))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if id, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			return strings.TrimSpace(id), nil
		}
	}
	return "", fmt.Errorf("%s: the kernel does not report its mount", f.Name())
}
