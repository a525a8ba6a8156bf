//go:build !unix

package file

import (
	"errors"
	"io/fs"
	"os"
)

// lockFile takes a lock that ends with the process or the closing of the file: without sharing, a file that
// is open cannot be removed.
func lockFile(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, ErrInUse
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, ErrInUse
	}
	return f, err
}

// Directories cannot be synced here; names are durable when their file is.
func ignoreUnsupported(error) error { return nil }
