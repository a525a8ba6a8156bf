// Package locktest helps to test leader election: a lease store in memory whose
// requests can be made to fail, stall or lose their reply, and a suite that
// checks an implementation of leaderelection.Lock.
package locktest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/leaderelection"
)

// ErrUnavailable is returned by a dropped request.
var ErrUnavailable = errors.New("locktest: server unavailable")

// Store keeps one lease for any number of candidates. Create it with NewStore.
type Store struct {
	key types.NamespacedName

	mu      sync.Mutex
	exists  bool
	record  leaderelection.Record
	writer  *Lock         // of record
	ahead   time.Duration // the writer's clock was, then
	version int
	changed chan struct{} // closed and replaced at every change
}

// NewStore makes an empty store for the lease of that name.
func NewStore(namespace, name string) *Store {
	return &Store{
		key:     types.NamespacedName{Namespace: namespace, Name: name},
		changed: make(chan struct{}),
	}
}

// Record returns what the store holds now, and whether it holds anything.
func (s *Store) Record() (leaderelection.Record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record, s.exists
}

// Delete removes the lease, as a user may do.
func (s *Store) Delete() {
	s.mu.Lock()
	s.exists, s.record = false, leaderelection.Record{}
	done := s.bump()
	s.mu.Unlock()
	close(done)
}

// Touch changes the version and nothing else, as an annotation would.
func (s *Store) Touch() {
	s.mu.Lock()
	done := s.bump()
	s.record.Version = strconv.Itoa(s.version)
	s.mu.Unlock()
	close(done)
}

// Lock is one candidate's access to the store.
func (s *Store) Lock() *Lock { return &Lock{store: s} }

// bump starts a new version and returns the channel to close when it is visible.
func (s *Store) bump() chan struct{} {
	s.version++
	done := s.changed
	s.changed = make(chan struct{})
	return done
}

// get returns the record with its times by the clock of l, unchanged if l wrote them.
func (s *Store) get(l *Lock) (leaderelection.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.exists {
		return leaderelection.Record{}, leaderelection.ErrNotFound
	}
	if s.writer == l {
		return shift(s.record, s.ahead), nil
	}
	return shift(s.record, l.ahead()), nil
}

// put writes r, whose times are those of a clock that is ahead.
func (s *Store) put(l *Lock, r leaderelection.Record, ahead time.Duration, create bool) (leaderelection.Record, error) {
	s.mu.Lock()
	switch {
	case !create && !s.exists:
		s.mu.Unlock()
		return leaderelection.Record{}, leaderelection.ErrNotFound
	case create && s.exists, !create && r.Version != s.record.Version:
		s.mu.Unlock()
		return leaderelection.Record{}, leaderelection.ErrConflict
	}
	done := s.bump()
	r.Version = strconv.Itoa(s.version)
	s.record, s.exists = shift(r, -ahead), true
	s.writer, s.ahead = l, ahead
	s.mu.Unlock()
	close(done)
	return r, nil
}

// Fault describes how one request fails. The zero value is no fault.
type Fault struct {
	// Before is how long the request takes to reach the store. If its context
	// ends first it fails, and reaches the store only if Late is set.
	Before time.Duration
	Late   bool
	// Drop: it never reaches the store and fails with ErrUnavailable.
	Drop bool
	// After is how long the reply takes.
	After time.Duration
	// Lose: the request has its effect but fails with ErrUnavailable.
	Lose bool
}

// Lock implements leaderelection.Lock over a Store. Its fields may be set before
// it is used.
type Lock struct {
	store *Store

	// Fault, if not nil, is called before every request (get, create, update, wait)
	// and returns how it fails.
	Fault func(op string) Fault
	// Skew is how far this candidate's clock is initially ahead of the store's.
	Skew time.Duration
	// Events receives the messages of Event, if not nil.
	Events func(message string)
	// Enforced is what Fenced returns.
	Enforced bool

	jumped atomic.Int64
}

// Jump sets this candidate's clock forward by d, or back. It may be called at any time.
func (l *Lock) Jump(d time.Duration) { l.jumped.Add(int64(d)) }

// ahead is how far this candidate's clock is ahead of the store's.
func (l *Lock) ahead() time.Duration { return l.Skew + time.Duration(l.jumped.Load()) }

// Key implements leaderelection.Lock.
func (l *Lock) Key() types.NamespacedName { return l.store.key }

// Get implements leaderelection.Lock.
func (l *Lock) Get(ctx context.Context) (leaderelection.Record, error) {
	return l.do(ctx, "get", func() (leaderelection.Record, error) { return l.store.get(l) })
}

// Create implements leaderelection.Lock.
func (l *Lock) Create(ctx context.Context, r leaderelection.Record) (leaderelection.Record, error) {
	ahead := l.ahead()
	return l.do(ctx, "create", func() (leaderelection.Record, error) { return l.store.put(l, r, ahead, true) })
}

// Update implements leaderelection.Lock.
func (l *Lock) Update(ctx context.Context, r leaderelection.Record) (leaderelection.Record, error) {
	ahead := l.ahead()
	return l.do(ctx, "update", func() (leaderelection.Record, error) { return l.store.put(l, r, ahead, false) })
}

// Event implements leaderelection.EventRecorder.
func (l *Lock) Event(message string) {
	if l.Events != nil {
		l.Events(message)
	}
}

// Fenced implements leaderelection.Fencer.
func (l *Lock) Fenced() bool { return l.Enforced }

// shift adds d to the times of a record.
func shift(r leaderelection.Record, d time.Duration) leaderelection.Record {
	r.AcquireTime, r.RenewTime = r.AcquireTime.Add(d), r.RenewTime.Add(d)
	return r
}

func (l *Lock) do(ctx context.Context, op string, effect func() (leaderelection.Record, error)) (leaderelection.Record, error) {
	none := leaderelection.Record{}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	var f Fault
	if l.Fault != nil {
		f = l.Fault(op)
	}
	start := time.Now()
	if err := backoff.Sleep(ctx, f.Before); err != nil {
		if f.Late {
			time.AfterFunc(f.Before-time.Since(start), func() { _, _ = effect() })
		}
		return none, err
	}
	if f.Drop {
		return none, ErrUnavailable
	}
	r, err := effect()
	if f.After > 0 {
		if err := backoff.Sleep(ctx, f.After); err != nil {
			return none, err
		}
	}
	if f.Lose {
		return none, ErrUnavailable
	}
	return r, err
}

// Watched is a Lock that implements leaderelection.Watcher.
type Watched struct{ *Lock }

// Wait implements leaderelection.Watcher. A dropped wait fails; one with Lose set
// is a dead connection: it never reports a change.
func (w Watched) Wait(ctx context.Context, last leaderelection.Record) (leaderelection.Record, error) {
	var f Fault
	if w.Fault != nil {
		f = w.Fault("wait")
	}
	if err := backoff.Sleep(ctx, f.Before); err != nil {
		return leaderelection.Record{}, err
	}
	if f.Drop {
		return leaderelection.Record{}, ErrUnavailable
	}
	for {
		w.store.mu.Lock()
		changed := w.store.changed
		w.store.mu.Unlock()
		r, err := w.store.get(w.Lock)
		switch {
		case f.Lose:
			changed = nil
		case err != nil:
			return leaderelection.Record{}, err
		case r.Version != last.Version:
			return r, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return leaderelection.Record{}, ctx.Err()
		}
	}
}
