package kubelet

import (
	"context"
	"errors"
	"os"
)

// mounter mounts file systems; tests and other systems than Linux use plain folders.
type mounter interface {
	// share makes dir a mount that passes mounts on to its peers, unless it is on one. end takes that mount
	// away if nothing is mounted inside and no file of it is open.
	share(dir string) (end func(), err error)
	// tmpfs mounts a file system in memory at dir if none is mounted there; size 0 means half the memory. It
	// fails with errNoMounts if this process may not mount.
	tmpfs(dir string, size int64) error
	// hugePages mounts a file system of huge pages of that many bytes each at dir if nothing is mounted
	// there; size 0 means all that there are.
	hugePages(dir string, page, size int64) error
	// bind mounts an open file or folder at target, which it makes, in the place of what is mounted there.
	bind(source *os.File, target string) error
	// below lists the mount points inside dir.
	below(dir string) ([]string, error)
	unmount(dir string) error
	// mounted reports whether something is mounted at dir.
	mounted(dir string) bool
	// peers are the other mount points of the file system that is mounted at a path.
	peers(path string) []string
	// mount mounts what mount(8) can mount at target, which is there.
	mount(ctx context.Context, source, target, kind string, options []string) error
	// remount sets options of what is bound at target.
	remount(ctx context.Context, target string, options []string) error
	// remove removes a folder with its content, but nothing that is mounted in it: that is an error.
	remove(dir string) error
}

// errNoMounts says that this process cannot mount.
var errNoMounts = errors.New("this process may not mount file systems")

// folders mounts nothing.
type folders struct{}

func (folders) share(string) (func(), error)         { return func() {}, nil }
func (folders) tmpfs(string, int64) error            { return errNoMounts }
func (folders) hugePages(string, int64, int64) error { return errNoMounts }
func (folders) bind(*os.File, string) error          { return errNoMounts }
func (folders) below(string) ([]string, error)       { return nil, nil }
func (folders) unmount(string) error                 { return nil }
func (folders) mounted(string) bool                  { return false }
func (folders) peers(string) []string                { return nil }
func (folders) mount(context.Context, string, string, string, []string) error {
	return errNoMounts
}
func (folders) remount(context.Context, string, []string) error { return errNoMounts }
func (folders) remove(dir string) error                         { return os.RemoveAll(dir) }
