package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/workqueue"
)

// kept is how many runs of a controller are remembered, and how many failed ones in addition.
const kept = 256

// Explanation is what a controller knows about one key.
type Explanation[K comparable] struct {
	// Key that was queried.
	Key K
	// Queued is its entry in the queue: its state, the first event that caused the run, its priority, and how
	// many times it was retried. Nil if the queue does not contain it.
	Queued *workqueue.Entry[K]
	// Runs are the reconciles of the key that are remembered, the latest first: those among the last 256 of
	// the controller, and those among its last 256 failed ones.
	Runs []RunRecord
}

// RunRecord describes a reconcile that has ended.
type RunRecord struct {
	// ID is that of reconcile.ID, as in logs.
	ID string
	// Cause is the first event that enqueued the key; empty for a retry or a requeue.
	Cause string
	// Started and Took are when it ran.
	Started time.Time
	Took    time.Duration
	// Outcome is as in Metrics.Reconciled, or "canceled" if the controller stopped.
	Outcome string
	// Err is nil unless it failed.
	Err error
}

// Explain says why a key is queued and how its last runs ended. It takes time in proportion to the runs that
// are remembered.
func (c *Controller[K]) Explain(req K) Explanation[K] {
	e := Explanation[K]{Key: req}
	if entry, ok := c.queue.Entry(req); ok {
		e.Queued = &entry
	}
	for _, r := range c.history.of(req) {
		e.Runs = append(e.Runs, RunRecord{ID: c.runID(r.serial), Cause: r.cause, Started: r.started, Took: r.took, Outcome: r.outcome, Err: r.err})
	}
	return e
}

// String is the explanation as text, with one line for the queue and one for each run.
func (e Explanation[K]) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: ", e.Key)
	if q := e.Queued; q == nil {
		b.WriteString("not queued")
	} else {
		fmt.Fprintf(&b, "%s, priority %d", q.State, q.Priority)
		if q.Cause != "" {
			fmt.Fprintf(&b, ", because of %s", q.Cause)
		}
		if q.Delay > 0 {
			fmt.Fprintf(&b, ", runs in %s", q.Delay)
		}
		if q.Again {
			b.WriteString(", runs again afterward")
		}
		if q.Requeues > 0 {
			fmt.Fprintf(&b, ", retries: %d", q.Requeues)
		}
	}
	for _, r := range e.Runs {
		fmt.Fprintf(&b, "\n%s %s: %s after %s", r.Started.UTC().Format(time.RFC3339), r.ID, r.Outcome, r.Took)
		if r.Cause != "" {
			fmt.Fprintf(&b, ", because of %s", r.Cause)
		}
		if r.Err != nil {
			fmt.Fprintf(&b, ": %v", r.Err)
		}
	}
	return b.String()
}

// ended is a run in a history.
type ended[K comparable] struct {
	req     K
	serial  uint64
	cause   string
	started time.Time
	took    time.Duration
	outcome string
	err     error
}

// history remembers the last runs of a controller, and the last failed ones, which would otherwise soon be
// displaced by the successful runs of other keys.
type history[K comparable] struct {
	mu           sync.Mutex
	runs, failed ring[K]
}

// ring holds the last runs, in no particular order.
type ring[K comparable] struct {
	all  []ended[K]
	next int // the one to replace
}

func (r *ring[K]) add(e ended[K]) {
	if len(r.all) < kept {
		r.all = append(r.all, e)
		return
	}
	r.all[r.next] = e
	r.next = (r.next + 1) % kept
}

func (h *history[K]) add(e ended[K]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs.add(e)
	if e.err != nil {
		h.failed.add(e)
	}
}

// of returns the runs of a key, the latest first.
func (h *history[K]) of(req K) (out []ended[K]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range slices.Concat(h.runs.all, h.failed.all) {
		if r.req == req && !slices.ContainsFunc(out, func(o ended[K]) bool { return o.serial == r.serial }) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b ended[K]) int { return cmp.Compare(b.serial, a.serial) })
	return out
}
