//go:build !linux

package fakeplugin

import (
	"context"
	"net"
)

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
