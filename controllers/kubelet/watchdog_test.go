package kubelet_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// A supervisor hears from the kubelet while it starts and while it is healthy, and no more when the runtime
// hangs, so that it starts the kubelet again.
func TestWatchdog(t *testing.T) {
	var calls atomic.Int32
	var hang atomic.Bool
	bubble(t, func(r *rig) {
		r.rt.SetAway(true)
		r.opts.Watchdog = &kubelet.Watchdog{Interval: 10 * time.Second, Notify: func() error {
			calls.Add(1)
			return errors.New("lost") // the next one is sent all the same
		}}
		r.rt.Fault = func(string, any) fakecri.Fault {
			if hang.Load() {
				return fakecri.Hang
			}
			return 0
		}
	}, func(r *rig) {
		in := func(d time.Duration) int32 {
			before := calls.Load()
			time.Sleep(d)
			return calls.Load() - before
		}
		require.EqualValues(t, 1, calls.Load(), "at once")
		require.EqualValues(t, 1, in(10*time.Second), "the runtime is waited for")
		r.rt.SetAway(false)
		require.EqualValues(t, 60, in(10*time.Minute))
		hang.Store(true)
		time.Sleep(3*time.Minute + 10*time.Second)
		require.Zero(t, in(10*time.Minute))
		hang.Store(false)
		time.Sleep(3 * time.Minute)
		require.EqualValues(t, 6, in(time.Minute))
	})
}

func TestWatchdogOptions(t *testing.T) {
	for _, w := range []kubelet.Watchdog{{Interval: time.Second}, {Notify: func() error { return nil }}} {
		_, err := kubelet.New(nil, kubelet.Options{NodeName: "n1", RootDir: t.TempDir(), NoCgroups: true, Watchdog: &w})
		require.EqualError(t, err, "kubelet: Options.Watchdog needs Notify and Interval")
	}
}
