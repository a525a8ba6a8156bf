package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/fence"
)

// term is the time from winning the lease until it is released or lost.
type term struct {
	*Elector
	record     Record // as last confirmed or read
	attempts   attempts
	superseded bool // another candidate holds the lease
	leading    bool // as last reported

	cancelLed context.CancelCauseFunc // ends the led context, if there is one
	watchdog  *time.Timer             // does so at the deadline, whatever the lock does
}

// run calls lead and holds the lease until lead has returned.
func (t *term) run(ctx context.Context, acquired time.Time, lead func(context.Context) error) error {
	server := ""
	if n, ok := t.lock.(ServerNamer); ok {
		server = n.Server()
	}
	led, lose := context.WithCancelCause(fence.WithTokenFor(ctx, fence.Token{
		Lease:       t.lock.Key(),
		Holder:      t.record.HolderIdentity,
		Transitions: t.record.LeaderTransitions,
	}, server))
	defer lose(nil)
	t.cancelLed = lose
	t.watchdog = time.AfterFunc(time.Until(acquired.Add(t.opts.RenewDeadline)), func() {
		lose(fmt.Errorf("%w: the lease was not renewed for %v", ErrLost, t.opts.RenewDeadline))
	})
	defer t.watchdog.Stop()
	t.setLed(led.Done(), acquired)
	t.leading = true
	t.status(true)
	t.event("became leader")

	// Renewals are independent of ctx, because the lease is held until lead has
	// returned, and are given up as soon as it has.
	renewing, stopRenewing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRenewing()
	returned := make(chan struct{})
	var leadErr error
	go func() {
		defer close(returned)
		defer stopRenewing()
		leadErr = lead(led)
	}()
	if !t.hold(led, renewing, returned) {
		t.event("stopped leading")
		if cause := context.Cause(led); errors.Is(cause, ErrLost) {
			return errors.Join(ErrNotDrained, cause)
		}
		return ErrNotDrained
	}
	t.setLed(nil, time.Time{})
	t.ended()
	cause := context.Cause(led)
	if !t.superseded {
		t.release(ctx)
	}
	t.event("stopped leading")
	return outcome(leadErr, cause)
}

// outcome returns the result of Run from lead's error and the cause of the end of its context.
func outcome(leadErr, cause error) error {
	if cause != nil && (errors.Is(leadErr, cause) || errors.Is(leadErr, context.Canceled)) {
		leadErr = nil
	}
	if errors.Is(cause, ErrLost) {
		if leadErr == nil {
			return cause
		}
		return errors.Join(cause, leadErr)
	}
	return leadErr
}

// hold renews the lease until lead has returned, and reports whether it did in time.
func (t *term) hold(led, renewing context.Context, returned <-chan struct{}) (drained bool) {
	tick := time.NewTimer(t.retry(led))
	defer tick.Stop()
	ended := led.Done()
	var overdue <-chan time.Time
	for {
		select {
		case <-returned:
			return true
		case <-ended:
			ended = nil
			t.log.Info("stopped leading, waiting for the work to return", "cause", context.Cause(led))
			t.ended()
			if t.opts.DrainTimeout > 0 {
				timer := time.NewTimer(t.opts.DrainTimeout)
				defer timer.Stop()
				overdue = timer.C
			}
		case <-overdue:
			return false
		case <-tick.C:
			// After a loss by the deadline renewing continues: if it succeeds, it
			// keeps others out until the work has returned.
			if !t.superseded {
				t.renew(renewing)
			}
			tick.Reset(t.retry(led))
		}
	}
}

// ended reports, once, that this candidate does not lead any more: when the led context ends, or when lead
// has returned, whichever comes first.
func (t *term) ended() {
	if t.leading {
		t.leading = false
		t.status(false)
	}
}

// renew renews the lease; after a conflict it reads the lease and tries again.
func (t *term) renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, t.requestTimeout())
	defer cancel()
	err := t.write(ctx, t.lock.Update)
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
		if t.opts.Metrics.SlowPath != nil {
			t.opts.Metrics.SlowPath()
		}
		err = t.recover(ctx)
	}
	if err != nil && !t.superseded {
		t.failed(ctx, "renew lease failed", err)
	}
}

