package delegated

import (
	"context"
	"sync"
	"time"
)

const (
	// maxAnswers bounds the answers kept by one cache: strangers choose the tokens.
	maxAnswers = 4096
	// maxReviews bounds the reviews that one cache has under way at a time; further ones wait.
	maxReviews = 32
)

// answers keeps the API server's answers to reviews, and sends one review where many requests need the same
// one. Safe for concurrent use.
type answers[K comparable, V any] struct {
	reviews chan struct{}

	mu      sync.Mutex
	known   map[K]answer[V]
	flights map[K]*flight[V]
}

// flight is a review under way. All but done is written before done is closed.
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

// get returns the answer for key, and calls review if none is known. What review returns is kept for ttl, an
// error never, but it is the error of all requests that waited for it. A review is made under the context of
// the request that was first; if that request ends early, the next one makes its own.
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

// lead makes the review of a flight.
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

// keep stores an answer and makes room for it: expired ones go first, else any.
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
