// Package backoff waits between attempts: longer after each failure, not at all
// once the context ends.
//
//	for attempt := range backoff.Attempts(ctx, backoff.Policy{Steps: 5}) {
//		if err = try(); err == nil {
//			break
//		}
//	}
//
// Nothing here starts a goroutine or keeps a clock; time is package time, so
// tests run in a testing/synctest bubble without waiting.
package backoff

import (
	"context"
	"iter"
	"math"
	"time"
)

// Policy says how long to wait before each further attempt. The zero value waits
// 100 ms, 200 ms, 400 ms and so on up to 30 s, without jitter and without end.
// It is a plain value and may be shared.
type Policy struct {
	// Initial is the first wait; 0 means 100 ms.
	Initial time.Duration
	// Factor multiplies the wait after each attempt; 0 means 2, 1 keeps it. Values
	// below 1 count as 1.
	Factor float64
	// Max bounds the wait before jitter; 0 means 30 s, or Initial if that is longer.
	Max time.Duration
	// Jitter adds a random share of the wait, up to this fraction of it: 0.1 makes
	// 10 s something from 10 s to 11 s. 0 means none.
	Jitter float64
	// Steps is how many attempts there are, the first included; 0 means no limit.
	Steps int
}

const (
	defaultInitial = 100 * time.Millisecond
	defaultFactor  = 2
	defaultMax     = 30 * time.Second
)

// Delay is the wait after n failed attempts; 0 for n <= 0. With jitter, two calls
// differ.
func (p Policy) Delay(ctx context.Context, n int) time.Duration {
	if n <= 0 {
		return 0
	}
	delay := p.base(n)
	if p.Jitter > 0 {
		delay += time.Duration(min(Jitter(ctx)*p.Jitter*float64(delay), float64(math.MaxInt64-delay)/2))
	}
	return delay
}

func (p Policy) base(n int) time.Duration {
	initial, factor, limit := p.Initial, p.Factor, p.Max
	if initial <= 0 {
		initial = defaultInitial
	}
	if factor == 0 {
		factor = defaultFactor
	}
	factor = max(factor, 1)
	if limit <= 0 {
		limit = max(defaultMax, initial)
	}
	// Huge exponents give +Inf, which the comparison handles.
	if delay := float64(initial) * math.Pow(factor, float64(n-1)); delay < float64(limit) {
		return time.Duration(delay)
	}
	return limit
}

// Attempts yields the attempts 0, 1, 2, ... and waits in between as the policy says. It ends after
// policy.Steps attempts or when ctx ends, also in the middle of a wait; a ctx that has already ended yields
// nothing. The sequence may be ranged over again, starting from 0.
func Attempts(ctx context.Context, policy Policy) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := 0; policy.Steps <= 0 || n < policy.Steps; n++ {
			if Sleep(ctx, policy.Delay(ctx, n)) != nil || !yield(n) {
				return
			}
		}
	}
}

// Retry calls fn until it returns nil, returns an error that retryable refuses,
// or the attempts end. It returns nil, the last error of fn, or, if fn was never
// called, the cause of the context's end. A nil retryable retries every error.
func Retry(ctx context.Context, policy Policy, retryable func(error) bool, fn func(context.Context) error) error {
	var last error
	tried := false
	for range Attempts(ctx, policy) {
		tried = true
		if last = fn(ctx); last == nil || retryable != nil && !retryable(last) {
			return last
		}
	}
	if !tried {
		return context.Cause(ctx)
	}
	return last
}

// Poll calls fn at once and then again each time interval has passed since it
// returned, until it reports done or an error, which Poll returns, or ctx ends,
// whose cause Poll returns.
func Poll(ctx context.Context, interval time.Duration, fn func(context.Context) (done bool, err error)) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if done, err := fn(ctx); err != nil || done {
			return err
		}
		if err := Sleep(ctx, interval); err != nil {
			return err
		}
	}
}

// Sleep waits for d, or until ctx ends and then returns its cause. A ctx that has
// already ended wins also over a d of 0.
func Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
