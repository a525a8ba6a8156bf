package kubelet

import (
	"context"
	"time"
)

// Watchdog is a supervisor that ends a process from which it has not heard for too long, such as systemd with
// WatchdogSec.
type Watchdog struct {
	// Notify shows the supervisor that the kubelet works.
	Notify func() error
	// Interval is the time between calls of Notify: half of the time after which the supervisor acts.
	Interval time.Duration
}

// run notifies the supervisor while the kubelet starts and while it is healthy.
func (w *Watchdog) run(ctx context.Context, k *Kubelet) {
	for {
		if err := k.Healthy(); err != nil && k.progress.started() {
			k.log.Warn("the watchdog is not notified, because the kubelet is not healthy", "err", err)
		} else if err := w.Notify(); err != nil {
			k.log.Warn("notify the watchdog failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.Interval):
		}
	}
}
