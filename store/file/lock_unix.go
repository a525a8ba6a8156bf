//go:build unix

package file

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile takes a lock that ends with the process or the closing of the file.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrInUse
		}
		return nil, fmt.Errorf("file: cannot lock %s: %w", path, err)
	}
	return f, nil
}

func ignoreUnsupported(err error) error { return err }
