package controllertest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// failures is a log handler that keeps the last warnings and errors for the log of a failed test and passes
// all records to the next handler.
type failures struct {
	next  slog.Handler
	attrs []slog.Attr // of With; groups are ignored
	root  *failures   // keeps the list of handlers made by With; nil for the root itself

	mu   sync.Mutex
	list []*failure // without duplicates, the latest last
}

type failure struct {
	text  string
	times int
	last  time.Time
}

// keepFailures is the maximum number of failures kept.
const keepFailures = 20

// unsteady are the attributes that differ between repetitions of the same failure.
var unsteady = []string{"reconcileID", "requeues"}

// Enabled implements slog.Handler.
func (f *failures) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || f.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (f *failures) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		f.keep(r)
	}
	if !f.next.Enabled(ctx, r.Level) {
		return nil
	}
	return f.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (f *failures) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &failures{next: f.next.WithAttrs(attrs), attrs: slices.Concat(f.attrs, attrs), root: f.top()}
}

// WithGroup implements slog.Handler.
func (f *failures) WithGroup(name string) slog.Handler {
	return &failures{next: f.next.WithGroup(name), attrs: f.attrs, root: f.top()}
}

func (f *failures) top() *failures {
	if f.root != nil {
		return f.root
	}
	return f
}

func (f *failures) keep(r slog.Record) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Level, r.Message)
	add := func(a slog.Attr) bool {
		if !slices.Contains(unsteady, a.Key) {
			// Not quoted, because the stack of a panic has several lines.
			fmt.Fprintf(&b, " %s=%v", a.Key, a.Value.Resolve())
		}
		return true
	}
	for _, a := range f.attrs {
		add(a)
	}
	r.Attrs(add)
	f.top().note(b.String())
}

func (f *failures) note(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := &failure{text: text}
	if i := slices.IndexFunc(f.list, func(o *failure) bool { return o.text == text }); i >= 0 {
		e = f.list[i]
		f.list = slices.Delete(f.list, i, i+1)
	}
	e.times++
	e.last = time.Now()
	if f.list = append(f.list, e); len(f.list) > keepFailures {
		f.list = slices.Delete(f.list, 0, 1)
	}
}

// text returns the failures kept, one per line, or "".
func (f *failures) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	for _, e := range f.list {
		fmt.Fprintf(&b, "\n%s", e.last.Format("15:04:05.000"))
		if e.times > 1 {
			fmt.Fprintf(&b, " (for the %dth time)", e.times)
		}
		b.WriteString(" " + e.text)
	}
	return b.String()
}

// report fails the test if a reconcile never ended or a fault applied to nothing. Of a failed test it logs
// the seed, the timeline of an object and the last failures, and keeps the page of its history.
func (c *cluster) report() {
	if problem := c.guard.unreported(); problem != "" {
		c.owner.Errorf("controllertest: %s", problem)
	}
	if !c.owner.Failed() {
		for _, text := range c.gate.unused() {
			c.owner.Errorf("controllertest: %s", text)
		}
	}
	if c.draws != nil && c.draws.seed != 0 && c.owner.Failed() {
		c.owner.Logf("controllertest: replay with %s=%d", seedVariable, c.draws.seed)
	}
	if c.owner.Failed() {
		if text := c.lastTimeline(); text != "" {
			c.owner.Logf("controllertest: the object that the test read or wrote last:%s", text)
		}
		c.keepPage()
	}
	if text := c.last.text(); text != "" && c.owner.Failed() {
		c.owner.Logf("controllertest: the last failures of managers and connections:%s", text)
	}
}
