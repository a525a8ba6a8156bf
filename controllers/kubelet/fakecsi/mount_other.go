//go:build !linux

package fakecsi

import (
	"context"
	"errors"
	"net"
)

func bind(string, string, bool) error { return errors.ErrUnsupported }

func unmount(string) error { return nil }

// socketFile leaves a socket at path that nothing listens at.
func socketFile(ctx context.Context, path string) error {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "unix", path)
	if err != nil {
		return err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l.Close()
}
