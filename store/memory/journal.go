package memory

import (
	"errors"
	"iter"
	"time"

	"github.com/keelson-dev/keelson/store"
)

// Journal keeps the commits of one Store. Its methods may be called concurrently, Append one call at a time.
type Journal interface {
	// Append takes the next commit. It must not wait for a disk, because it blocks all writers of the store.
	Append(Entry)
	// Sync returns when every commit up to revision is durable. An error is final: commits that were not
	// synced may or may not be found after a restart, and the store refuses all further writes.
	Sync(revision int64) error
}

// Entry is one commit, for a Journal. It is immutable.
type Entry struct {
	Revision int64
	Changes  []Change
}

// Change is the change of one key.
type Change struct {
	Type  store.EventType
	Key   string
	Value []byte // of a Put
	// Deadline is when the key expires, as a wall time; zero: never.
	Deadline time.Time
}

// unsynced is a commit that the journal has not synced, and the state after it.
type unsynced struct {
	commit *commit
	after  *state
}

var errJournal = errors.New("memory: the journal failed")

func entry(c *commit, ttl deadlines) Entry {
	e := Entry{Revision: c.revision, Changes: make([]Change, len(c.events))}
	for i, ev := range c.events {
		e.Changes[i] = Change{Type: ev.Type, Key: ev.KV.Key, Value: ev.KV.Value}
		if ev.Type == store.Put {
			e.Changes[i].Deadline, _ = ttl.byKey.Get(ev.KV.Key)
		}
	}
	return e
}

// awaitSync returns when the commits up to revision are durable and visible. op names the waiting operation.
func (s *Store) awaitSync(revision int64, op string) error {
	if s.opts.Journal == nil || revision <= s.state.Load().revision {
		return nil
	}
	err := s.opts.Journal.Sync(revision)
	var interested []*logReader
	s.mu.Lock()
	if err != nil {
		s.failed = true
	}
	for err == nil && len(s.unsynced) > 0 && s.unsynced[0].commit.revision <= revision {
		interested = s.publish(s.unsynced[0].commit, s.unsynced[0].after, interested)
		s.unsynced[0], s.unsynced = unsynced{}, s.unsynced[1:]
	}
	s.mu.Unlock()
	wakeAll(interested)
	if err != nil {
		return &store.UnavailableError{Op: op, MaybeApplied: op == "write", Err: err}
	}
	return nil
}

// Restore returns a store with items, each with its deadline, as of revision, to which the commits of entries
// have been applied, with the revisions that follow. The entries are also its history. The keys of items are
// unique and their revisions at most revision.
func Restore(revision int64, items iter.Seq2[store.KV, time.Time], entries iter.Seq[Entry], opts Options) *Store {
	initial := &state{revision: revision}
	edit := initial.items.Edit()
	for kv, deadline := range items {
		edit.Set(kv.Key, &kv)
		initial.ttl = initial.ttl.set(kv.Key, deadline)
	}
	initial.items = edit.Map()
	s := newStore(opts, initial)
	s.mu.Lock()
	defer s.mu.Unlock()
	journal := s.opts.Journal
	s.opts.Journal = nil
	for e := range entries {
		s.replay(e)
	}
	s.opts.Journal = journal
	s.startExpiry(&state{})
	return s
}

// replay applies a commit of an earlier process. Called with mu held.
func (s *Store) replay(e Entry) {
	ops := make([]store.Op, len(e.Changes))
	for i, c := range e.Changes {
		ops[i] = store.Op{Type: store.OpUpdate, Key: c.Key, Value: c.Value}
		if c.Type == store.Delete {
			ops[i].Type = store.OpDelete
		}
	}
	s.commit(ops, time.Time{}, nil)
	for _, c := range e.Changes {
		if !c.Deadline.IsZero() {
			s.head.ttl = s.head.ttl.set(c.Key, c.Deadline) // this state is not visible yet
		}
	}
}
