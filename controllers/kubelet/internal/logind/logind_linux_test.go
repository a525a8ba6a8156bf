package logind_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/fakelogind"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/logind"
)

// receive returns the next announcement.
func receive(t *testing.T, c <-chan bool) bool {
	select {
	case b, ok := <-c:
		require.True(t, ok, "the connection has ended")
		return b
	case <-time.After(time.Minute):
		t.Fatal("nothing was announced")
		return false
	}
}

// The login manager is spoken with over a real message bus.
func TestLogin(t *testing.T) {
	address := fakelogind.Bus(t)
	m := fakelogind.Start(t, address)
	c, err := logind.Dial(t.Context(), logind.Options{Address: address, ConfigDir: filepath.Join(m.Dir, "sub")})
	require.NoError(t, err)
	defer c.Close()
	d, err := c.MaxDelay(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, d)
	require.NoError(t, c.SetMaxDelay(t.Context(), 29500*time.Millisecond))
	d, err = c.MaxDelay(t.Context())
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, d)
	info, err := os.Stat(filepath.Join(m.Dir, "sub", "99-kubelet.conf"))
	require.NoError(t, err)
	require.EqualValues(t, 0o644, info.Mode().Perm())

	for _, under := range []bool{true, false} {
		m.SetShuttingDown(under)
		now, err := c.ShuttingDown(t.Context())
		require.NoError(t, err)
		require.Equal(t, under, now)
	}
	m.SetShuttingDown("soon")
	_, err = c.ShuttingDown(t.Context())
	require.ErrorContains(t, err, "neither true nor false")
	lock, err := c.Inhibit(t.Context())
	require.NoError(t, err)
	require.NoError(t, lock.Close())
	require.NoError(t, m.Released(0, time.Minute))
	require.Equal(t, []string{"systemd-logind.service all 1"}, m.Signals())
	require.Equal(t, []string{"shutdown kubelet delay"}, m.Inhibitors())
	m.SetDelay(^uint64(0))
	d, err = c.MaxDelay(t.Context())
	require.NoError(t, err)
	require.Greater(t, d, 200*365*24*time.Hour, "infinity")
	m.SetDelay("long")
	_, err = c.MaxDelay(t.Context())
	require.ErrorContains(t, err, "no number")

	announced, err := c.Shutdowns(t.Context())
	require.NoError(t, err)
	m.Announce(t, true)
	require.True(t, receive(t, announced))
	m.Announce(t, false)
	require.False(t, receive(t, announced))
	require.NoError(t, c.Close())
	_, ok := <-announced
	require.False(t, ok)
}

// What others announce in the name of the login manager, to all or to this connection alone, is not believed,
// and neither are signals with another content.
func TestForgedAnnouncements(t *testing.T) {
	address := fakelogind.Bus(t)
	m := fakelogind.Start(t, address)
	c, err := logind.Dial(t.Context(), logind.Options{Address: address})
	require.NoError(t, err)
	defer c.Close()
	announced, err := c.Shutdowns(t.Context())
	require.NoError(t, err)

	other := fakelogind.Connect(t, address)
	require.NoError(t, other.Emit(fakelogind.Path, fakelogind.Interface+".PrepareForShutdown", true))
	var names []string
	require.NoError(t, other.BusObject().Call("org.freedesktop.DBus.ListNames", 0).Store(&names))
	for _, name := range names { // the connection is one of them
		if !strings.HasPrefix(name, ":") {
			continue
		}
		forged := &dbus.Message{Type: dbus.TypeSignal, Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldPath: dbus.MakeVariant(fakelogind.Path), dbus.FieldInterface: dbus.MakeVariant(fakelogind.Interface), dbus.FieldMember: dbus.MakeVariant("PrepareForShutdown"),
			dbus.FieldDestination: dbus.MakeVariant(name), dbus.FieldSignature: dbus.MakeVariant(dbus.SignatureOf(true))}, Body: []any{true}}
		require.NoError(t, other.Send(forged, nil).Err)
	}
	// The bus has passed everything on by then.
	require.NoError(t, other.BusObject().Call("org.freedesktop.DBus.ListNames", 0).Store(&names))
	m.Emit(t, "PrepareForShutdown", "yes")
	m.Emit(t, "PrepareForShutdown")
	m.Emit(t, "PrepareForSleep", true)
	m.Announce(t, false)
	require.False(t, receive(t, announced), "the first that is true was forged")
}

// Without a bus, or without the login manager, there is an error.
func TestNobodyThere(t *testing.T) {
	_, err := logind.Dial(t.Context(), logind.Options{Address: "unix:path=" + filepath.Join(t.TempDir(), "none")})
	require.Error(t, err)
	address := fakelogind.Bus(t)
	ctx, cancel := context.WithCancel(t.Context())
	c, err := logind.Dial(ctx, logind.Options{Address: address, ConfigDir: t.TempDir()})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.MaxDelay(ctx)
	require.ErrorContains(t, err, "org.freedesktop.DBus.Properties.Get")
	_, err = c.Inhibit(ctx)
	require.ErrorContains(t, err, "Inhibit")
	require.ErrorContains(t, c.SetMaxDelay(ctx, time.Second), "KillUnit")
	announced, err := c.Shutdowns(ctx)
	require.NoError(t, err, "it may start later")
	m := fakelogind.Start(t, address)
	m.Announce(t, true)
	require.True(t, receive(t, announced))
	cancel()
	for range announced { // until it is closed
	}
}
