package kubelet_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/controllers/kubelet"
)

// host is a simulated machine that is short of nothing until a test changes it.
type host struct {
	mu     sync.Mutex
	memory func() uint64 // what is available; nil: half of it
	// images is the file system of paths below /images, node that of all others.
	images, node func() uint64 // what is available; nil: half of it
	running      uint64        // processes
	// watching makes directories watchable; changed is called for a change in the one that is.
	watching bool
	changed  func()
	// alarms are those of the groups' memory that are set, by directory.
	alarms map[string]alarm
}

// alarm is one of a group's memory.
type alarm struct {
	workingSet uint64
	crossed    func()
}

const (
	gi       = uint64(1) << 30
	hostSize = 100 * gi // of each file system
)

func (h *host) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

func (h *host) get(of *func() uint64, otherwise uint64) uint64 {
	h.mu.Lock()
	f := *of
	h.mu.Unlock()
	if f != nil {
		return f()
	}
	return otherwise
}

// Memory implements kubelet.Host.
func (h *host) Memory() (total, available uint64) { return 8 * gi, h.get(&h.memory, 4*gi) }

// Disk implements kubelet.Host.
func (h *host) Disk(path string) (kubelet.Disk, error) {
	if strings.HasPrefix(path, "/images") {
		return kubelet.Disk{Device: "images", Capacity: hostSize, Available: h.get(&h.images, hostSize/2)}, nil
	}
	return kubelet.Disk{Device: "node", Capacity: hostSize, Available: h.get(&h.node, hostSize/2), Inodes: 1000, AvailableInodes: 500}, nil
}

// PIDs implements kubelet.Host.
func (h *host) PIDs() (most, running uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return 1000, h.running
}

// MemoryAlarm implements kubelet.Host. Crossings are those that a test reports.
func (h *host) MemoryAlarm(ctx context.Context, dir string, workingSet uint64, crossed func()) error {
	h.set(func() {
		if h.alarms == nil {
			h.alarms = map[string]alarm{}
		}
		h.alarms[dir] = alarm{workingSet, crossed}
	})
	<-ctx.Done()
	return ctx.Err()
}

// CPU implements kubelet.Host.
func (h *host) CPU() uint64 { return 1e9 }

// Started implements kubelet.Host: a minute before the bubbles begin.
func (h *host) Started() time.Time { return time.Date(1999, 12, 31, 23, 59, 0, 0, time.UTC) }

// WatchDir implements kubelet.Host. Changes are those that a test reports with touch.
func (h *host) WatchDir(ctx context.Context, _ string, changed func()) error {
	h.mu.Lock()
	watching := h.watching
	h.changed = changed
	h.mu.Unlock()
	if !watching {
		return errors.ErrUnsupported
	}
	changed()
	<-ctx.Done()
	return ctx.Err()
}

// touch reports a change in the directory that is watched.
func (h *host) touch() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed()
}
