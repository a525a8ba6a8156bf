// Package logind speaks with systemd's login manager, org.freedesktop.login1 on the system bus: it delays the
// shutdown of the machine and follows its announcements.
package logind

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/godbus/dbus/v5"
)

// Options of a connection. The zero value is that of the machine.
type Options struct {
	// Address is that of the bus; empty means the system's.
	Address string
	// ConfigDir contains files that change logind's configuration; empty means /etc/systemd/logind.conf.d.
	ConfigDir string
}

const (
	service   = "org.freedesktop.login1"
	object    = dbus.ObjectPath("/org/freedesktop/login1")
	manager   = service + ".Manager"
	announces = "PrepareForShutdown"
	// callTime bounds each call, for a service that hangs.
	callTime = 10 * time.Second
)

// Conn is a connection. Use [Dial].
type Conn struct {
	bus *dbus.Conn
	dir string
}

// Dial connects to the bus, until Close or the end of ctx.
func Dial(ctx context.Context, opts Options) (*Conn, error) {
	connect := dbus.ConnectSystemBus
	if opts.Address != "" {
		connect = func(o ...dbus.ConnOption) (*dbus.Conn, error) { return dbus.Connect(opts.Address, o...) }
	}
	bus, err := connect(dbus.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("system bus: %w", err)
	}
	return &Conn{bus: bus, dir: cmp.Or(opts.ConfigDir, "/etc/systemd/logind.conf.d")}, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.bus.Close() }

// call calls a method and stores its result in into.
func (c *Conn) call(ctx context.Context, dest string, path dbus.ObjectPath, method string, into []any, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	call := c.bus.Object(dest, path).CallWithContext(ctx, method, 0, args...)
	if err := call.Store(into...); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// property reads a property of logind.
func (c *Conn) property(ctx context.Context, name string) (any, error) {
	var v dbus.Variant
	err := c.call(ctx, service, object, "org.freedesktop.DBus.Properties.Get", []any{&v}, manager, name)
	return v.Value(), err
}

// ShuttingDown reports whether a shutdown is under way.
func (c *Conn) ShuttingDown(ctx context.Context) (bool, error) {
	v, err := c.property(ctx, "PreparingForShutdown")
	if err != nil {
		return false, err
	}
	under, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("PreparingForShutdown of logind is %v, neither true nor false", v)
	}
	return under, nil
}

// MaxDelay returns how long logind delays a shutdown at most.
func (c *Conn) MaxDelay(ctx context.Context) (time.Duration, error) {
	v, err := c.property(ctx, "InhibitDelayMaxUSec")
	if err != nil {
		return 0, err
	}
	micros, ok := v.(uint64)
	if !ok {
		return 0, fmt.Errorf("InhibitDelayMaxUSec of logind is %v, no number", v)
	}
	const most = uint64(1<<63-1) / uint64(time.Microsecond) // logind has infinity too
	return time.Duration(min(micros, most)) * time.Microsecond, nil
}

// SetMaxDelay changes logind's configuration, in seconds, and lets logind read it, which it may do later.
func (c *Conn) SetMaxDelay(ctx context.Context, d time.Duration) error {
	if err := os.MkdirAll(c.dir, 0o755); err != nil { //nolint:gosec // others read the system's configuration
		return err
	}
	text := fmt.Sprintf("# Written by the kubelet: pods get this long to end.\n[Login]\nInhibitDelayMaxSec=%d\n", (d+time.Second-1)/time.Second)
	if err := os.WriteFile(filepath.Join(c.dir, "99-kubelet.conf"), []byte(text), 0o644); err != nil { //nolint:gosec // as above
		return err
	}
	const hangup = int32(1)
	return c.call(ctx, "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager.KillUnit", nil,
		"systemd-logind.service", "all", hangup)
}

// Inhibit delays a shutdown until the lock is closed.
func (c *Conn) Inhibit(ctx context.Context) (lock io.Closer, err error) {
	var fd dbus.UnixFD
	if err := c.call(ctx, service, object, manager+".Inhibit", []any{&fd}, "shutdown", "kubelet", "Pods get time to end", "delay"); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "shutdown inhibitor"), nil
}

// Shutdowns returns what logind announces: true before a shutdown, false when it was cancelled. What others
// announce in its name is ignored. The channel is closed when the connection or ctx has ended.
func (c *Conn) Shutdowns(ctx context.Context) (<-chan bool, error) {
	signals := make(chan *dbus.Signal, 16)
	c.bus.Signal(signals)
	matching, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := c.bus.AddMatchSignalContext(matching, dbus.WithMatchSender(service), dbus.WithMatchInterface(manager), dbus.WithMatchMember(announces), dbus.WithMatchObjectPath(object))
	if err != nil {
		c.bus.RemoveSignal(signals)
		return nil, fmt.Errorf("watch logind: %w", err)
	}
	out := make(chan bool)
	go func() {
		defer close(out)
		defer c.bus.RemoveSignal(signals)
		for {
			var s *dbus.Signal
			var ok bool
			select {
			case s, ok = <-signals:
			case <-ctx.Done():
			}
			if !ok {
				return
			}
			begins, ok := c.announcement(ctx, s)
			if !ok {
				continue
			}
			select {
			case out <- begins:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// announcement returns what a signal announces; false if it announces nothing. Any user may send a signal to
// this connection alone, whatever it watches, so that the sender is compared with logind.
func (c *Conn) announcement(ctx context.Context, s *dbus.Signal) (begins, ok bool) {
	if s.Name != manager+"."+announces || s.Path != object || len(s.Body) == 0 {
		return false, false
	}
	if begins, ok = s.Body[0].(bool); !ok {
		return false, false
	}
	var owner string
	err := c.call(ctx, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.GetNameOwner", []any{&owner}, service)
	return begins, err == nil && owner == s.Sender
}
