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
		wg.Go(func() {
			err := m.run(ctx)
			g.remove(m)
			if err != nil {
				failed(err)
			}
		})
	}
	g.mu.Lock()
	g.start = start
	for _, m := range g.members {
		start(m)
	}
	g.mu.Unlock()
	<-ctx.Done()
	g.mu.Lock()
	g.start = nil // members added from now on do not start
	g.mu.Unlock()
	wg.Wait()
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
