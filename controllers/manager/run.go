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

// ErrNotDrained is wrapped, together with their names, in the error that Run returns when runnables did not
// return within Options.StopTimeout. They may still be working, so the lease was not released, and the
// process should exit.
var ErrNotDrained = errors.New("manager: some runnables did not return in time")

// lastStop is how long each remaining part may take to stop after StopTimeout.
const lastStop = 2 * time.Second

// Run runs the manager until ctx ends or a runnable fails, then stops every part and waits for it. It returns
// nil if ctx ended and every part stopped without error. Otherwise it returns the error that stopped the
// manager joined with those of the stop; see also [ErrNotDrained]. Run may be called only once.
func (m *Manager) Run(ctx context.Context) error {
	if m.parent != nil {
		return errors.New("manager: a Manager returned by As or Under runs with its parent")
	}
	if m.err != nil {
		return m.err
	}
	stopping, stop := context.WithCancel(ctx)
	defer stop()
	r := &run{Manager: m, stop: stop}
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	if later := grace.Later(ctx); later != nil { // m runs in another manager
		defer context.AfterFunc(later, cut)()
	}
	parts := []*part{ // in the order they are stopped in
		r.begin(base, "leader election", m.led, func(ctx, work context.Context) { r.lead(ctx, m.opts.Elector, work) }),
		r.begin(base, "", m.all, func(ctx, _ context.Context) { m.all.run(ctx, r.fail) }),
		r.begin(base, "", m.events, func(ctx, _ context.Context) { m.events.run(ctx, r.fail) }),
		r.begin(base, "informers", &group{}, func(ctx, _ context.Context) {
			if err := m.set.Run(ctx); err != nil {
				r.fail(fmt.Errorf("manager: informers: %w", err))
			}
		}),
	}
	<-stopping.Done()
	if left := r.end(parts); len(left) > 0 {
		r.fail(fmt.Errorf("%w: %s", ErrNotDrained, strings.Join(left, ", ")))
	}
	return r.err()
}

// run is one call of Run.
type run struct {
	*Manager
	stop context.CancelFunc // begins the stop of all parts

	mu   sync.Mutex
	errs []error
}

// fail adds an error to the result of Run and stops the manager.
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

// part is a group of runnables that are stopped together.
type part struct {
	name    string // reported if the part does not return although its members have
	members *group
	stop    context.CancelFunc // no new work is started
	cut     context.CancelFunc // work in progress is canceled
	done    chan struct{}
}

// begin starts f. Its ctx ends when the part is stopped, work when it is cut off.
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

// end stops the parts, each after the previous one has returned, and returns the names of the runnables that
// did not return in time.
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

// end stops the part, cuts it off when graceOver ends, and waits for it until limit ends. It returns the
// names of the runnables that have not returned.
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

// lead takes part in the election until ctx ends, and runs the runnables of the leader while leading. After
// ctx ends, a leader keeps the lease until they have returned or work ends.
func (r *run) lead(ctx context.Context, elector Elector, work context.Context) {
	if elector == nil {
		r.led.run(ctx, r.fail)
		return
	}
	candidate, withdraw := context.WithCancel(work)
	defer withdraw()
	var mu sync.Mutex
	leading, closed := false, false // closed: ctx has ended, no term may begin
	defer context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		closed = true
		if !leading {
			withdraw()
		}
	})()
	err := elector.Run(candidate, func(term context.Context) error {
		mu.Lock()
		leading = !closed
		mu.Unlock()
		if leading {
			r.catchUp(elector)
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

// catchUp makes the informers read again what may lack the last writes of the leader before, if elector has
// the method Since of *leaderelection.Elector.
func (r *run) catchUp(elector Elector) {
	if e, ok := elector.(interface{ Since() string }); ok {
		if version := e.Since(); version != "" {
			r.set.CatchUp(version)
		}
	}
}
