// Package memory is the storage contract in memory: immutable sorted snapshots, one
// writer at a time, readers without locks, and a bounded log of events for watches.
//
// A Store starts in microseconds and has no goroutine of its own until the first key
// with a TTL is written. It keeps every promise of package store but durability, which a Journal
// adds (store/file). History
// reaches back as far as its event log (Options): a watch from, or a list at, a
// revision that the log has lost ends with *store.ExpiredError. That is also the bound
// for slow watchers, because watches read from the log and have no buffers.
//
// Everything waits on channels and package time, so a Store works inside a
// testing/synctest bubble.
package memory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/ordered"
)

// Options bound a Store. The zero value has useful bounds.
type Options struct {
	// LogEvents is the number of events kept for watches and for lists at older
	// revisions. Zero means 65,536.
	LogEvents int
	// LogBytes bounds the keys and values of those events, in bytes. Zero means
	// 32 MiB. The last commit is always kept.
	LogBytes int
	// MaxBytes is the largest size of a write, keys and values together. Zero
	// means 1.5 MiB, the limit of etcd; negative means none.
	MaxBytes int
	// TxnOps is how many operations and guards a Txn takes. Zero, and all that is less, means
	// store.MaxTxnOps. What is written for more works over other stores no longer.
	TxnOps int
	// Journal, if not nil, makes commits durable: each is given to it and seen by nobody before the journal
	// has it. Package store/file is a store made this way.
	Journal Journal
}

func (o Options) withDefaults() Options {
	if o.LogEvents <= 0 {
		o.LogEvents = 1 << 16
	}
	if o.LogBytes <= 0 {
		o.LogBytes = 32 << 20
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 3 << 19
	}
	o.TxnOps = max(o.TxnOps, store.MaxTxnOps)
	return o
}

// state is everything a reader sees: immutable, swapped by the writer.
type state struct {
	items    ordered.Map[*store.KV]
	ttl      deadlines
	revision int64
}

// Store is a store.Store in memory.
type Store struct {
	options Options
	state   atomic.Pointer[state]
	origin  int64         // nothing has happened up to here
	done    chan struct{} // closed by Close
	tasks   sync.WaitGroup

	mu       sync.Mutex // guards what follows, and who may swap state
	closed   bool
	head     *state   // what the next write is judged by; newer than state by the commits in unseen
	failed   bool     // the journal has; nothing is written any more
	unseen   []unseen // commits the journal does not have yet; without a journal there are none
	log      log
	watchers map[string]map[*watcher]struct{} // by prefix
	expiring bool                             // the expiry goroutine runs
	sooner   chan struct{}                    // tells it that an earlier deadline was written
}

var _ store.Store = (*Store)(nil)

// New returns an empty store at revision 1, as a new etcd has.
func New(o Options) *Store {
	return newStore(o, &state{revision: 1})
}

func newStore(o Options, initial *state) *Store {
	s := &Store{
		options:  o.withDefaults(),
		done:     make(chan struct{}),
		log:      log{floor: initial.revision},
		watchers: map[string]map[*watcher]struct{}{},
		sooner:   make(chan struct{}, 1),
	}
	if initial.revision == 1 {
		s.origin = 1 // a watch from zero has missed nothing
	}
	s.state.Store(initial)
	s.head = initial
	return s
}

