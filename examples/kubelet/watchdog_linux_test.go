package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// As a unit of systemd with WatchdogSec the kubelet sends what systemd expects, half as long after the last.
func TestWatchdogOfSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	t.Setenv("WATCHDOG_USEC", "30000000")
	w, err := watchdog()
	require.NoError(t, err)
	require.Equal(t, 15*time.Second, w.Interval)
	read := func() string {
		require.NoError(t, socket.SetReadDeadline(time.Now().Add(time.Minute)))
		b := make([]byte, 100)
		n, err := socket.Read(b)
		require.NoError(t, err)
		return string(b[:n])
	}
	require.NoError(t, w.Notify())
	require.Equal(t, "WATCHDOG=1", read())
	require.NoError(t, notify("READY=1"))
	require.Equal(t, "READY=1", read())

	for usec, want := range map[string]string{"1000000": "1s is too short", "soon": "watchdog of systemd", "-1": "watchdog of systemd"} {
		t.Setenv("WATCHDOG_USEC", usec)
		_, err = watchdog()
		require.ErrorContains(t, err, want, usec)
	}
	t.Setenv("WATCHDOG_USEC", "30000000")
	t.Setenv("WATCHDOG_PID", "1") // that of another process
	w, err = watchdog()
	require.NoError(t, err)
	require.Nil(t, w)
}
