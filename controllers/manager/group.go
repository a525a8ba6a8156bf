package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// group is a set of runnables that are added before or while it runs and removed when they return.
type group struct {
	mu      sync.Mutex
	members []*member
	start   func(*member) // starts a member; nil unless the group runs
}

type member struct {
	name string
	r    Runnable
	wait func(context.Context) error // called before r.Run; may be nil
	// stop ends the member's context; nil until it is started. done is closed when it has returned. Both are
	// guarded by the mu of its group.
	stop context.CancelFunc
	done chan struct{}
}

func (g *group) add(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = append(g.members, m)
	if g.start != nil {
		g.start(m)
	}
}

func (g *group) has(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.members, func(m *member) bool { return m.name == name })
}

func (g *group) remove(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = slices.DeleteFunc(g.members, func(o *member) bool { return o == m })
}

// stop stops the members of a name and waits until they have returned or ctx ends. It reports whether there
// were any. A member that has not been started is run with a context that has ended, so that it releases
// what it holds.
func (g *group) stop(ctx context.Context, name string) (bool, error) {
	var stopped []*member
	g.mu.Lock()
	for _, m := range g.members {
		if m.name != name {
			continue
		}
		stopped = append(stopped, m)
		if m.stop != nil {
			m.stop()
			continue
		}
		ended, end := context.WithCancel(ctx)
		end()
		g.begin(ended, m, func(error) {})
	}
	g.mu.Unlock()
	for _, m := range stopped {
		select {
		case <-m.done:
		case <-ctx.Done():
			return true, fmt.Errorf("manager: %s has not returned: %w", name, ctx.Err())
		}
	}
	return len(stopped) > 0, nil
}

// names returns the names of the members that have not returned.
func (g *group) names() (names []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.members {
		names = append(names, m.name)
	}
	return names
}

// run runs the members until ctx has ended and all of them have returned. A member may return nil earlier.
// failed is called with the error of each member that fails, as soon as it does, and should end ctx.
func (g *group) run(ctx context.Context, failed func(error)) {
	var wg sync.WaitGroup
	start := func(m *member) {
		wg.Add(1)
		g.begin(ctx, m, func(err error) {
			defer wg.Done()
			if err != nil {
				failed(err)
			}
		})
	}
	g.mu.Lock()
	g.start = start
	for _, m := range g.members {
		if m.stop == nil {
			start(m)
		}
	}
	g.mu.Unlock()
	<-ctx.Done()
	g.mu.Lock()
	g.start = nil // members added from now on do not start
	g.mu.Unlock()
	wg.Wait()
}

// begin runs a member in a goroutine and calls returned when it has returned. The lock is held.
func (g *group) begin(ctx context.Context, m *member, returned func(error)) {
	ctx, m.stop = context.WithCancel(ctx)
	m.done = make(chan struct{})
	go func() {
		err := m.run(ctx)
		m.stop()
		g.remove(m)
		close(m.done)
		returned(err)
	}()
}

// run waits for what the member needs and runs it. An error that only reports the end of ctx is dropped.
func (m *member) run(ctx context.Context) error {
	var err error
	if m.wait != nil {
		err = m.wait(ctx)
	}
	if err == nil {
		err = m.r.Run(ctx)
	}
	if err == nil || ctx.Err() != nil && endOf(ctx, err) {
		return nil
	}
	return fmt.Errorf("%s: %w", m.name, err)
}

// endOf reports whether err is due to the end of ctx or of a context derived from it.
func endOf(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Cause(ctx))
}
