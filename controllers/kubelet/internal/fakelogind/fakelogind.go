// Package fakelogind is a login manager for tests, on a real message bus of its own.
package fakelogind

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"
)

// Bus starts a message bus, which ends with the test, and returns its address. Without dbus-daemon the test
// is skipped.
func Bus(t testing.TB) string {
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

// Connect connects to a bus until the test ends.
func Connect(t testing.TB, address string) *dbus.Conn {
	c, err := dbus.Connect(address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Manager is the login manager, and the part of systemd that sends signals to processes.
type Manager struct {
	// Dir is for its configuration: a hangup makes it read the file 99-kubelet.conf in the folder sub.
	Dir string
	bus *dbus.Conn

	mu      sync.Mutex
	delay   any
	under   any
	kills   []string
	inhibit []string
	locks   []*os.File // the manager's ends
}

// The object of the login manager, and its interface.
const (
	Path      = dbus.ObjectPath("/org/freedesktop/login1")
	Interface = "org.freedesktop.login1.Manager"
)

// Start starts a manager at the bus, until the test ends. A shutdown is delayed by 5 s at most.
func Start(t testing.TB, address string) *Manager {
	m := &Manager{bus: Connect(t, address), Dir: t.TempDir(), delay: uint64(5_000_000), under: false}
	t.Cleanup(func() {
		for _, f := range m.locks {
			_ = f.Close()
		}
	})
	h := &handler{m}
	require.NoError(t, m.bus.Export(h, Path, Interface))
	require.NoError(t, m.bus.Export(h, Path, "org.freedesktop.DBus.Properties"))
	require.NoError(t, m.bus.Export(h, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"))
	for _, name := range []string{"org.freedesktop.login1", "org.freedesktop.systemd1"} {
		reply, err := m.bus.RequestName(name, dbus.NameFlagDoNotQueue)
		require.NoError(t, err)
		require.Equal(t, dbus.RequestNameReplyPrimaryOwner, reply)
	}
	return m
}

// SetDelay sets how long a shutdown is delayed at most, in microseconds: a uint64, or what is none.
func (m *Manager) SetDelay(delay any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.delay = delay
}

// SetShuttingDown sets whether a shutdown is under way, without an announcement: a bool, or what is none.
func (m *Manager) SetShuttingDown(under any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.under = under
}

// Signals returns the signals that were sent to units: the unit, to whom of it, and the number.
func (m *Manager) Signals() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.kills)
}

// Inhibitors returns the locks that were taken: what they inhibit, who took them, and the mode.
func (m *Manager) Inhibitors() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.inhibit)
}

// Released waits until every copy of a lock is closed, for so long at most.
func (m *Manager) Released(i int, most time.Duration) error {
	m.mu.Lock()
	f := m.locks[i]
	m.mu.Unlock()
	if err := f.SetReadDeadline(time.Now().Add(most)); err != nil {
		return err
	}
	if n, err := f.Read(make([]byte, 1)); n > 0 || err == nil || os.IsTimeout(err) {
		return fmt.Errorf("%d bytes: %w", n, err)
	}
	return nil
}

// Announce announces a shutdown, or its cancellation.
func (m *Manager) Announce(t testing.TB, begins bool) {
	m.SetShuttingDown(begins)
	m.Emit(t, "PrepareForShutdown", begins)
}

// Emit sends a signal of the login manager.
func (m *Manager) Emit(t testing.TB, name string, body ...any) {
	require.NoError(t, m.bus.Emit(Path, Interface+"."+name, body...))
}

// handler has the methods on the bus.
type handler struct{ m *Manager }

// Get is org.freedesktop.DBus.Properties.Get.
func (h *handler) Get(_, name string) (dbus.Variant, *dbus.Error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	switch name {
	case "InhibitDelayMaxUSec":
		return dbus.MakeVariant(h.m.delay), nil
	case "PreparingForShutdown":
		return dbus.MakeVariant(h.m.under), nil
	}
	return dbus.Variant{}, dbus.MakeFailedError(fmt.Errorf("no property %s", name))
}

// KillUnit is systemd's; a hangup makes the login manager read its configuration.
func (h *handler) KillUnit(unit, who string, signal int32) *dbus.Error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.m.kills = append(h.m.kills, fmt.Sprint(unit, " ", who, " ", signal))
	b, err := os.ReadFile(filepath.Join(h.m.Dir, "sub", "99-kubelet.conf"))
	if err != nil {
		return dbus.MakeFailedError(err)
	}
	_, text, _ := strings.Cut(string(b), "[Login]\nInhibitDelayMaxSec=")
	var seconds uint64
	if _, err := fmt.Sscan(text, &seconds); err != nil {
		return dbus.MakeFailedError(err)
	}
	h.m.delay = seconds * 1_000_000
	return nil
}

// Inhibit is the login manager's, which refuses it while a shutdown is under way.
func (h *handler) Inhibit(what, who, _, mode string) (dbus.UnixFD, *dbus.Error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.m.under == true {
		return 0, dbus.MakeFailedError(fmt.Errorf("a shutdown is under way"))
	}
	h.m.inhibit = append(h.m.inhibit, what+" "+who+" "+mode)
	r, w, err := os.Pipe()
	if err != nil {
		return 0, dbus.MakeFailedError(err)
	}
	h.m.locks = append(h.m.locks, r)
	fd := dbus.UnixFD(w.Fd())
	// The bus has its own copy once the reply was sent.
	time.AfterFunc(time.Second, func() { _ = w.Close() })
	return fd, nil
}
