package controllertest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/controllers/controllertest/internal/direct"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/memory"
)

// Bounds of what a trace keeps. The store keeps as many writes.
const (
	keepWrites = 1 << 16
	keepRuns   = 10_000
	keepCauses = 100 // of one run
)

// trace records what a [History] needs beyond the store's log of changes: when and for whom each revision was
// written, and which reconciles ran, and why.
type trace struct {
	began time.Time

	mu      sync.Mutex
	order   int64 // of the last thing recorded: writes, events and runs together
	first   int64 // revision of commits[0]
	commits []commit
	runs    []*Run
	counts  map[subject]int     // runs of each key
	last    map[subject]*Run    // the latest run of each key
	pending map[subject][]Cause // events since it began
}

// commit is one revision.
type commit struct {
	at    time.Time
	order int64
	by    *origin // nil for the server itself
}

// origin is the request that a write belongs to.
type origin struct {
	user, agent, method, path string
	run                       string // ID of the reconcile that sent it, if it came in process
}

func newTrace() *trace {
	return &trace{began: time.Now(), counts: map[subject]int{}, last: map[subject]*Run{}, pending: map[subject][]Cause{}}
}

// next counts what is recorded, so that of two things at the same instant the first is known.
func (t *trace) next() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.order++
	return t.order
}

type originKey struct{}

// withOrigin returns a request whose context says what it is to [trace.commit].
func withOrigin(r *http.Request) *http.Request {
	o := &origin{agent: r.UserAgent(), method: r.Method, path: r.URL.Path}
	if u := authn.UserFrom(r.Context()); u != nil {
		o.user = u.Name
	}
	if caller := direct.Caller(r.Context()); caller != nil {
		o.run = reconcile.ID(caller)
	}
	return r.WithContext(context.WithValue(r.Context(), originKey{}, o))
}

// commit records a write that has succeeded. order is that of its beginning, which is before the events it
// causes.
func (t *trace) commit(ctx context.Context, revision, order int64) {
	by, _ := ctx.Value(originKey{}).(*origin)
	c := commit{at: time.Now(), order: order, by: by}
	t.mu.Lock()
	defer t.mu.Unlock()
	i := revision - t.first
	switch {
	case i < 0:
		return // older than what is kept
	case len(t.commits) == 0 || i > int64(len(t.commits))+keepWrites:
		t.first, t.commits, i = revision, t.commits[:0], 0
	case i >= 2*keepWrites:
		t.commits = slices.Delete(t.commits, 0, keepWrites)
		t.first, i = t.first+keepWrites, i-keepWrites
	}
	for int64(len(t.commits)) <= i {
		t.commits = append(t.commits, commit{})
	}
	t.commits[i] = c
}

// traced is the store of a cluster, which records its writes.
type traced struct {
	*memory.Store
	trace *trace
}

// Create implements store.Store.
func (s traced) Create(ctx context.Context, key string, value []byte, opts store.WriteOptions) (int64, error) {
	return s.record(ctx, func() (int64, error) { return s.Store.Create(ctx, key, value, opts) })
}

// Update implements store.Store.
func (s traced) Update(ctx context.Context, key string, value []byte, expected int64, opts store.WriteOptions) (int64, error) {
	return s.record(ctx, func() (int64, error) { return s.Store.Update(ctx, key, value, expected, opts) })
}

// Delete implements store.Store.
func (s traced) Delete(ctx context.Context, key string, expected int64, opts store.WriteOptions) (int64, error) {
	return s.record(ctx, func() (int64, error) { return s.Store.Delete(ctx, key, expected, opts) })
}

// Txn implements store.Store.
func (s traced) Txn(ctx context.Context, ops []store.Op, guards []store.Guard) (int64, error) {
	if len(ops) == 0 {
		return s.Store.Txn(ctx, ops, guards)
	}
	return s.record(ctx, func() (int64, error) { return s.Store.Txn(ctx, ops, guards) })
}

func (s traced) record(ctx context.Context, write func() (int64, error)) (int64, error) {
	order := s.trace.next()
	revision, err := write()
	if err == nil {
		s.trace.commit(ctx, revision, order)
	}
	return revision, err
}

// onEvent is the Options.OnEvent of managers.
func (t *trace) onEvent(controller string, req any, e manager.Event) {
	revision, _ := strconv.ParseInt(e.ResourceVersion, 10, 64)
	s := subject{controller, req}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.order++
	if len(t.pending[s]) < keepCauses {
		t.pending[s] = append(t.pending[s], Cause{Type: e.Type, Kind: e.Kind, Key: e.Key, Revision: revision, At: time.Now(), order: t.order})
	}
}

// errPanicked is the error of a run that panicked. Its value and stack are in the failures of the manager.
var errPanicked = errors.New("it panicked")

// wrap is a part of the Options.Wrap of managers.
func (t *trace) wrap(ctx context.Context, of *reconcile.Run, next func(context.Context) (reconcile.Result, error)) (result reconcile.Result, err error) {
	run := t.begin(of)
	panicked := true
	defer func() {
		if panicked {
			err = errPanicked // for the trace only
		}
		t.end(run, result, err)
	}()
	result, err = next(ctx)
	panicked = false
	return result, err
}

func (t *trace) begin(of *reconcile.Run) *Run {
	s := subject{of.Controller, of.Key}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.order++
	t.counts[s]++
	run := &Run{Controller: of.Controller, Key: of.Key, ID: of.ID, Number: t.counts[s], Began: time.Now(), Causes: t.pending[s], order: t.order}
	if before := t.last[s]; before != nil && len(run.Causes) == 0 {
		run.After = before
	}
	delete(t.pending, s)
	t.last[s] = run
	if t.runs = append(t.runs, run); len(t.runs) > 2*keepRuns {
		t.runs = slices.Delete(t.runs, 0, keepRuns)
		for s, last := range t.last {
			if last.order < t.runs[0].order {
				delete(t.last, s)
			}
		}
	}
	return run
}

func (t *trace) end(run *Run, result reconcile.Result, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.order++
	run.Ended, run.Result, run.Err, run.until = time.Now(), result, err, t.order
	if run.After != nil {
		run.After.After = nil // a chain of retries would keep all of them
	}
}

// recorded returns copies of the runs, and the commits with the revision of the first.
func (t *trace) recorded() (runs []Run, first int64, commits []commit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	runs = make([]Run, len(t.runs))
	for i, r := range t.runs {
		runs[i] = *r
	}
	return runs, t.first, slices.Clone(t.commits)
}
