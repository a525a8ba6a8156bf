package cache

import (
	"context"
	"errors"
	"sync"

	"github.com/keelson-dev/keelson/store"
)

// sharedProgress lets concurrent consistent readers share one question to the store: those that
// arrive while one is under way wait for the next, which begins after they came
// and is therefore new enough for all of them.
type sharedProgress struct {
	store store.Store
	slot  chan struct{} // held by the question under way

	mu   sync.Mutex
	next *question // not begun yet
}

type question struct {
	done     chan struct{}
	revision int64
	err      error
}

func (p *sharedProgress) init(s store.Store) { p.store, p.slot = s, make(chan struct{}, 1) }

func (p *sharedProgress) progress(ctx context.Context, prefix string) (int64, error) {
	for {
		q, leads := p.join()
		if leads {
			p.ask(ctx, prefix, q)
		}
		select {
		case <-q.done:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		if !leads && (errors.Is(q.err, context.Canceled) || errors.Is(q.err, context.DeadlineExceeded)) && ctx.Err() == nil {
			continue // the one who asked gave up
		}
		return q.revision, q.err
	}
}

// join returns the next question and whether the caller must ask it.
func (p *sharedProgress) join() (*question, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next != nil {
		return p.next, false
	}
	p.next = &question{done: make(chan struct{})}
	return p.next, true
}

func (p *sharedProgress) ask(ctx context.Context, prefix string, q *question) {
	defer close(q.done)
	select {
	case p.slot <- struct{}{}:
		defer func() { <-p.slot }()
	case <-ctx.Done():
		q.err = ctx.Err()
	}
	p.mu.Lock()
	p.next = nil // whoever comes now is too late for this one
	p.mu.Unlock()
	if q.err == nil {
		q.revision, q.err = p.store.Progress(ctx, prefix)
	}
}
