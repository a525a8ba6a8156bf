package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/controllers/internal/grace"
)

// ErrNotDrained is returned by Run, wrapped with their names, when runnables did not return within
// Options.StopTimeout. They may still be working, so the lease was not released, and the process should exit.
var ErrNotDrained = errors.New("manager: not all returned in time")

// lastStop is how long each part that is stopped after the time is over may take.
const lastStop = 2 * time.Second

// Run runs everything until ctx ends or something fails, and returns when all has returned, or ErrNotDrained.
// It returns nil if ctx ended, else what failed, joined with what failed while the rest stopped. A Manager
// runs once.
func (m *Manager) Run(ctx context.Context) error {
	if m.of != nil {
		return errors.New("manager: what As returns runs with the manager it was made from")
	}
	r := &run{Manager: m}
	r.stopping, r.stop = context.WithCancel(ctx)
	defer r.stop()
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	if later := grace.Later(ctx); later != nil { // a manager above this one
		defer context.AfterFunc(later, cut)()
	}
	parts := []*part{ // in the order they are stopped in
		r.begin(base, "leader election", m.led, r.lead),
		r.begin(base, "", m.all, func(ctx, _ context.Context) { m.all.run(ctx, r.fail) }),
		r.begin(base, "", m.events, func(ctx, _ context.Context) { m.events.run(ctx, r.fail) }),
		r.begin(base, "informers", &group{}, func(ctx, _ context.Context) {
			if err := m.set.Run(ctx); err != nil {
				r.fail(fmt.Errorf("manager: informers: %w", err))
			}
		}),
	}
	<-r.stopping.Done()
	if left := r.end(parts); len(left) > 0 {
		r.fail(fmt.Errorf("%w: %s", ErrNotDrained, strings.Join(left, ", ")))
	}
	return r.err()
}

// run is one call of Run.
type run struct {
	*Manager
	stopping context.Context
	stop     context.CancelFunc

	mu   sync.Mutex
	errs []error
}

// fail notes an error and stops everything.
func (r *run) fail(err error) {
	r.mu.Lock()
	r.errs = append(r.errs, err)
	r.mu.Unlock()
	r.stop()
}

func (r *run) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) == 1 {
		return r.errs[0]
	}
	return errors.Join(r.errs...)
}

// part is what is stopped as one.
type part struct {
	name    string // for what is not a member; empty if there is nothing else
	members *group
	stop    context.CancelFunc // nothing new is begun
	cut     context.CancelFunc // what is under way ends
	done    chan struct{}
}

// begin starts f, with the context that ends when the part is stopped and the one that ends when it is cut
// off.
func (r *run) begin(base context.Context, name string, g *group, f func(ctx, work context.Context)) *part {
	p := &part{name: name, members: g, done: make(chan struct{})}
	work, cut := context.WithCancel(base)
	ctx, stop := context.WithCancel(grace.With(work, work))
	p.stop, p.cut = stop, cut
	go func() {
		defer close(p.done)
		f(ctx, work)
	}()
	return p
}

// end stops the parts, each when the one before it has returned, and returns the names of what did not return
// in time.
func (r *run) end(parts []*part) (left []string) {
	never := context.Background()
	graceOver, stopGrace := context.WithTimeout(never, r.opts.Grace)
	defer stopGrace()
	over := never
	if r.opts.StopTimeout > 0 {
		var cancel context.CancelFunc
		over, cancel = context.WithTimeout(never, r.opts.StopTimeout)
		defer cancel()
	}
	for _, p := range parts {
		limit := over
		if over.Err() != nil {
			var cancel context.CancelFunc
			limit, cancel = context.WithTimeout(never, lastStop)
			defer cancel()
		}
		left = append(left, p.end(graceOver, limit)...)
	}
	return left
}

// end stops the part, cuts it off when the grace is over, and waits until the limit.
func (p *part) end(graceOver, limit context.Context) (left []string) {
	p.stop()
	defer p.cut()
	defer context.AfterFunc(graceOver, p.cut)()
	select {
	case <-p.done:
		return nil
	case <-limit.Done():
	}
	select {
	case <-p.done:
		return nil
	default:
	}
	if left = p.members.names(); len(left) == 0 {
		left = []string{p.name}
	}
	return left
}

// lead takes part in the election until ctx ends, and runs the led runnables while leading. When ctx ends, a
// leader leads on until they have returned, or work ends.
func (r *run) lead(ctx, work context.Context) {
	if r.opts.Elector == nil {
		r.led.run(ctx, r.fail)
		return
	}
	candidate, withdraw := context.WithCancel(work)
	defer withdraw()
	var mu sync.Mutex
	leading, closed := false, false
	defer context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		closed = true
		if !leading {
			withdraw()
		}
	})()
	err := r.opts.Elector.Run(candidate, func(term context.Context) error {
		mu.Lock()
		leading = !closed
		mu.Unlock()
		if leading {
			working, stop := context.WithCancel(grace.With(term, term))
			forget := context.AfterFunc(ctx, stop)
			r.led.run(working, r.fail)
			forget()
			stop()
		}
		mu.Lock()
		defer mu.Unlock()
		leading = false
		if closed {
			withdraw()
		}
		return nil
	})
	switch {
	case err != nil && (candidate.Err() == nil || !endOf(candidate, err)):
		r.fail(fmt.Errorf("manager: leader election: %w", err))
	case err == nil && ctx.Err() == nil:
		r.fail(errors.New("manager: leadership was lost"))
	}
}
