package events

import (
	"context"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Run writes recorded events until ctx ends, and then the queued ones, for two seconds at most. It returns
// nil.
func (r *Recorder) Run(ctx context.Context) error {
	c := newCorrelator(r.opts)
	s := newSeries()
	tick := time.NewTicker(seriesTick)
	defer tick.Stop()
	// An event that is being written when ctx ends, and those queued by then, are still written.
	writing, end := extendContext(ctx, flushTimeout)
	defer end()
	for ctx.Err() == nil {
		select {
		case p := <-r.queue:
			r.write(writing, c, s, p)
			r.logLost()
		case <-tick.C:
			r.sweep(writing, s)
		case <-ctx.Done():
		}
	}
	for {
		select {
		case p := <-r.queue:
			r.write(writing, c, s, p)
		default:
			r.logLost()
			return nil
		}
	}
}

func (r *Recorder) write(ctx context.Context, c *correlator, s *series, p pending) {
	if p.modern != nil {
		r.writeModern(ctx, s, p.modern)
		return
	}
	e, known := c.correlate(p.core)
	if e == nil {
		r.drop("spam", nil)
		return
	}
	err := r.retry(ctx, func() error {
		if e.Count > 1 && known.name != "" {
			patch := corePatch(e)
			key := metav1.KeyOf(e)
			key.Name = known.name
			_, err := r.core.Patch(ctx, key, patch)
			if err == nil {
				r.countWritten(false)
				return nil
			}
			if !apierrors.IsNotFound(err) {
				return err
			}
			// It has expired: create it again, with the current count.
		}
		made, err := r.core.Create(ctx, e)
		if err == nil {
			known.name = made.Name
			r.countWritten(true)
		}
		return err
	}, func() { e.Name = r.nameOf(e.InvolvedObject, time.Now().Add(backoff.Spread(ctx, time.Millisecond))) })
	r.failed(err)
}

func (r *Recorder) countWritten(created bool) {
	if r.opts.Metrics.Written != nil {
		r.opts.Metrics.Written(created)
	}
}

func (r *Recorder) failed(err error) {
	switch {
	case err == nil:
	case apierrors.CodeOf(err) != 0:
		r.drop("refused", err)
	default:
		r.drop("failed", err)
	}
}

// retry writes, retrying with growing waits while there is no reply or the server is overloaded, for about a
// minute. rename is called if another event has the name.
func (r *Recorder) retry(ctx context.Context, write func() error, rename func()) error {
	wait := 500 * time.Millisecond
	for n, lost := 0, false; ; n++ {
		err := write()
		if apierrors.IsAlreadyExists(err) {
			if lost {
				// An earlier try has succeeded without a reply.
				return nil
			}
			if rename(); n < 7 {
				continue
			}
		}
		code := apierrors.CodeOf(err)
		if err == nil || n == 7 || code != 0 && code != 429 && code < 500 {
			return err
		}
		lost = true
		t := time.NewTimer(wait/2 + backoff.Spread(ctx, wait/2))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
		wait = min(2*wait, 20*time.Second)
	}
}
