package cache

import (
	"context"
	"errors"
	"sync"
)

// sharedCall lets concurrent readers share one call of the store: those that arrive while a call is running
// wait for the next one, which begins after they arrived and whose result is therefore recent enough for all
// of them.
type sharedCall[T any] struct {
	slot chan struct{} // held by the running call

	mu   sync.Mutex
	next *call[T] // not begun yet
}

type call[T any] struct {
	done   chan struct{}
	result T
	err    error
}

func newSharedCall[T any]() sharedCall[T] { return sharedCall[T]{slot: make(chan struct{}, 1)} }

// do returns the result of a call of fn that began after do was called.
func (s *sharedCall[T]) do(ctx context.Context, fn func(context.Context) (T, error)) (T, error) {
	for {
		c, leads := s.join()
		if leads {
			s.run(ctx, c, fn)
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			var zero T
			return zero, ctx.Err()
		}
		if !leads && (errors.Is(c.err, context.Canceled) || errors.Is(c.err, context.DeadlineExceeded)) && ctx.Err() == nil {
			continue // the context of the reader that made the call has ended
		}
		return c.result, c.err
	}
}

// join returns the next call and whether the caller must make it.
func (s *sharedCall[T]) join() (c *call[T], leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		return s.next, false
	}
	s.next = &call[T]{done: make(chan struct{})}
	return s.next, true
}

func (s *sharedCall[T]) run(ctx context.Context, c *call[T], fn func(context.Context) (T, error)) {
	defer close(c.done)
	select {
	case s.slot <- struct{}{}:
		defer func() { <-s.slot }()
	case <-ctx.Done():
		c.err = ctx.Err()
	}
	s.mu.Lock()
	s.next = nil // readers that arrive from here on need a later call
	s.mu.Unlock()
	if c.err == nil {
		c.result, c.err = fn(ctx)
	}
}
