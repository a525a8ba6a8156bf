package leaderelection

import (
	"context"
	"errors"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
)

// campaign is the time from the start of Run until the lease is ours.
type campaign struct {
	*Elector
	attempts attempts
	free     Record // the last one that was to be replaced

	won      bool
	record   Record
	acquired time.Time // when the write that won was sent
}

// run returns nil when the lease is won or ctx has ended.
func (c *campaign) run(ctx context.Context) error {
	cold, warm := c.startWarm(ctx)
	ready := false
	var fresh *Record
	for ctx.Err() == nil {
		if !ready && cold.Err() != nil {
			if err := <-warm; err != nil {
				return err
			}
			ready, cold = true, ctx
		}
		wait := c.check(ctx, fresh, ready)
		if c.won {
			return nil
		}
		fresh = c.pause(cold, wait)
	}
	if ready {
		c.withdraw(ctx)
		return nil
	}
	return <-warm
}

// withdraw releases a lease that a write without a reply may have won.
func (c *campaign) withdraw(ctx context.Context) {
	if len(c.attempts) == 0 {
		return
	}
	r, err := c.read(context.WithoutCancel(ctx), nil)
	if err != nil {
		return
	}
	if _, own := c.attempts.find(r); own {
		t := &term{Elector: c.Elector, record: r}
		t.release(ctx)
	}
}

// startWarm calls Options.Warm. When it has returned the context ends and the channel holds its error, unless
// that only reports the end of ctx.
func (c *campaign) startWarm(ctx context.Context) (context.Context, <-chan error) {
	result := make(chan error, 1)
	cold, warmed := context.WithCancel(ctx)
	if c.opts.Warm == nil {
		result <- nil
		warmed()
		return cold, result
	}
	go func() {
		defer warmed()
		err := c.opts.Warm(ctx)
		if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
			err = nil
		}
		result <- err
	}()
	return cold, result
}

// check reads the lease, unless a fresh record of it is given, and takes it if
// mayTake is set and it is free. It returns the longest time until the next check.
func (c *campaign) check(ctx context.Context, fresh *Record, mayTake bool) time.Duration {
	r, err := c.read(ctx, fresh)
	switch {
	case errors.Is(err, ErrNotFound):
		c.forget()
		if mayTake && !c.opts.Coordinated {
			c.acquire(ctx, Record{LeaderTransitions: -1}, c.lock.Create)
		}
		return c.retry(ctx)
	case err != nil:
		c.failed(ctx, "get lease failed", err)
		return c.retry(ctx)
	}
	since := c.observe(r)
	_, own := c.attempts.find(r)
	if own && mayTake {
		c.renew(ctx, r)
		return c.retry(ctx)
	}
	c.others(!own)
	left := c.remaining(r, since)
	switch {
	case c.opts.Coordinated && !c.elected(r, left):
		return c.nextCheck(ctx, max(left, c.opts.RetryPeriod))
	case !c.opts.Coordinated && left > 0:
		return c.nextCheck(ctx, left)
	case mayTake:
		c.acquire(ctx, r, c.lock.Update)
	}
	return c.retry(ctx)
}

// elected reports whether the server has given the lease to this candidate, which must take it before it
// expires.
func (c *campaign) elected(r Record, left time.Duration) bool {
	return r.HolderIdentity == c.opts.Identity && left > 0 && (r.PreferredHolder == "" || r.PreferredHolder == c.opts.Identity)
}

func (c *campaign) read(ctx context.Context, fresh *Record) (Record, error) {
	if fresh != nil {
		return *fresh, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.requestTimeout())
	defer cancel()
	return c.lock.Get(ctx)
}

// remaining returns how long to wait for the holder of r. It counts from the moment r
// was first observed: the holder's clock is not used.
func (c *campaign) remaining(r Record, since time.Time) time.Duration {
	if r.HolderIdentity == "" {
		return 0
	}
	d := r.LeaseDuration
	if d <= 0 {
		d = c.leaseSeconds()
	}
	return time.Until(since.Add(d))
}

