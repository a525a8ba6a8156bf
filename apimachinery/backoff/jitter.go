package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

type jitterKey struct{}

// WithJitter returns a context in which draw replaces the global random generator as the source of [Jitter],
// so that a test can replay the waits of a run. draw returns numbers in [0, 1). It is called from every
// goroutine that the context is passed to; a run is only repeated exactly if their order does not decide who
// gets which number.
func WithJitter(ctx context.Context, draw func() float64) context.Context {
	return context.WithValue(ctx, jitterKey{}, draw)
}

// Jitter returns a random number in [0, 1), from the source set by [WithJitter] if there is one. Every wait
// of this module that is spread at random draws from it.
func Jitter(ctx context.Context) float64 {
	if draw, ok := ctx.Value(jitterKey{}).(func() float64); ok {
		return draw()
	}
	return rand.Float64()
}

// Spread returns a random duration from 0 to d, drawn with [Jitter].
func Spread(ctx context.Context, d time.Duration) time.Duration {
	return time.Duration(Jitter(ctx) * float64(d))
}
