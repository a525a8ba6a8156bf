package fakeplugin

import (
	"context"
	"io/fs"

	"golang.org/x/sys/unix"
)

// socketFile makes a file that is seen as a socket, by a path of any length.
func socketFile(_ context.Context, path string) error {
	if err := unix.Mknod(path, unix.S_IFSOCK|0o600, 0); err != nil {
		return &fs.PathError{Op: "mknod", Path: path, Err: err}
	}
	return nil
}
