package apiserver

import (
	"context"
	"sync"
)

// phase is a phase of a server's life. Phases begin in the order of the constants, each at most once; a
// shutdown skips serving if the store could not be reached before.
type phase uint8

const (
	created   phase = iota // by New
	starting               // Run was called: the start hook writes what every cluster has
	serving                // it has succeeded, and requests for resources are served
	draining               // the context of Run and Serve has ended: as before, but not ready
	ending                 // watches are closed; with Options.ShutdownSendRetryAfter new requests get 429
	cutting                // streams to nodes and services are cut
	numPhases              // not a phase
)

// lifecycle holds the phase of a server, and what waits for one.
type lifecycle struct {
	mu      sync.Mutex
	phase   phase
	reached [numPhases]chan struct{}        // closed when that phase begins; that of a skipped phase never is
	hooks   [numPhases]map[*func()]struct{} // called when that phase begins
}

func newLifecycle() *lifecycle {
	l := &lifecycle{}
	for p := range l.reached {
		l.reached[p] = make(chan struct{})
	}
	return l
}

// advance begins phase p and reports true, unless it has begun or a later one has.
func (l *lifecycle) advance(p phase) bool {
	l.mu.Lock()
	if p <= l.phase {
		l.mu.Unlock()
		return false
	}
	l.phase = p
	close(l.reached[p])
	hooks := l.hooks[p]
	l.hooks[p] = nil
	l.mu.Unlock()
	for f := range hooks {
		(*f)()
	}
	return true
}

// has reports whether phase p has begun and was not skipped.
func (l *lifecycle) has(p phase) bool {
	select {
	case <-l.reached[p]:
		return true
	default:
		return false
	}
}

// within returns a context that ends with ctx or when phase p, which is never skipped, begins.
func (l *lifecycle) within(ctx context.Context, p phase) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	hook := func() { cancel() }
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase >= p {
		cancel()
		return ctx, cancel
	}
	if l.hooks[p] == nil {
		l.hooks[p] = map[*func()]struct{}{}
	}
	l.hooks[p][&hook] = struct{}{}
	return ctx, func() {
		l.mu.Lock()
		delete(l.hooks[p], &hook)
		l.mu.Unlock()
		cancel()
	}
}
