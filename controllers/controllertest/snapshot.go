package controllertest

import (
	"testing"
	"time"

	"github.com/keelson-dev/keelson/store/memory"
)

// Snapshot is the complete state of a cluster at one moment: objects, revisions, keys and the time. It is
// plain data that can be used in other bubbles any number of times. The zero value is an empty cluster.
type Snapshot struct {
	store       memory.Snapshot
	at          time.Time
	bubble      bool // made in a bubble: at is virtual time
	ca, account pem
}

type pem struct{ cert, key []byte }

// Snapshot returns the current state. Call it after Settle; otherwise it may or may not contain the writes in
// progress.
func (c *Cluster) Snapshot() Snapshot {
	return Snapshot{
		store: c.store.Snapshot(), at: time.Now().Round(0), bubble: c.bubble, ca: pem{c.pki.ca.CertPEM(), c.pki.ca.KeyPEM()},
		account: pem{c.pki.account.CertPEM(), c.pki.account.KeyPEM()},
	}
}

// Revision returns the store's revision of the snapshot.
func (s Snapshot) Revision() int64 { return s.store.Revision() }

// Time returns the time of the snapshot.
func (s Snapshot) Time() time.Time { return s.at }

// StartFrom starts a cluster that continues from a snapshot, with the same objects, keys and revisions and,
// in a bubble, at the snapshot's time. A snapshot made in a bubble can be used in bubbles only, because
// leases, events and everything else with an expiry would have expired outside. CRDs and Manifests of Options
// are ignored, because they are in the snapshot. A subtest uses it in its own bubble: t.Run, then
// synctest.Test, then StartFrom.
func StartFrom(t testing.TB, s Snapshot, opts Options) *Cluster {
	t.Helper()
	return start(t, opts, s)
}