// acquire writes the lease over old, which has expired, was released or does not exist.
func (c *campaign) acquire(ctx context.Context, old Record, write func(context.Context, Record) (Record, error)) {
	now := stamp()
	c.free = old
	c.write(ctx, Record{
		HolderIdentity:    c.opts.Identity,
		LeaseDuration:     c.leaseSeconds(),
		AcquireTime:       now,
		RenewTime:         now,
		LeaderTransitions: old.LeaderTransitions + 1,
		Version:           old.Version,
	}, write)
}

// renew renews the lease that an earlier write without a reply has won, so
// that the term starts with a full deadline.
func (c *campaign) renew(ctx context.Context, r Record) {
	r.RenewTime = stamp()
	c.write(ctx, r, c.lock.Update)
}

func (c *campaign) write(ctx context.Context, r Record, write func(context.Context, Record) (Record, error)) {
	ctx, cancel := context.WithTimeout(ctx, c.requestTimeout())
	defer cancel()
	sent := time.Now()
	c.attempts.add(r, sent)
	got, err := write(ctx, r)
	switch {
	case err == nil:
		c.won, c.record, c.acquired = true, got, sent
		c.begin(got)
	case errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
		// Another candidate was faster.
	default:
		c.failed(ctx, "take lease failed", err)
	}
}

// others notes whether a record is that of another candidate, or of an earlier term.
func (c *campaign) others(seen bool) {
	c.mu.Lock()
	c.previous = c.previous || seen
	c.mu.Unlock()
}

// begin notes the record with which the term begins.
func (c *campaign) begin(r Record) {
	c.mu.Lock()
	switch {
	case !c.previous:
		c.own = ""
	case c.free.HolderIdentity == "" && c.free.Version != "" && c.free.LeaderTransitions+1 == r.LeaderTransitions:
		c.own = c.free.Version
	default:
		c.own = r.Version
	}
	c.mu.Unlock()
	c.observe(r)
}

// pause waits for at most wait, or until a Watcher has a new record, which is
// returned.
func (c *campaign) pause(ctx context.Context, wait time.Duration) *Record {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	w, ok := c.lock.(Watcher)
	last, seen := c.last()
	if ok && seen {
		r, err := w.Wait(ctx, last)
		switch {
		case err == nil && r.Version != last.Version:
			return &r
		case errors.Is(err, ErrNotFound):
			return nil
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errors.ErrUnsupported):
			// Poll instead.
		case err != nil:
			c.failed(ctx, "watch lease failed", err)
		}
		var cancelRetry context.CancelFunc
		ctx, cancelRetry = context.WithTimeout(ctx, c.retry(ctx))
		defer cancelRetry()
	}
	<-ctx.Done()
	return nil
}

// watchedChecks is how many retry periods a candidate with a watch waits before it
// reads the lease itself, in case the watch is dead.
const watchedChecks = 5

// nextCheck returns how long to wait for a lease that expires in left: until just
// after, or until the next check.
func (c *campaign) nextCheck(ctx context.Context, left time.Duration) time.Duration {
	spread := min(100*time.Millisecond, c.opts.RetryPeriod/10)
	left += backoff.Spread(ctx, spread)
	if _, ok := c.lock.(Watcher); ok {
		return min(left, watchedChecks*c.retry(ctx))
	}
	return min(left, c.retry(ctx))
}

func (e *Elector) requestTimeout() time.Duration { return e.opts.RenewDeadline / 2 }

// failed logs an error that will be retried.
func (e *Elector) failed(ctx context.Context, message string, err error) {
	if !errors.Is(context.Cause(ctx), context.Canceled) {
		e.log.Warn(message, "err", err)
	}
}

func (e *Elector) last() (Record, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.observed, e.seen
}

// forget records that the lease does not exist.
func (e *Elector) forget() {
	e.mu.Lock()
	e.observed, e.seen = Record{}, false
	e.mu.Unlock()
}
