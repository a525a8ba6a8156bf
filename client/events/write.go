package events

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Run writes what is recorded until ctx ends, and then what is queued, for two seconds at most. It returns
// nil.
func (r *Recorder) Run(ctx context.Context) error {
	c := newCorrelator(r.o)
	s := newSeries()
	tick := time.NewTicker(seriesTick)
	defer tick.Stop()
	// An event that is being written when ctx ends, and those queued by then, are written all the same.
	writing, end := linger(ctx, lastWrites)
	defer end()
	for ctx.Err() == nil {
		select {
		case p := <-r.queue:
			r.write(writing, c, s, p)
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
	err := r.try(ctx, func() error {
		if e.Count > 1 && known.name != "" {
			patch := corePatch(e)
			key := metav1.KeyOf(e)
			key.Name = known.name
			_, err := r.core.Patch(ctx, key, patch)
			if err == nil {
				r.wrote(false)
				return nil
			}
			if !apierrors.IsNotFound(err) {
				return err
			}
			// It has expired: begin again, with the count so far.
		}
		made, err := r.core.Create(ctx, e)
		if err == nil {
			known.name = made.Name
			r.wrote(true)
		}
		return err
	}, func() { e.Name = r.nameOf(e.InvolvedObject, time.Now().Add(rand.N(time.Millisecond))) })
	r.failed(err)
}

func (r *Recorder) wrote(created bool) {
	if r.o.Metrics.Written != nil {
		r.o.Metrics.Written(created)
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

// try writes, again with growing waits while there is no answer or the server is overloaded, for about a
// minute. rename is called when the name is taken, by an event of somebody else.
func (r *Recorder) try(ctx context.Context, write func() error, rename func()) error {
	wait := 500 * time.Millisecond
	for n, lost := 0, false; ; n++ {
		err := write()
		if apierrors.IsAlreadyExists(err) {
			if lost {
				// It was written before; only the answer did not come.
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
		t := time.NewTimer(wait/2 + rand.N(wait/2))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
		wait = min(2*wait, 20*time.Second)
	}
}