// check is the start of every method.
func (s *Store) check(ctx context.Context) error {
	select {
	case <-s.done:
		return store.ErrClosed
	default:
		return ctx.Err()
	}
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (store.KV, int64, error) {
	if err := s.check(ctx); err != nil {
		return store.KV{}, 0, err
	}
	st := s.state.Load()
	kv, ok := st.items.Get(key)
	if !ok {
		return store.KV{}, st.revision, fmt.Errorf("%w: %q", store.ErrNotFound, key)
	}
	return *kv, st.revision, nil
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix string, o store.ListOptions) (store.ListResult, error) {
	if err := s.check(ctx); err != nil {
		return store.ListResult{}, err
	}
	st := s.state.Load()
	items, revision := st.items, st.revision
	if o.Revision != 0 && o.Revision != revision {
		var err error
		if items, err = s.itemsAt(o.Revision); err != nil {
			return store.ListResult{}, err
		}
		revision = o.Revision
	}
	result := store.ListResult{Revision: revision}
	from, to, ok := ordered.Bounds(prefix, o.After)
	if !ok {
		return result, nil
	}
	count := items.Count(from, to)
	if o.Since > 0 {
		result.Total = int64(count)
		for _, kv := range items.Range(from, to) {
			if kv.Revision <= o.Since {
				continue
			}
			if result.More = o.Limit > 0 && len(result.Items) == o.Limit; result.More {
				break
			}
			result.Items = append(result.Items, *kv)
		}
		return result, nil
	}
	n := count
	if o.Limit > 0 && o.Limit < n {
		n = o.Limit
	}
	if n == 0 {
		return result, nil
	}
	result.Items = make([]store.KV, 0, n)
	for _, kv := range items.Range(from, to) {
		result.Items = append(result.Items, *kv)
		if len(result.Items) == n {
			break
		}
	}
	result.Remaining = int64(count - n)
	result.More = result.Remaining > 0
	return result, nil
}

// itemsAt returns the items at a revision that the log still reaches.
func (s *Store) itemsAt(revision int64) (ordered.Map[*store.KV], error) {
	s.mu.Lock()
	st := s.state.Load()
	if revision < s.log.floor {
		err := &store.ExpiredError{Compacted: s.log.floor}
		s.mu.Unlock()
		return ordered.Map[*store.KV]{}, err
	}
	if revision > st.revision {
		s.mu.Unlock()
		return ordered.Map[*store.KV]{}, &store.FutureRevisionError{Requested: revision, Current: st.revision}
	}
	items, undo := s.log.since(revision, st.items)
	s.mu.Unlock()
	return rewind(items, undo), nil
}

// Progress implements store.Store. The watches report as soon as their goroutines run.
func (s *Store) Progress(ctx context.Context, prefix string) (int64, error) {
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	var buf [8]*watcher
	asked := buf[:0]
	s.mu.Lock()
	revision := s.state.Load().revision
	if prefix != "" {
		asked = ask(s.watchers[prefix], revision, asked)
	} else {
		for _, group := range s.watchers {
			asked = ask(group, revision, asked)
		}
	}
	s.mu.Unlock()
	wake(asked)
	return revision, nil
}

// ask marks the watches that have not yet reported revision. Called with mu held.
func ask(group map[*watcher]struct{}, revision int64, asked []*watcher) []*watcher {
	for w := range group {
		if w.reported < revision {
			w.progress = true
			asked = append(asked, w)
		}
	}
	return asked
}

// Compact implements store.Store.
func (s *Store) Compact(ctx context.Context, revision int64) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if current := s.state.Load().revision; revision > current {
		return &store.FutureRevisionError{Requested: revision, Current: current}
	}
	if revision <= s.log.floor {
		return &store.ExpiredError{Compacted: s.log.floor}
	}
	s.log.dropTo(revision)
	return nil
}

// Capabilities implements store.Store.
func (s *Store) Capabilities() store.Capabilities {
	c := store.Capabilities{Progress: true, Durable: s.options.Journal != nil}
	if s.options.TxnOps > store.MaxTxnOps {
		c.TxnOps = s.options.TxnOps
	}
	return c
}

// Close implements store.Store. It may be called more than once.
func (s *Store) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	s.mu.Unlock()
	s.tasks.Wait()
	return nil
}

// Size implements store.Sized: the bytes of all keys and values. It looks at every key.
func (s *Store) Size(ctx context.Context) (int64, error) {
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	var n int64
	for key, kv := range s.state.Load().items.Range("", "") {
		n += int64(len(key) + len(kv.Value))
	}
	return n, nil
}
