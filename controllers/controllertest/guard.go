package controllertest

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// guard detects reconciles that trigger themselves without end. In a bubble time would not advance and the
// test would hang, so the guard counts the runs of each key at the same instant. If there are too many, it
// blocks all reconciles until their contexts end.
type guard struct {
	most    int           // 0 outside of bubbles: no limit
	instant time.Duration // runs within it count as at the same instant; set before the first one

	mu      sync.Mutex
	at      time.Time
	runs    map[subject]*runs // at that instant
	endless string            // the problem found, if any
	failed  bool              // Settle has failed the test with it
}

// subject is a controller and one of its keys.
type subject struct {
	controller string
	request    any
}

// runs are the reconciles of one subject at one instant.
type runs struct {
	n       int
	id      string // of the last one
	written string // its last write
}

func newGuard(most int, bubble bool) *guard {
	switch {
	case !bubble:
		most = 0
	case most == 0:
		most = 10_000
	}
	return &guard{most: most, runs: map[subject]*runs{}}
}

// wrap is a part of the Options.Wrap of managers.
func (g *guard) wrap(ctx context.Context, next func(context.Context) (reconcile.Result, error)) (reconcile.Result, error) {
	if !g.pass(ctx, "") {
		<-ctx.Done()
		return reconcile.Result{}, ctx.Err()
	}
	return next(ctx)
}

// transport is the Config.Wrap of connections. It records the writes of reconciles.
func (g *guard) transport(next http.RoundTripper) http.RoundTripper { return guarded{g, next} }

type guarded struct {
	*guard
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && !g.pass(r.Context(), r.Method+" "+r.URL.Path) {
		if r.Body != nil {
			r.Body.Close()
		}
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return g.next.RoundTrip(r)
}

// pass counts the run that ctx belongs to, if any, and reports whether it may continue.
func (g *guard) pass(ctx context.Context, write string) bool {
	run := reconcile.FromContext(ctx)
	if run == nil || g.most == 0 {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now().Truncate(g.instant); !now.Equal(g.at) {
		g.at = now
		clear(g.runs)
	}
	s := subject{run.Controller, run.Key}
	r := g.runs[s]
	if r == nil {
		r = &runs{}
		g.runs[s] = r
	}
	if r.id != run.ID {
		r.id = run.ID
		r.n++
	}
	if write != "" {
		r.written = write
	}
	if r.n > g.most && g.endless == "" {
		g.endless = fmt.Sprintf("the controller %s has reconciled %s %d times at one instant and would never stop", s.controller, s.request, g.most)
		if r.written == "" {
			g.endless += "; it has written nothing, so it enqueues its own key"
		} else {
			g.endless += "; its last write was " + r.written + ": a reconcile that writes on every run triggers itself"
		}
	}
	return g.endless == ""
}

// problem returns the problem found, or "".
func (g *guard) problem() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.endless
}

// reported records that Settle has failed the test with the problem, if there is one.
func (g *guard) reported() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed = true
}

// unreported returns the problem if Settle has not reported it.
func (g *guard) unreported() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed {
		return ""
	}
	return g.endless
}
