package controllertest

import (
	"reflect"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

// booted is the state of a new cluster of default options at the beginning of a bubble, which is the same for
// all of a process: the first one is started from nothing, the others from it.
var booted struct {
	mu    sync.Mutex
	state Snapshot
}

// bubbleBegin is the time at which every bubble begins.
var bubbleBegin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// boots reports whether the cluster's state after the start is that of all new clusters.
func (c *cluster) boots() bool {
	so := c.opts.Server
	// These do not change which objects every cluster has.
	so.BookmarkInterval, so.Intercept, so.Logger, so.Nodes, so.Backends = 0, nil, nil, nil, nil
	return c.bubble && time.Since(bubbleBegin) < time.Second && reflect.ValueOf(so).IsZero() &&
		len(c.opts.Plugins)+len(c.opts.EnableAdmission)+len(c.opts.DisableAdmission) == 0
}

// newState returns the state from which a new cluster starts: empty, unless another one has started before.
func (c *cluster) newState() (store memory.Snapshot, image *controlplane.Image) {
	if !c.boots() {
		return store, nil
	}
	booted.mu.Lock()
	defer booted.mu.Unlock()
	return booted.state.store, booted.state.image
}

// keepState makes other clusters start from the state of this one, which has just started from nothing.
func (c *Cluster) keepState() {
	if !c.boots() || c.settle() != "" {
		return
	}
	if s := c.Snapshot(); s.image != nil && s.at.Equal(bubbleBegin) {
		booted.mu.Lock()
		defer booted.mu.Unlock()
		booted.state = s
	}
}
