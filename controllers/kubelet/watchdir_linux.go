package kubelet

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// watchedEvents are those after which a directory has other content.
const watchedEvents = unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

// WatchDir implements Host with inotify.
func (machine) WatchDir(ctx context.Context, dir string, changed func()) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return os.NewSyscallError("inotify_init1", err)
	}
	f := os.NewFile(uintptr(fd), "inotify") // reads of it wait without a thread, and end when it is closed
	defer f.Close()
	if _, err := unix.InotifyAddWatch(fd, dir, watchedEvents); err != nil {
		return &os.PathError{Op: "inotify_add_watch", Path: dir, Err: err}
	}
	defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	changed() // whatever happened before
	b := make([]byte, 64<<10)
	for {
		n, err := f.Read(b)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		counts, gone := inspectEvents(dir, b[:n])
		if counts {
			changed()
		}
		if gone {
			return fmt.Errorf("%s has been removed or moved", dir)
		}
	}
}

// inspectEvents reports whether events of inotify mean that dir has other content, and whether it is gone.
func inspectEvents(dir string, b []byte) (changed, gone bool) {
	for len(b) >= unix.SizeofInotifyEvent {
		mask := binary.NativeEndian.Uint32(b[4:])
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
		if size > len(b) {
			return true, gone // the kernel does not cut events; if it did, looking again is right
		}
		name := strings.TrimRight(string(b[unix.SizeofInotifyEvent:size]), "\x00")
		b = b[size:]
		gone = gone || mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_IGNORED|unix.IN_UNMOUNT) != 0
		if mask&unix.IN_CREATE != 0 && beingWritten(filepath.Join(dir, name)) {
			continue // its end is another event
		}
		changed = true // and if events were lost, anything may have changed
	}
	return changed, gone
}

// beingWritten reports whether a file that has just been created will be closed by its creator, unlike a link
// or a directory.
func beingWritten(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 1
}
