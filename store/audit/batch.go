package audit

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/workqueue"
)

// BatchOptions configure a Batch.
type BatchOptions struct {
	// Buffer is how many events wait at most; zero means 10000. Further ones are dropped.
	Buffer int
	// Size is the greatest number of events passed on together; zero means 400.
	Size int
	// Wait is how long an event waits for others; zero means 30 seconds.
	Wait time.Duration
	// QPS bounds the batches passed on per second, averaged over Burst of them; zero means no bound.
	QPS   float64
	Burst int
	// Parallel is how many batches are passed on at a time; zero means one, which keeps the order of events.
	Parallel int
	// Failed is called with events that are dropped; nil means not at all.
	Failed FailedFunc
}

// flushTime bounds the time that Batch.Run takes to pass on what waits when its context has ended.
const flushTime = 30 * time.Second

var (
	errFull    = errors.New("audit: the buffer is full")
	errStopped = errors.New("audit: the backend has been shut down")
)

// Batch is a Backend that keeps events for a moment and passes them on together, without making requests
// wait. It drops events when its buffer is full.
type Batch struct {
	next   Backend
	opts   BatchOptions
	buffer chan *auditv1.Event

	mu      sync.RWMutex
	stopped bool
}

// NewBatch returns a Batch before next. Run must run.
func NewBatch(next Backend, opts BatchOptions) *Batch {
	setDefault(&opts.Buffer, 10000)
	setDefault(&opts.Size, 400)
	setDefault(&opts.Wait, 30*time.Second)
	setDefault(&opts.Parallel, 1)
	return &Batch{next: next, opts: opts, buffer: make(chan *auditv1.Event, opts.Buffer)}
}

func setDefault[N int | time.Duration](p *N, v N) {
	if *p == 0 {
		*p = v
	}
}

// Record keeps events to pass them on. It never waits and never fails.
func (b *Batch) Record(_ context.Context, events ...*auditv1.Event) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for i, e := range events {
		if b.stopped {
			_ = b.opts.Failed.failed("buffered", errStopped, len(events)-i)
			return nil
		}
		select {
		case b.buffer <- e:
		default:
			_ = b.opts.Failed.failed("buffered", errFull, len(events)-i)
			return nil
		}
	}
	return nil
}

// Run passes on events until ctx ends, then those that still wait, for at most 30 seconds, and returns nil.
// Events recorded afterwards are dropped. End ctx when the server no longer serves requests.
func (b *Batch) Run(ctx context.Context) error {
	flush, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		_ = backoff.Sleep(flush, flushTime)
		cancel()
	})()
	limit := func() {}
	if b.opts.QPS > 0 {
		bucket := workqueue.Bucket[struct{}](b.opts.QPS, max(b.opts.Burst, 1))
		limit = func() {
			if d := bucket.When(struct{}{}); d > 0 {
				_ = backoff.Sleep(ctx, d) // at the end there is no limit
			}
		}
	}
	free := make(chan struct{}, b.opts.Parallel)
	var deliveries sync.WaitGroup
	deliver := func(events []*auditv1.Event) {
		if len(events) == 0 {
			return
		}
		limit()
		if b.opts.Parallel == 1 {
			_ = b.next.Record(flush, events...) // reported by the backend
			return
		}
		free <- struct{}{}
		deliveries.Go(func() {
			defer func() { <-free }()
			_ = b.next.Record(flush, events...) // reported by the backend
		})
	}
	for ctx.Err() == nil {
		deliver(b.collect(ctx))
	}
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	for len(b.buffer) > 0 {
		deliver(b.collect(ctx))
	}
	deliveries.Wait()
	return nil
}

// collect waits for events, and returns a batch of them. When ctx has ended it does not wait.
func (b *Batch) collect(ctx context.Context) (events []*auditv1.Event) {
	select {
	case e := <-b.buffer:
		events = append(events, e)
	case <-ctx.Done():
		select {
		case e := <-b.buffer:
			events = append(events, e)
		default:
			return nil
		}
	}
	var expired <-chan time.Time
	for len(events) < b.opts.Size {
		select {
		case e := <-b.buffer:
			events = append(events, e)
			continue
		default:
		}
		if ctx.Err() != nil {
			return events
		}
		if expired == nil {
			timer := time.NewTimer(b.opts.Wait)
			defer timer.Stop()
			expired = timer.C
		}
		select {
		case e := <-b.buffer:
			events = append(events, e)
		case <-expired:
			return events
		case <-ctx.Done():
		}
	}
	return events
}
