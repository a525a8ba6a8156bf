package cgroup

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"testing/synctest"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"
)

// fakeBus is a connection to a systemd that has all units or none.
type fakeBus struct {
	calls  []string
	closed bool
	exists bool
	failed bool   // the unit has failed before
	result string // of jobs; empty means done
	silent bool   // jobs do not end
}

func (b *fakeBus) call(name string) error {
	if b.closed {
		return godbus.ErrClosed
	}
	b.calls = append(b.calls, name)
	return nil
}

func (b *fakeBus) StartTransientUnitContext(_ context.Context, name, _ string, _ []systemd.Property, done chan<- string) (int, error) {
	if err := b.call("start " + name); err != nil {
		return 0, err
	}
	if b.exists || b.failed {
		return 0, godbus.Error{Name: "org.freedesktop.systemd1.UnitExists"}
	}
	if !b.silent {
		done <- cmp.Or(b.result, "done")
	}
	return 1, nil
}

func (b *fakeBus) SetUnitPropertiesContext(_ context.Context, name string, _ bool, _ ...systemd.Property) error {
	return b.call("change " + name)
}

func (b *fakeBus) StopUnitContext(_ context.Context, name, _ string, _ chan<- string) (int, error) {
	return 1, b.call("stop " + name)
}

func (b *fakeBus) ResetFailedUnitContext(_ context.Context, name string) error {
	b.failed = false
	return b.call("reset " + name)
}

func (b *fakeBus) Connected() bool { return !b.closed }
func (b *fakeBus) Close()          { b.closed = true }

// endingBus ends with the call that it gets.
type endingBus struct{ fakeBus }

func (b *endingBus) SetUnitPropertiesContext(context.Context, string, bool, ...systemd.Property) error {
	b.closed = true
	return errors.New("end of file")
}

// The message bus may be restarted before a call and during one.
func TestUnitsOutliveTheirConnection(t *testing.T) {
	buses := []bus{&fakeBus{}, &endingBus{}, &fakeBus{exists: true}}
	first, last := buses[0].(*fakeBus), buses[2].(*fakeBus)
	u := &units{connect: func() (bus, error) {
		if len(buses) == 0 {
			return nil, errors.New("no bus")
		}
		b := buses[0]
		buses = buses[1:]
		return b, nil
	}}
	ctx, cpu := t.Context(), map[string]uint64{"CPUWeight": 1}
	require.NoError(t, u.Start(ctx, "a.slice", cpu))
	require.NoError(t, u.Change(ctx, "a.slice", cpu))
	first.closed = true
	require.NoError(t, u.Change(ctx, "a.slice", cpu))
	require.NoError(t, u.Start(ctx, "b.slice", cpu))
	require.NoError(t, u.Stop(ctx, "b.slice"))
	require.Equal(t, []string{"start a.slice", "change a.slice"}, first.calls)
	require.Equal(t, []string{"change a.slice", "start b.slice", "reset b.slice", "start b.slice", "change b.slice", "stop b.slice", "reset b.slice"}, last.calls)
	last.closed = true
	require.EqualError(t, u.Stop(ctx, "b.slice"), "connect to systemd: no bus")
}

// A job whose end is never announced holds up its pod for 30 s.
func TestJobsOfSystemdMayBeLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &units{connect: func() (bus, error) { return &fakeBus{silent: true}, nil }}
		require.EqualError(t, u.Start(t.Context(), "a.slice", nil), "the job of systemd has not ended within 30s")
	})
}

// A unit that has failed keeps its name until it is reset. So it is when it is started again, when its job
// fails, and when it is stopped.
func TestFailedUnitsAreReset(t *testing.T) {
	b := &fakeBus{failed: true}
	u := &units{connect: func() (bus, error) { return b, nil }}
	require.NoError(t, u.Start(t.Context(), "a.slice", nil))
	require.Equal(t, []string{"start a.slice", "reset a.slice", "start a.slice"}, b.calls)
	b.calls, b.result = nil, "failed"
	require.EqualError(t, u.Start(t.Context(), "b.slice", nil), "the job of systemd ended as failed")
	require.NoError(t, u.Stop(t.Context(), "b.slice"))
	require.Equal(t, []string{"start b.slice", "reset b.slice", "stop b.slice", "reset b.slice"}, b.calls)
}
