package delegated

import (
	"context"
	"sync"
	"time"
)

const (
	// maxAnswers is the maximum number of results in one cache: unauthenticated clients choose the tokens.
	maxAnswers = 4096
	// maxReviews is the maximum number of reviews that one cache has in flight; further ones wait.
	maxReviews = 32
)

// answers caches the API server's results of reviews, and sends one review if many requests need the same
// one. It is safe for concurrent use.
type answers[K comparable, V any] struct {
	reviews chan struct{}

	mu      sync.Mutex
	known   map[K]answer[V]
	flights map[K]*flight[V]
}

// flight is a review in progress. All fields but done are written before done is closed.
type flight[V any] struct {
	done      chan struct{}
	value     V
	err       error
	abandoned bool // the request that made it has ended
}

type answer[V any] struct {
	value V
	until time.Time
}

func newAnswers[K comparable, V any]() *answers[K, V] {
	return &answers[K, V]{reviews: make(chan struct{}, maxReviews), known: map[K]answer[V]{}, flights: map[K]*flight[V]{}}
}

// get returns the result for key, and calls review if none is cached. The result of review is cached for ttl;
// an error is not, but it is returned to all requests that waited for it. A review runs with the context of
// the first request; if that request ends early, the next one starts its own.
func (a *answers[K, V]) get(ctx context.Context, key K, review func(context.Context) (v V, ttl time.Duration, err error)) (V, error) {
	var zero V
	for {
		a.mu.Lock()
		if known, ok := a.known[key]; ok && time.Now().Before(known.until) {
			a.mu.Unlock()
			return known.value, nil
		}
		f := a.flights[key]
		if f == nil {
			f = &flight[V]{done: make(chan struct{})}
			a.flights[key] = f
			a.mu.Unlock()
			return a.lead(ctx, key, f, review)
		}
		a.mu.Unlock()
		select {
		case <-f.done:
			if !f.abandoned {
				return f.value, f.err
			}
		case <-ctx.Done():
			return zero, context.Cause(ctx)
		}
	}
}

// lead runs the review of a flight.
func (a *answers[K, V]) lead(ctx context.Context, key K, f *flight[V], review func(context.Context) (V, time.Duration, error)) (V, error) {
	var ttl time.Duration
	f.value, ttl, f.err = a.ask(ctx, review)
	f.abandoned = f.err != nil && ctx.Err() != nil
	a.mu.Lock()
	if f.err == nil {
		a.keep(key, answer[V]{f.value, time.Now().Add(ttl)})
	}
	delete(a.flights, key)
	a.mu.Unlock()
	close(f.done)
	return f.value, f.err
}

func (a *answers[K, V]) ask(ctx context.Context, review func(context.Context) (V, time.Duration, error)) (v V, ttl time.Duration, err error) {
	select {
	case a.reviews <- struct{}{}:
	case <-ctx.Done():
		return v, 0, context.Cause(ctx)
	}
	defer func() { <-a.reviews }()
	return review(ctx)
}

// keep stores a result. If the cache is full it removes expired ones, else any.
func (a *answers[K, V]) keep(key K, v answer[V]) {
	if len(a.known) >= maxAnswers {
		now := time.Now()
		for k, old := range a.known {
			if now.After(old.until) {
				delete(a.known, k)
			}
		}
		for k := range a.known {
			if len(a.known) < maxAnswers {
				break
			}
			delete(a.known, k)
		}
	}
	a.known[key] = v
}
