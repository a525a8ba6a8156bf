package main

import (
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/keelson-dev/keelson/controllers/kubelet"
)

// shortestWatchdog is the shortest WatchdogSec of the unit.
const shortestWatchdog = time.Second

// watchdog is that of systemd, if this process runs as a unit with WatchdogSec; else nil.
func watchdog() (*kubelet.Watchdog, error) {
	within, err := daemon.SdWatchdogEnabled(false)
	switch {
	case err != nil:
		return nil, fmt.Errorf("watchdog of systemd: %w", err)
	case within == 0:
		return nil, nil //nolint:nilnil // there is none
	case within <= shortestWatchdog:
		return nil, fmt.Errorf("watchdog of systemd: %v is too short, it must be more than %v", within, shortestWatchdog)
	}
	return &kubelet.Watchdog{Interval: within / 2, Notify: func() error { return notify(daemon.SdNotifyWatchdog) }}, nil
}

// notify sends systemd a state of this process. Without systemd nothing is sent.
func notify(state string) error {
	_, err := daemon.SdNotify(false, state)
	return err
}
