package cache

import (
	"context"
	"errors"
	"sync"
)

// shared lets concurrent readers share one question to the store: those that arrive while one is under way
// wait for the next, which begins after they came and whose answer is therefore new enough for all of them.
type shared[T any] struct {
	slot chan struct{} // held by the question under way

	mu   sync.Mutex
	next *question[T] // not begun yet
}

type question[T any] struct {
	done   chan struct{}
	answer T
	err    error
}

func newShared[T any]() shared[T] { return shared[T]{slot: make(chan struct{}, 1)} }

// do returns the answer of a call of ask that began after do was called.
func (s *shared[T]) do(ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	for {
		q, leads := s.join()
		if leads {
			s.ask(ctx, q, ask)
		}
		select {
		case <-q.done:
		case <-ctx.Done():
			var zero T
			return zero, ctx.Err()
		}
		if !leads && (errors.Is(q.err, context.Canceled) || errors.Is(q.err, context.DeadlineExceeded)) && ctx.Err() == nil {
			continue // the one who asked gave up
		}
		return q.answer, q.err
	}
}

// join returns the next question and whether the caller must ask it.
func (s *shared[T]) join() (*question[T], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		return s.next, false
	}
	s.next = &question[T]{done: make(chan struct{})}
	return s.next, true
}

func (s *shared[T]) ask(ctx context.Context, q *question[T], ask func(context.Context) (T, error)) {
	defer close(q.done)
	select {
	case s.slot <- struct{}{}:
		defer func() { <-s.slot }()
	case <-ctx.Done():
		q.err = ctx.Err()
	}
	s.mu.Lock()
	s.next = nil // whoever comes now is too late for this one
	s.mu.Unlock()
	if q.err == nil {
		q.answer, q.err = ask(ctx)
	}
}
