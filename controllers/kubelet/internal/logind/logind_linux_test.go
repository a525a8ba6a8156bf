package logind_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/logind"
)

// bus starts a message bus of its own and returns its address.
func bus(t *testing.T) string {
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI must run this: %v", err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "bus.conf")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><listen>unix:path=%s/socket</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>`, dir), 0o600))
	cmd := exec.CommandContext(t.Context(), daemon, "--nofork", "--print-address", "--config-file="+config)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n') // it listens by then
	require.NoError(t, err)
	return strings.TrimSpace(address)
}

func connect(t *testing.T, address string) *dbus.Conn {
	c, err := dbus.Connect(address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// manager is a login manager, and the part of systemd that sends signals to processes. Its methods that are
// not exported are the test's.
type manager struct {
	bus *dbus.Conn
	dir string

	mu      sync.Mutex
	delay   any
	kills   []string
	inhibit []string
	locks   []*os.File // the manager's ends
}

const (
	path  = dbus.ObjectPath("/org/freedesktop/login1")
	iface = "org.freedesktop.login1.Manager"
)

func start(t *testing.T, address string) *manager {
	m := &manager{bus: connect(t, address), dir: t.TempDir(), delay: uint64(5_000_000)}
	t.Cleanup(func() {
		for _, f := range m.locks {
			_ = f.Close()
		}
	})
	require.NoError(t, m.bus.Export(m, path, iface))
	require.NoError(t, m.bus.Export(m, path, "org.freedesktop.DBus.Properties"))
	require.NoError(t, m.bus.Export(m, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"))
	for _, name := range []string{"org.freedesktop.login1", "org.freedesktop.systemd1"} {
		reply, err := m.bus.RequestName(name, dbus.NameFlagDoNotQueue)
		require.NoError(t, err)
		require.Equal(t, dbus.RequestNameReplyPrimaryOwner, reply)
	}
	return m
}

// Get is org.freedesktop.DBus.Properties.Get.
func (m *manager) Get(_, name string) (dbus.Variant, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if name != "InhibitDelayMaxUSec" {
		return dbus.Variant{}, dbus.MakeFailedError(fmt.Errorf("no property %s", name))
	}
	return dbus.MakeVariant(m.delay), nil
}

// KillUnit is systemd's; a hangup makes the login manager read its configuration.
func (m *manager) KillUnit(unit, who string, signal int32) *dbus.Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kills = append(m.kills, fmt.Sprint(unit, " ", who, " ", signal))
	b, err := os.ReadFile(filepath.Join(m.dir, "sub", "99-kubelet.conf"))
	if err != nil {
		return dbus.MakeFailedError(err)
	}
	_, text, _ := strings.Cut(string(b), "[Login]\nInhibitDelayMaxSec=")
	var seconds uint64
	if _, err := fmt.Sscan(text, &seconds); err != nil {
		return dbus.MakeFailedError(err)
	}
	m.delay = seconds * 1_000_000
	return nil
}

// Inhibit is the login manager's.
func (m *manager) Inhibit(what, who, _, mode string) (dbus.UnixFD, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inhibit = append(m.inhibit, what+" "+who+" "+mode)
	r, w, err := os.Pipe()
	if err != nil {
		return 0, dbus.MakeFailedError(err)
	}
	m.locks = append(m.locks, r)
	fd := dbus.UnixFD(w.Fd())
	// The bus has its own copy once the reply was sent.
	time.AfterFunc(time.Second, func() { _ = w.Close() })
	return fd, nil
}

// released waits until every copy of a lock is closed.
func (m *manager) released(i int) error {
	m.mu.Lock()
	f := m.locks[i]
	m.mu.Unlock()
	if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if n, err := f.Read(make([]byte, 1)); n > 0 || err == nil || os.IsTimeout(err) {
		return fmt.Errorf("%d bytes: %w", n, err)
	}
	return nil
}

func (m *manager) announce(t *testing.T, begins bool) {
	require.NoError(t, m.bus.Emit(path, iface+".PrepareForShutdown", begins))
}

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
	address := bus(t)
	m := start(t, address)
	c, err := logind.Dial(t.Context(), logind.Options{Address: address, ConfigDir: filepath.Join(m.dir, "sub")})
	require.NoError(t, err)
	defer c.Close()
	d, err := c.MaxDelay(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, d)
	require.NoError(t, c.SetMaxDelay(t.Context(), 29500*time.Millisecond))
	d, err = c.MaxDelay(t.Context())
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, d)
	info, err := os.Stat(filepath.Join(m.dir, "sub", "99-kubelet.conf"))
	require.NoError(t, err)
	require.EqualValues(t, 0o644, info.Mode().Perm())

	lock, err := c.Inhibit(t.Context())
	require.NoError(t, err)
	require.NoError(t, lock.Close())
	require.NoError(t, m.released(0))
	m.mu.Lock()
	require.Equal(t, []string{"systemd-logind.service all 1"}, m.kills)
	require.Equal(t, []string{"shutdown kubelet delay"}, m.inhibit)
	m.delay = ^uint64(0)
	m.mu.Unlock()
	d, err = c.MaxDelay(t.Context())
	require.NoError(t, err)
	require.Greater(t, d, 200*365*24*time.Hour, "infinity")
	m.mu.Lock()
	m.delay = "long"
	m.mu.Unlock()
	_, err = c.MaxDelay(t.Context())
	require.ErrorContains(t, err, "no number")

	announced, err := c.Shutdowns(t.Context())
	require.NoError(t, err)
	m.announce(t, true)
	require.True(t, receive(t, announced))
	m.announce(t, false)
	require.False(t, receive(t, announced))
	require.NoError(t, c.Close())
	_, ok := <-announced
	require.False(t, ok)
}

// What others announce in the name of the login manager, to all or to this connection alone, is not believed,
// and neither are signals with another content.
func TestForgedAnnouncements(t *testing.T) {
	address := bus(t)
	m := start(t, address)
	c, err := logind.Dial(t.Context(), logind.Options{Address: address})
	require.NoError(t, err)
	defer c.Close()
	announced, err := c.Shutdowns(t.Context())
	require.NoError(t, err)

	other := connect(t, address)
	require.NoError(t, other.Emit(path, iface+".PrepareForShutdown", true))
	var names []string
	require.NoError(t, other.BusObject().Call("org.freedesktop.DBus.ListNames", 0).Store(&names))
	for _, name := range names { // the connection is one of them
		if !strings.HasPrefix(name, ":") {
			continue
		}
		forged := &dbus.Message{Type: dbus.TypeSignal, Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldPath: dbus.MakeVariant(path), dbus.FieldInterface: dbus.MakeVariant(iface), dbus.FieldMember: dbus.MakeVariant("PrepareForShutdown"),
			dbus.FieldDestination: dbus.MakeVariant(name), dbus.FieldSignature: dbus.MakeVariant(dbus.SignatureOf(true))}, Body: []any{true}}
		require.NoError(t, other.Send(forged, nil).Err)
	}
	// The bus has passed everything on by then.
	require.NoError(t, other.BusObject().Call("org.freedesktop.DBus.ListNames", 0).Store(&names))
	require.NoError(t, m.bus.Emit(path, iface+".PrepareForShutdown", "yes"))
	require.NoError(t, m.bus.Emit(path, iface+".PrepareForShutdown"))
	require.NoError(t, m.bus.Emit(path, iface+".PrepareForSleep", true))
	m.announce(t, false)
	require.False(t, receive(t, announced), "the first that is true was forged")
}

// Without a bus, or without the login manager, there is an error.
func TestNobodyThere(t *testing.T) {
	_, err := logind.Dial(t.Context(), logind.Options{Address: "unix:path=" + filepath.Join(t.TempDir(), "none")})
	require.Error(t, err)
	address := bus(t)
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
	m := start(t, address)
	m.announce(t, true)
	require.True(t, receive(t, announced))
	cancel()
	for range announced { // until it is closed
	}
}
