package memory

import (
	"context"
	"time"

	"github.com/keelson-dev/keelson/store"
)

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, key string, value []byte, opts store.WriteOptions) (int64, error) {
	return s.one(ctx, store.Op{Type: store.OpCreate, Key: key, Value: value, TTL: opts.TTL}, opts.Guards)
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, key string, value []byte, expected int64, opts store.WriteOptions) (int64, error) {
	return s.one(ctx, store.Op{Type: store.OpUpdate, Key: key, Value: value, Expected: expected, TTL: opts.TTL}, opts.Guards)
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string, expected int64, opts store.WriteOptions) (int64, error) {
	return s.one(ctx, store.Op{Type: store.OpDelete, Key: key, Expected: expected}, opts.Guards)
}

func (s *Store) one(ctx context.Context, op store.Op, guards []store.Guard) (int64, error) {
	return s.Txn(ctx, []store.Op{op}, guards)
}

// Txn implements store.Store.
func (s *Store) Txn(ctx context.Context, ops []store.Op, guards []store.Guard) (int64, error) {
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	if err := store.ValidateTxnWithin(s.opts.TxnOps, ops, guards); err != nil {
		return 0, err
	}
	if err := s.checkSize(ops); err != nil {
		return 0, err
	}
	var now time.Time
	for _, op := range ops {
		if op.TTL > 0 {
			now = time.Now()
		}
	}
	var buf [8]*logReader
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return 0, store.ErrClosed
	}
	if s.failed {
		s.mu.Unlock()
		return 0, &store.UnavailableError{Op: "write", Err: errJournal}
	}
	before := s.head
	refused := before.check(ops, guards)
	if refused != nil || len(ops) == 0 {
		s.mu.Unlock()
		// The result depends on commits that must be durable first.
		if err := s.awaitSync(before.revision, "read"); err != nil {
			return 0, err
		}
		return before.revision, refused
	}
	revision, interested := s.commit(ops, now, buf[:0])
	sooner := s.startExpiry(before)
	s.mu.Unlock()
	wakeAll(interested)
	if sooner {
		s.sooner.Set()
	}
	return revision, s.awaitSync(revision, "write")
}

func (s *Store) checkSize(ops []store.Op) error {
	if s.opts.MaxBytes < 0 {
		return nil
	}
	size := 0
	for _, op := range ops {
		size += len(op.Key) + len(op.Value)
	}
	if size > s.opts.MaxBytes {
		return &store.TooLargeError{Bytes: size, Limit: s.opts.MaxBytes}
	}
	return nil
}

// check checks the guards and the operations against the state.
func (st *state) check(ops []store.Op, guards []store.Guard) error {
	for _, g := range guards {
		if current := st.copyOf(g.Key); !g.Holds(current) {
			return &store.GuardError{Guard: g, Current: current}
		}
	}
	for _, op := range ops {
		kv, _ := st.items.Get(op.Key)
		if op.Check(kv) != nil {
			return op.Check(st.copyOf(op.Key)) // the caller owns the KV in the error
		}
	}
	return nil
}

func (st *state) copyOf(key string) *store.KV {
	kv, ok := st.items.Get(key)
	if !ok {
		return nil
	}
	c := *kv
	return &c
}

// commit applies operations that passed check as the next revision. With a journal they become visible in
// awaitSync, without one at once. Called with mu held; the readers it returns are woken after mu is released.
func (s *Store) commit(ops []store.Op, now time.Time, interested []*logReader) (int64, []*logReader) {
	st := s.head
	next := &state{ttl: st.ttl, revision: st.revision + 1}
	c := &commit{revision: next.revision, events: make([]store.Event, len(ops))}
	edit := st.items.Edit()
	for i, op := range ops {
		var e store.Event
		if op.Type == store.OpDelete {
			e = store.Event{Type: store.Delete, KV: store.KV{Key: op.Key, Revision: next.revision}}
			e.Prev, _ = edit.Delete(op.Key)
			next.ttl = next.ttl.set(op.Key, time.Time{})
		} else {
			kv := &store.KV{Key: op.Key, Value: op.Value, Revision: next.revision, CreateRevision: next.revision}
			if prev, had := edit.Get(op.Key); had {
				kv.Key, kv.CreateRevision = prev.Key, prev.CreateRevision // one key string for all versions
			}
			prev, _ := edit.Set(kv.Key, kv)
			e = store.Event{Type: store.Put, KV: *kv, Prev: prev}
			next.ttl = next.ttl.set(op.Key, deadline(now, op.TTL))
		}
		c.events[i] = e
	}
	next.items = edit.Map()
	s.head = next
	if s.opts.Journal != nil {
		s.opts.Journal.Append(entry(c, next.ttl))
		s.unsynced = append(s.unsynced, unsynced{c, next})
		return next.revision, interested
	}
	return next.revision, s.publish(c, next, interested)
}

// publish makes a commit visible. Called with mu held; the readers it returns are woken after mu is released.
func (s *Store) publish(c *commit, next *state, interested []*logReader) []*logReader {
	s.log.add(c, next.items, s.opts)
	s.state.Store(next)
	for prefix, group := range s.readers {
		if c.matching(prefix) == 0 {
			continue
		}
		for r := range group {
			if r.notice(c) {
				interested = append(interested, r)
			}
		}
	}
	return interested
}

func deadline(now time.Time, ttl time.Duration) time.Time {
	if ttl <= 0 {
		return time.Time{}
	}
	return now.Add(ttl).Round(0) // without a monotonic reading: plain data for any clock
}
