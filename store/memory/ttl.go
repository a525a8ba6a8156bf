package memory

import (
	"encoding/binary"
	"time"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/ordered"
)

// deadlines are the times at which keys expire. It is immutable, like the rest of a state, so that a snapshot
// contains it.
type deadlines struct {
	byTime ordered.Map[string]    // big-endian Unix nanoseconds and key -> key
	byKey  ordered.Map[time.Time] // key -> deadline
}

func timeKey(at time.Time, key string) string {
	return string(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), uint64(at.UnixNano()))) + key
}

// set sets the deadline of key; the zero time removes it.
func (d deadlines) set(key string, at time.Time) deadlines {
	old, had := d.byKey.Get(key)
	if !had && at.IsZero() {
		return d
	}
	byTime, byKey := d.byTime.Edit(), d.byKey.Edit()
	if had {
		byTime.Delete(timeKey(old, key))
		byKey.Delete(key)
	}
	if !at.IsZero() {
		byTime.Set(timeKey(at, key), key)
		byKey.Set(key, at)
	}
	return deadlines{byTime: byTime.Map(), byKey: byKey.Map()}
}

// first returns the earliest deadline.
func (d deadlines) first() (time.Time, bool) {
	for _, key := range d.byTime.Range("", "") {
		at, _ := d.byKey.Get(key)
		return at, true
	}
	return time.Time{}, false
}

// due returns the keys whose deadlines have passed, at most as many as one transaction takes.
func (d deadlines) due(now time.Time) []string {
	var keys []string
	for _, key := range d.byTime.Range("", timeKey(now, "\xff")) {
		if keys = append(keys, key); len(keys) == store.MaxTxnOps {
			break
		}
	}
	return keys
}

// startExpiry starts the expiry goroutine when the first deadline appears, and reports whether a running one
// must check the deadlines again. Called with mu held, after a commit.
func (s *Store) startExpiry(before *state) bool {
	at, ok := s.head.ttl.first()
	if !ok {
		return false
	}
	if !s.expiring {
		s.expiring = true
		s.tasks.Go(s.expire)
		return false
	}
	old, had := before.ttl.first()
	return !had || at.Before(old)
}

// expire deletes keys at their deadlines and returns when no key has one, or at Close.
func (s *Store) expire() {
	for {
		at, ok := s.nextDeadline()
		if !ok {
			return
		}
		timer := time.NewTimer(time.Until(at))
		select {
		case <-timer.C:
			s.deleteDue()
		case <-s.sooner:
		case <-s.done:
		}
		timer.Stop()
	}
}

func (s *Store) nextDeadline() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.head.ttl.first()
	if !ok || s.closed || s.failed {
		s.expiring = false
		return time.Time{}, false
	}
	return at, true
}

func (s *Store) deleteDue() {
	var interested []*logReader
	var revision int64
	s.mu.Lock()
	if keys := s.head.ttl.due(time.Now()); len(keys) > 0 && !s.closed {
		ops := make([]store.Op, len(keys))
		for i, key := range keys {
			ops[i] = store.DeleteOp(key, store.AnyRevision)
		}
		revision, interested = s.commit(ops, time.Time{}, nil)
	}
	s.mu.Unlock()
	wakeAll(interested)
	_ = s.awaitSync(revision, "write") // the next write returns the error
}
