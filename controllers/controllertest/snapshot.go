package controllertest

import (
	"testing"
	"time"

	"github.com/keelson-dev/keelson/store/memory"
)

// Snapshot is a cluster's whole state at one moment: objects, revisions, keys and the time. It is plain data,
// so it may be kept by the test that made it and be used in other bubbles, any number of times. The zero
// value is an empty cluster.
type Snapshot struct {
	store       memory.Snapshot
	at          time.Time
	bubble      bool // it was made in one, where at is of a time of its own
	ca, account pem
}

type pem struct{ cert, key []byte }

// Snapshot returns the present state. Call it after Settle, or writes under way may be in it or not.
func (c *Cluster) Snapshot() Snapshot {
	return Snapshot{
		store: c.store.Snapshot(), at: time.Now().Round(0), bubble: c.bubble, ca: pem{c.pki.ca.CertPEM(), c.pki.ca.KeyPEM()},
		account: pem{c.pki.account.CertPEM(), c.pki.account.KeyPEM()},
	}
}

// Revision is the store's revision at the snapshot.
func (s Snapshot) Revision() int64 { return s.store.Revision() }

// Time is the moment of the snapshot.
func (s Snapshot) Time() time.Time { return s.at }

// StartFrom starts a cluster that goes on where the snapshot was taken: same objects, same keys, revisions
// and, in a bubble, time continued. A snapshot made in a bubble can be used in bubbles only, since all that
// ends at some time, such as leases and events, would have ended long ago outside. CRDs and Manifests of
// Options are ignored, for they are in the snapshot. A subtest uses it in a bubble of its own: t.Run, then
// synctest.Test, then StartFrom.
func StartFrom(t testing.TB, s Snapshot, o Options) *Cluster {
	t.Helper()
	return start(t, o, s)
}
