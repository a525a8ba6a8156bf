package leaderelection

import (
	"context"
	"errors"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Record is who holds a lease, and since when.
type Record struct {
	// HolderIdentity is the holder's Identity, empty if the lease is free.
	HolderIdentity string
	// LeaseDuration is how long others wait after they observed a change of the
	// record before they take the lease. Whole seconds.
	LeaseDuration time.Duration
	// AcquireTime is when the holder took the lease, on its clock. Microseconds.
	AcquireTime time.Time
	// RenewTime is when the holder last renewed it, on its clock. Microseconds.
	RenewTime time.Time
	// LeaderTransitions counts how often the lease was taken, from 0.
	LeaderTransitions int32
	// PreferredHolder is the candidate for which the holder of a coordinated election should
	// release the lease, see Options.Coordinated; empty if there is none. Writes do not set it.
	PreferredHolder string
	// Version is the store's version of the record, opaque. An Update succeeds
	// only if it is still the current one. Create ignores it.
	Version string
}

// same reports whether two records come from the same write.
func (r Record) same(o Record) bool {
	return r.HolderIdentity == o.HolderIdentity && r.LeaderTransitions == o.LeaderTransitions &&
		r.LeaseDuration == o.LeaseDuration && r.AcquireTime.Equal(o.AcquireTime) && r.RenewTime.Equal(o.RenewTime)
}

// Errors a Lock returns, wrapped or not. All others are retried.
var (
	// ErrNotFound: there is no record.
	ErrNotFound = errors.New("lease not found")
	// ErrConflict: the record is not the one the caller last read, or, for Create,
	// one exists already.
	ErrConflict = errors.New("lease was changed by another")
)

// Lock stores one record that all candidates share. Writes are guarded: of two
// concurrent ones based on the same version at most one succeeds. All methods
// return soon after ctx ends. Package locktest has a test suite for Locks.
type Lock interface {
	// Key names the lease, in logs and fence tokens.
	Key() types.NamespacedName
	// Get returns the current record, never a stale one, or ErrNotFound.
	Get(ctx context.Context) (Record, error)
	// Create stores the first record, or fails with ErrConflict if there is one.
	// It returns the record with its version.
	Create(ctx context.Context, r Record) (Record, error)
	// Update replaces the record if its version is still r.Version, else it fails
	// with ErrConflict, or ErrNotFound. It returns r with the new version.
	Update(ctx context.Context, r Record) (Record, error)
}

// Watcher is a Lock that can wait for changes of the record, so that a released
// lease is taken at once and candidates need not poll.
type Watcher interface {
	Lock
	// Wait blocks until the record's version differs from last.Version and returns
	// the record, or ErrNotFound when it was deleted. It may return without a
	// change. It fails when ctx ends, and with errors.ErrUnsupported if the record
	// cannot be watched, for example without permission; then candidates poll.
	Wait(ctx context.Context, last Record) (Record, error)
}

// EventRecorder is a Lock that can record events about changes of leadership.
type EventRecorder interface {
	// Event records that the holder became the leader or stopped leading;
	// message is for example "pod-1 became leader". It must not block.
	Event(message string)
}

// Fencer is a Lock that can report whether its server checks fence tokens.
type Fencer interface {
	// Fenced reports whether a reply of the server has shown that it does.
	Fenced() bool
}

// ServerNamer is a Lock that can name the server that stores it. The token in the context of the led work is
// then for that server only, so that a leader may write to other clusters.
type ServerNamer interface {
	// Server returns the name that connections report with fence.Sent, or "" before the first reply.
	Server() string
}
