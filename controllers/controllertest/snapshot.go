package controllertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

// Snapshot is the complete state of a cluster at one moment: objects, revisions, keys and the time. It is
// plain data that can be used in other bubbles any number of times. The zero value is an empty cluster.
type Snapshot struct {
	store  memory.Snapshot
	at     time.Time
	bubble bool // made in a bubble: at is virtual time
	keys   keys
	image  *controlplane.Image // nil if it was taken while something was written
	schema served
}

// Snapshot returns the current state. Call it after Settle; otherwise it may or may not contain the writes in
// progress.
func (c *Cluster) Snapshot() Snapshot {
	s := Snapshot{store: c.store.Snapshot(), at: time.Now().Round(0), bubble: c.bubble, keys: c.pki.made(), schema: c.schema}
	s.image = c.server.Image(context.Background(), s.store.Revision())
	return s
}

// usable returns why a cluster in or outside a bubble cannot continue from s, and otherwise waits until the
// time of the snapshot.
func (s Snapshot) usable(bubble bool) error {
	if s.bubble && !bubble {
		return fmt.Errorf("the snapshot was made in a bubble, at %s: use it in one", s.at.Format(time.DateOnly))
	}
	if wait := time.Until(s.at); bubble && wait > 0 {
		time.Sleep(wait)
	}
	return nil
}

// Revision returns the store's revision of the snapshot.
func (s Snapshot) Revision() int64 { return s.store.Revision() }

// Time returns the time of the snapshot.
func (s Snapshot) Time() time.Time { return s.at }

// Restore makes the content of the cluster that of an earlier snapshot of it, or of a cluster that it
// continues, as after a backup was restored: revisions go on, every watch ends, and clients list again. That
// takes some time: call [Cluster.Sleep]. Objects and keys whose time to live has passed meanwhile end. In a
// bubble, time passes until the server has read the restored content, less than a second.
func (c *Cluster) Restore(s Snapshot) {
	c.t.Helper()
	c.running()
	revision, err := c.restore(s)
	if err != nil {
		c.t.Fatalf("controllertest: Restore: %v", err)
	}
	running := map[schema.GroupResource]bool{}
	for _, cache := range c.server.Registry().Caches() {
		running[cache.Resource] = true
	}
	for _, r := range c.server.Registry().Resources() {
		if !running[r.Stored()] {
			continue
		}
		if _, err := r.Snapshot(c.context(), registry.Freshness{AtLeast: revision}); err != nil {
			c.t.Fatalf("controllertest: Restore: read %s: %v", r.GroupResource(), err)
		}
	}
}

func (c *cluster) restore(s Snapshot) (int64, error) {
	switch {
	case s.keys.account == nil:
		return 0, errors.New("the snapshot is empty")
	case s.keys.account != c.pki.made().account:
		return 0, errors.New("the snapshot is of another cluster: use StartFrom")
	case s.bubble != c.bubble:
		return 0, errors.New("the snapshot was made in a bubble and the cluster is in none, or the other way around")
	}
	return c.store.Restore(s.store)
}

// StartFrom starts a cluster that continues from a snapshot, with the same objects, keys and revisions and,
// in a bubble, at the snapshot's time. A snapshot made in a bubble can be used in bubbles only, because
// leases, events and everything else with an expiry would have expired outside. CRDs and Manifests of Options
// are not created, because they are in the snapshot; definitions that differ from it, and kinds of
// Options.Server that it lacks, fail the test. A subtest uses it in its own bubble: t.Run, then
// synctest.Test, then StartFrom.
func StartFrom(t testing.TB, s Snapshot, opts Options) *Cluster {
	t.Helper()
	return start(t, opts, s)
}
