package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	// The client of systemd that its own project keeps: authentication and the D-Bus encoding are not ours.
	systemd "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

// Systemd returns the units of the systemd that runs this machine.
func Systemd(ctx context.Context) (Units, error) {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return nil, errors.New("systemd does not run this machine; set the cgroup driver to cgroupfs, here and in the container runtime")
	}
	conn, err := systemd.NewSystemConnectionContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to systemd: %w", err)
	}
	return units{conn}, nil
}

type units struct{ conn *systemd.Conn }

func list(properties map[string]uint64) []systemd.Property {
	var all []systemd.Property
	for name, value := range properties {
		all = append(all, systemd.Property{Name: name, Value: godbus.MakeVariant(value)})
	}
	return all
}

// Start implements Units.
func (u units) Start(ctx context.Context, slice string, properties map[string]uint64) error {
	all := append(list(properties), systemd.PropDescription("Pods of Kubernetes: "+slice))
	if i := strings.LastIndex(slice, "-"); i > 0 {
		all = append(all, systemd.PropWants(slice[:i]+sliceSuffix))
	}
	for _, name := range []string{"MemoryAccounting", "CPUAccounting", "IOAccounting", "TasksAccounting"} {
		all = append(all, systemd.Property{Name: name, Value: godbus.MakeVariant(true)})
	}
	all = append(all, systemd.Property{Name: "DefaultDependencies", Value: godbus.MakeVariant(false)})
	done := make(chan string, 1)
	_, err := u.conn.StartTransientUnitContext(ctx, slice, "replace", all, done)
	var known godbus.Error
	if errors.As(err, &known) && known.Name == "org.freedesktop.systemd1.UnitExists" {
		return u.Change(ctx, slice, properties)
	}
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case result := <-done:
		if result != "done" {
			return fmt.Errorf("the job of systemd ended as %s", result)
		}
		return nil
	}
}

// Change implements Units.
func (u units) Change(ctx context.Context, slice string, properties map[string]uint64) error {
	if len(properties) == 0 {
		return nil
	}
	return u.conn.SetUnitPropertiesContext(ctx, slice, true, list(properties)...)
}

// Stop implements Units.
func (u units) Stop(ctx context.Context, slice string) error {
	_, err := u.conn.StopUnitContext(ctx, slice, "replace", nil)
	return err
}
