// Package memory implements package store in memory: immutable sorted snapshots, one writer at a time,
// readers without locks, and a bounded log of events for watches.
//
// A Store starts in microseconds and has no goroutine of its own until the first key with a TTL is written.
// It keeps every promise of package store except durability, which a Journal adds (store/file). History
// reaches back as far as the event log does (Options): a watch from, or a list at, an older revision ends
// with *store.ExpiredError. That is also the bound for slow watchers, because watches read from the log and
// have no buffers.
//
// Everything waits on channels and package time, so a Store works inside a testing/synctest bubble.
package memory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/ordered"
	"github.com/keelson-dev/keelson/store/internal/wake"
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
	// TxnOps is the greatest number of operations and guards of a Txn. Less than store.MaxTxnOps, zero
	// included, means store.MaxTxnOps. Code that relies on more does not work over other stores.
	TxnOps int
	// Journal, if not nil, makes commits durable: a commit becomes visible after the journal has synced it.
	// Package store/file is such a store.
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
	opts   Options
	state  atomic.Pointer[state]
	origin int64         // there are no events up to here
	done   chan struct{} // closed by Close
	tasks  sync.WaitGroup

	mu       sync.Mutex // guards what follows, and who may swap state
	closed   bool
	head     *state     // what the next write is checked against; newer than state by the commits in unsynced
	failed   bool       // the journal has failed; all writes are refused
	unsynced []unsynced // commits that the journal has not synced; empty without a journal
	log      log
	readers  map[string]map[*logReader]struct{} // by prefix
	expiring bool                               // the expiry goroutine runs
	sooner   wake.Signal                        // set when an earlier deadline was written
}

var _ store.Store = (*Store)(nil)

// New returns an empty store at revision 1, as a new etcd has.
func New(opts Options) *Store {
	return newStore(opts, &state{revision: 1})
}

func newStore(opts Options, initial *state) *Store {
	s := &Store{
		opts:    opts.withDefaults(),
		done:    make(chan struct{}),
		log:     log{floor: initial.revision},
		readers: map[string]map[*logReader]struct{}{},
		sooner:  wake.New(),
	}
	if initial.revision == 1 {
		s.origin = 1 // a watch from zero misses nothing
	}
	s.state.Store(initial)
	s.head = initial
	return s
}

// check returns an error if the store is closed or ctx has ended.
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
func (s *Store) List(ctx context.Context, prefix string, opts store.ListOptions) (store.ListResult, error) {
	if err := s.check(ctx); err != nil {
		return store.ListResult{}, err
	}
	st := s.state.Load()
	items, revision := st.items, st.revision
	if opts.Revision != 0 && opts.Revision != revision {
		var err error
		if items, err = s.itemsAt(opts.Revision); err != nil {
			return store.ListResult{}, err
		}
		revision = opts.Revision
	}
	result := store.ListResult{Revision: revision}
	from, to, ok := ordered.Bounds(prefix, opts.After)
	if !ok {
		return result, nil
	}
	count := items.Count(from, to)
	if opts.Since > 0 {
		result.Total = int64(count)
		for _, kv := range items.Range(from, to) {
			if kv.Revision <= opts.Since {
				continue
			}
			if result.More = opts.Limit > 0 && len(result.Items) == opts.Limit; result.More {
				break
			}
			result.Items = append(result.Items, *kv)
		}
		return result, nil
	}
	n := count
	if opts.Limit > 0 && opts.Limit < n {
		n = opts.Limit
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

// itemsAt returns the items at a revision that is still in the log.
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
	return undoCommits(items, undo), nil
}

// Progress implements store.Store. The watches report when their goroutines run next.
func (s *Store) Progress(ctx context.Context, prefix string) (int64, error) {
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	var buf [8]*logReader
	requested := buf[:0]
	s.mu.Lock()
	revision := s.state.Load().revision
	if prefix != "" {
		requested = requestReports(s.readers[prefix], revision, requested)
	} else {
		for _, group := range s.readers {
			requested = requestReports(group, revision, requested)
		}
	}
	s.mu.Unlock()
	wakeAll(requested)
	return revision, nil
}

// requestReports marks the readers that have not yet reported revision and appends them to requested. Called
// with mu held.
func requestReports(group map[*logReader]struct{}, revision int64, requested []*logReader) []*logReader {
	for r := range group {
		if r.reported < revision {
			r.report = true
			requested = append(requested, r)
		}
	}
	return requested
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
	c := store.Capabilities{Progress: true, Durable: s.opts.Journal != nil}
	if s.opts.TxnOps > store.MaxTxnOps {
		c.TxnOps = s.opts.TxnOps
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

// Size implements store.Sized: the bytes of all keys and values. It visits every key.
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
