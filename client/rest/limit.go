package rest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
)

// limiter limits the requests in flight. The limit grows by one per round of replies while it is used,
// and is halved, once a second at most, when the server is overloaded. Waiters are served in order.
type limiter struct {
	ceiling int
	changed func(int) // called by report only; may be nil

	mu        sync.Mutex
	limit     float64
	inFlight  int
	waiters   []chan struct{}
	lastCut   time.Time
	reported  int  // the limit of the last call of changed; 0 before
	reporting bool // a goroutine is in report
}

const startLimit = 32

func newLimiter(ceiling int, changed func(int)) *limiter {
	return &limiter{ceiling: ceiling, changed: changed, limit: float64(min(startLimit, ceiling))}
}

// acquire waits for a slot and returns for how long. After an error there is nothing to release.
func (l *limiter) acquire(ctx context.Context) (time.Duration, error) {
	l.mu.Lock()
	if len(l.waiters) == 0 && l.inFlight < int(l.limit) {
		l.inFlight++
		l.mu.Unlock()
		return 0, nil
	}
	slot := make(chan struct{})
	l.waiters = append(l.waiters, slot)
	l.mu.Unlock()
	start := time.Now()
	select {
	case <-slot:
		return time.Since(start), nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	if i := slices.Index(l.waiters, slot); i >= 0 {
		l.waiters = slices.Delete(l.waiters, i, i+1)
	} else {
		// The slot was granted at the same moment: pass it on.
		l.inFlight--
		l.admit()
	}
	l.mu.Unlock()
	return time.Since(start), ctx.Err()
}

// outcome is what a finished request shows about the server's load.
type outcome int

const (
	unclear outcome = iota
	answered
	overloaded
)

func (l *limiter) release(o outcome) {
	l.mu.Lock()
	used := float64(l.inFlight) >= l.limit*0.8 || len(l.waiters) > 0
	l.inFlight--
	switch o {
	case answered:
		if used {
			l.limit = min(l.limit+1/l.limit, float64(l.ceiling))
		}
	case overloaded:
		if time.Since(l.lastCut) >= time.Second {
			l.limit, l.lastCut = max(1, l.limit/2), time.Now()
		}
	}
	l.admit()
	l.mu.Unlock()
	l.report()
}

// report calls changed until it has been called with the current limit. Only one goroutine does at a time, so
// that the last call is never one with an earlier limit.
func (l *limiter) report() {
	if l.changed == nil {
		return
	}
	l.mu.Lock()
	for !l.reporting && l.reported != int(l.limit) {
		n := int(l.limit)
		l.reported, l.reporting = n, true
		l.mu.Unlock()
		l.changed(n)
		l.mu.Lock()
		l.reporting = false
	}
	l.mu.Unlock()
}

// admit grants slots to waiters while the limit allows.
func (l *limiter) admit() {
	for len(l.waiters) > 0 && l.inFlight < int(l.limit) {
		close(l.waiters[0])
		l.waiters = l.waiters[1:]
		l.inFlight++
	}
}

// pacer is a fixed limit of the rate.
type pacer struct {
	every time.Duration
	burst int

	mu   sync.Mutex
	next time.Time // when the bucket is full again, in the sense of the generic cell rate algorithm
}

func newPacer(qps float64, burst int) *pacer {
	if qps <= 0 {
		return nil
	}
	return &pacer{every: time.Duration(float64(time.Second) / qps), burst: max(1, burst)}
}

// wait waits as long as the rate requires and returns that time.
func (p *pacer) wait(ctx context.Context) (time.Duration, error) {
	if p == nil {
		return 0, ctx.Err()
	}
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(p.every)
	d := p.next.Sub(now) - time.Duration(p.burst)*p.every
	p.mu.Unlock()
	return max(0, d), backoff.Sleep(ctx, d)
}
