package storetest_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/storetest"
)

// A free address refuses connections until there is a listener, of which there may be one after the other; no
// connection begins at it.
func TestFreeAddress(t *testing.T) {
	address := storetest.FreeAddress(t)
	at, err := net.ResolveTCPAddr("tcp", address)
	require.NoError(t, err)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	for range 3 {
		_, err = net.Dial("tcp", address)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		_, err = (&net.Dialer{LocalAddr: at}).Dial("tcp", server.Addr().String())
		require.ErrorIs(t, err, syscall.EADDRINUSE)
		l, err := net.Listen("tcp", address)
		require.NoError(t, err)
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.NoError(t, l.Close())
	}
}