// recover reads the lease and renews it if it is still ours.
func (t *term) recover(ctx context.Context) error {
	r, err := t.lock.Get(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		// Deleted: the first candidate to create it holds it.
		return t.write(ctx, t.lock.Create)
	case err != nil:
		return err
	case !t.adopt(r):
		return ErrConflict
	}
	return t.write(ctx, t.lock.Update)
}

// adopt makes r the current record of our lease, or reports that it is not ours.
func (t *term) adopt(r Record) bool {
	t.observe(r)
	if r.HolderIdentity != t.record.HolderIdentity || r.LeaderTransitions != t.record.LeaderTransitions ||
		!r.AcquireTime.Equal(t.record.AcquireTime) {
		t.superseded = true
		if t.cancelLed != nil {
			t.cancelLed(fmt.Errorf("%w: %q holds the lease", ErrLost, r.HolderIdentity))
		}
		return false
	}
	t.record = r
	if p := r.PreferredHolder; t.opts.Coordinated && p != "" && p != r.HolderIdentity && t.cancelLed != nil {
		t.cancelLed(fmt.Errorf("%w: the election prefers %q", ErrLost, p))
	}
	if a, ok := t.attempts.find(r); ok {
		// A renewal without a reply.
		t.extend(a.at)
	}
	return true
}

// write renews the lease by an update, or by creating it again.
func (t *term) write(ctx context.Context, write func(context.Context, Record) (Record, error)) error {
	r, sent := t.record, time.Now()
	r.RenewTime, r.LeaseDuration = stamp(), t.leaseSeconds()
	t.attempts.add(r, sent)
	got, err := write(ctx, r)
	if err != nil {
		return err
	}
	t.record, t.attempts = got, t.attempts[:0]
	t.observe(got)
	t.extend(sent)
	return nil
}

// extend moves the deadline: a renewal sent at that time has succeeded.
func (t *term) extend(sent time.Time) {
	t.mu.Lock()
	later := sent.After(t.renewed)
	if later {
		t.renewed = sent
	}
	t.mu.Unlock()
	// A watchdog that has fired has ended the led context.
	if later && t.watchdog.Stop() {
		t.watchdog.Reset(time.Until(sent.Add(t.opts.RenewDeadline)))
	}
}

// release releases the lease: no holder, and a duration of one second for
// candidates that only check that. It gives up after half the deadline.
func (t *term) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.requestTimeout())
	defer cancel()
	pause := 50 * time.Millisecond
	for {
		err := t.writeRelease(ctx)
		switch {
		case err == nil, t.superseded, errors.Is(err, ErrNotFound):
			return
		case ctx.Err() != nil:
			t.log.Warn("release lease failed", "err", err)
			return
		}
		_ = backoff.Sleep(ctx, pause) // its end is seen after the next write
		pause *= 2
	}
}

func (t *term) writeRelease(ctx context.Context) error {
	if t.record.Version == "" {
		r, err := t.lock.Get(ctx)
		if err != nil {
			return err
		}
		if !t.adopt(r) {
			return ErrConflict
		}
	}
	r := t.record
	r.HolderIdentity, r.LeaseDuration = "", time.Second
	r.RenewTime = stamp()
	r.AcquireTime = r.RenewTime
	got, err := t.lock.Update(ctx, r)
	switch {
	case err == nil:
		t.observe(got)
		t.log.Info("lease released")
	case errors.Is(err, ErrConflict):
		t.record.Version = "" // read it again
	}
	return err
}

// setLed stores Done of the led context, nil when lead has returned.
func (t *term) setLed(led <-chan struct{}, renewed time.Time) {
	t.mu.Lock()
	t.led, t.renewed = led, renewed
	t.mu.Unlock()
}

// retry returns RetryPeriod, up to a fifth shorter, so that electors spread out.
func (e *Elector) retry(ctx context.Context) time.Duration {
	return e.opts.RetryPeriod - backoff.Spread(ctx, e.opts.RetryPeriod/5)
}
