package memory

import (
	"errors"
	"iter"
	"time"

	"github.com/keelson-dev/keelson/store"
)

// Snapshot is the whole state of a Store at one revision: immutable plain data, without channels, timers or
// locks, so it may outlive its store and be passed from one testing/synctest bubble to another. The zero
// value is the state of an empty store.
type Snapshot struct{ st *state }

// Snapshot returns the current state. It copies nothing.
func (s *Store) Snapshot() Snapshot { return Snapshot{st: s.state.Load()} }

// NewFromSnapshot returns a store with the snapshot's keys, TTLs included, that continues its revisions.
// History before the snapshot is compacted.
func NewFromSnapshot(snapshot Snapshot, opts Options) *Store {
	if snapshot.st == nil {
		return New(opts)
	}
	s := newStore(opts, snapshot.st)
	s.mu.Lock()
	s.startExpiry(snapshot.st)
	s.mu.Unlock()
	return s
}

// Restore replaces the whole content by that of a snapshot, TTLs included, as of a new revision after all
// others, which it returns. Keys have the revisions that they have in the snapshot. History is dropped, as
// after a backup of etcd was restored with a raised revision: every watch ends with *store.ExpiredError, and
// its reader lists again. A store with a Journal cannot be restored.
func (s *Store) Restore(snapshot Snapshot) (int64, error) {
	if s.opts.Journal != nil {
		return 0, errors.New("memory: a store with a journal cannot be restored")
	}
	next := &state{revision: snapshot.Revision()}
	if snapshot.st != nil {
		next.items, next.ttl = snapshot.st.items, snapshot.st.ttl
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return 0, store.ErrClosed
	}
	before := s.head
	next.revision = max(next.revision, before.revision) + 1
	s.head = next
	s.log = log{floor: next.revision}
	s.state.Store(next)
	var interested []*logReader
	for _, group := range s.readers {
		for r := range group {
			if r.after < next.revision {
				r.pending = next.revision
				interested = append(interested, r)
			}
		}
	}
	sooner := s.startExpiry(before)
	s.mu.Unlock()
	wakeAll(interested)
	if sooner {
		s.sooner.Set()
	}
	return next.revision, nil
}

// Revision returns the revision of the snapshot.
func (s Snapshot) Revision() int64 {
	if s.st == nil {
		return 1
	}
	return s.st.revision
}

// Len returns the number of keys.
func (s Snapshot) Len() int {
	if s.st == nil {
		return 0
	}
	return s.st.items.Len()
}

// Deadline returns when a key expires; the zero time means never.
func (s Snapshot) Deadline(key string) time.Time {
	if s.st == nil {
		return time.Time{}
	}
	at, _ := s.st.ttl.byKey.Get(key)
	return at
}

// All iterates over the keys in ascending order.
func (s Snapshot) All() iter.Seq[store.KV] {
	return func(yield func(store.KV) bool) {
		if s.st == nil {
			return
		}
		for _, kv := range s.st.items.Range("", "") {
			if !yield(*kv) {
				return
			}
		}
	}
}
