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

// cache caches the API server's results of reviews, and sends one review if many requests need the same
// one. It is safe for concurrent use.
type reviewCache[K comparable, V any] struct {
	reviews chan struct{}

	mu      sync.Mutex
	results map[K]cachedResult[V]
	flights map[K]*flight[V]
}

// flight is a review in progress. All fields but done are written before done is closed.
type flight[V any] struct {
	done      chan struct{}
	value     V
	err       error
	abandoned bool // the request that made it has ended
}

type cachedResult[V any] struct {
	value V
	until time.Time
}

func newReviewCache[K comparable, V any]() *reviewCache[K, V] {
	return &reviewCache[K, V]{reviews: make(chan struct{}, maxReviews), results: map[K]cachedResult[V]{}, flights: map[K]*flight[V]{}}
}

// get returns the result for key, and calls review if none is cached. The result of review is cached for ttl;
// an error is not, but it is returned to all requests that waited for it. A review runs with the context of
// the first request; if that request ends early, the next one starts its own.
func (a *reviewCache[K, V]) get(ctx context.Context, key K, review func(context.Context) (v V, ttl time.Duration, err error)) (V, error) {
	var zero V
	for {
		a.mu.Lock()
		if known, ok := a.results[key]; ok && time.Now().Before(known.until) {
			a.mu.Unlock()
			return known.value, nil
		}
		f := a.flights[key]
		if f == nil {
			f = &flight[V]{done: make(chan struct{})}
			a.flights[key] = f
			a.mu.Unlock()
			return a.runFlight(ctx, key, f, review)
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

// runFlight runs the review of a flight.
func (a *reviewCache[K, V]) runFlight(ctx context.Context, key K, f *flight[V], review func(context.Context) (V, time.Duration, error)) (V, error) {
	var ttl time.Duration
	f.value, ttl, f.err = a.runReview(ctx, review)
	f.abandoned = f.err != nil && ctx.Err() != nil
	a.mu.Lock()
	if f.err == nil {
		a.store(key, cachedResult[V]{f.value, time.Now().Add(ttl)})
	}
	delete(a.flights, key)
	a.mu.Unlock()
	close(f.done)
	return f.value, f.err
}

func (a *reviewCache[K, V]) runReview(ctx context.Context, review func(context.Context) (V, time.Duration, error)) (v V, ttl time.Duration, err error) {
	select {
	case a.reviews <- struct{}{}:
	case <-ctx.Done():
		return v, 0, context.Cause(ctx)
	}
	defer func() { <-a.reviews }()
	return review(ctx)
}

// store stores a result. If the cache is full it removes expired ones, else any.
func (a *reviewCache[K, V]) store(key K, v cachedResult[V]) {
	if len(a.results) >= maxAnswers {
		now := time.Now()
		for k, old := range a.results {
			if now.After(old.until) {
				delete(a.results, k)
			}
		}
		for k := range a.results {
			if len(a.results) < maxAnswers {
				break
			}
			delete(a.results, k)
		}
	}
	a.results[key] = v
}
