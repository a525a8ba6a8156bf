package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	// The client of systemd that its own project keeps: authentication and the D-Bus encoding are not ours.
	systemd "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

// Systemd returns the units of the systemd that runs this machine. Their connections last until ctx ends.
func Systemd(ctx context.Context) (Units, error) {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return nil, errors.New("systemd does not run this machine; set the cgroup driver to cgroupfs, here and in the container runtime")
	}
	u := &units{connect: func() (bus, error) { return systemd.NewSystemConnectionContext(ctx) }}
	_, err := u.connection()
	return u, err
}

// bus is a connection to systemd.
type bus interface {
	StartTransientUnitContext(ctx context.Context, name, mode string, properties []systemd.Property, done chan<- string) (int, error)
	SetUnitPropertiesContext(ctx context.Context, name string, runtime bool, properties ...systemd.Property) error
	StopUnitContext(ctx context.Context, name, mode string, done chan<- string) (int, error)
	ResetFailedUnitContext(ctx context.Context, name string) error
	Connected() bool
	Close()
}

// units outlive their connection: the message bus may be restarted while pods run.
type units struct {
	connect func() (bus, error)

	mu   sync.Mutex
	conn bus // nil before the first
}

// with calls f with a connection, and once more with a new one if that has ended meanwhile.
func (u *units) with(f func(bus) error) error {
	conn, err := u.connection()
	if err != nil {
		return err
	}
	if err = f(conn); err == nil || conn.Connected() {
		return err
	}
	if conn, err = u.connection(); err != nil {
		return err
	}
	return f(conn)
}

// connection returns the connection, a new one if the last has ended.
func (u *units) connection() (bus, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != nil && u.conn.Connected() {
		return u.conn, nil
	}
	conn, err := u.connect()
	if err != nil {
		return nil, fmt.Errorf("connect to systemd: %w", err)
	}
	if u.conn != nil {
		u.conn.Close()
	}
	u.conn = conn
	return conn, nil
}

// jobTimeout is how long systemd may take for a unit. Nothing ends the wait for a job whose connection has
// ended, and upstream waits as long.
const jobTimeout = 30 * time.Second

func list(properties map[string]uint64) []systemd.Property {
	var all []systemd.Property
	for name, value := range properties {
		all = append(all, systemd.Property{Name: name, Value: godbus.MakeVariant(value)})
	}
	return all
}

// Start implements Units.
func (u *units) Start(ctx context.Context, slice string, properties map[string]uint64) error {
	all := append(list(properties), systemd.PropDescription("Pods of Kubernetes: "+slice))
	if i := strings.LastIndex(slice, "-"); i > 0 {
		all = append(all, systemd.PropWants(slice[:i]+sliceSuffix))
	}
	for _, name := range []string{"MemoryAccounting", "CPUAccounting", "IOAccounting", "TasksAccounting"} {
		all = append(all, systemd.Property{Name: name, Value: godbus.MakeVariant(true)})
	}
	all = append(all, systemd.Property{Name: "DefaultDependencies", Value: godbus.MakeVariant(false)})
	return u.with(func(conn bus) error { return start(ctx, conn, slice, properties, all) })
}

func start(ctx context.Context, conn bus, slice string, properties map[string]uint64, all []systemd.Property) error {
	done := make(chan string, 1)
	_, err := conn.StartTransientUnitContext(ctx, slice, "replace", all, done)
	if exists(err) { // perhaps only because it has failed before
		forget(ctx, conn, slice)
		_, err = conn.StartTransientUnitContext(ctx, slice, "replace", all, done)
	}
	if exists(err) {
		return conn.SetUnitPropertiesContext(ctx, slice, true, list(properties)...)
	}
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(jobTimeout):
		err = fmt.Errorf("the job of systemd has not ended within %v", jobTimeout)
	case result := <-done:
		if result == "done" {
			return nil
		}
		err = fmt.Errorf("the job of systemd ended as %s", result)
	}
	forget(ctx, conn, slice)
	return err
}

func exists(err error) bool {
	var known godbus.Error
	return errors.As(err, &known) && known.Name == "org.freedesktop.systemd1.UnitExists"
}

// forget lets systemd remove a unit that has failed, which it keeps otherwise, so that no unit of that name
// can be started. One that has not failed stays as it is.
func forget(ctx context.Context, conn bus, slice string) {
	_ = conn.ResetFailedUnitContext(ctx, slice) // there may be none
}

// Change implements Units.
func (u *units) Change(ctx context.Context, slice string, properties map[string]uint64) error {
	if len(properties) == 0 {
		return nil
	}
	return u.with(func(conn bus) error { return conn.SetUnitPropertiesContext(ctx, slice, true, list(properties)...) })
}

// Stop implements Units.
func (u *units) Stop(ctx context.Context, slice string) error {
	return u.with(func(conn bus) error {
		_, err := conn.StopUnitContext(ctx, slice, "replace", nil)
		forget(ctx, conn, slice)
		return err
	})
}
