package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// group is a growing set of runnables that may be added before or while it runs. It forgets those that have
// returned.
type group struct {
	mu      sync.Mutex
	members []*member
	// start starts a member; nil unless the group runs.
	start func(*member)
}

type member struct {
	name string
	r    Runnable
	wait func(context.Context) error // before it runs; nil for nothing
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

// names are those of the members that have not returned.
func (g *group) names() (names []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.members {
		names = append(names, m.name)
	}
	return names
}

// run runs all members until ctx ends and they have returned. A member that returns nil early is done. failed
// is given the error of each that fails, at once; it is to end ctx.
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
	g.start = nil // a member added from now on is not started
	g.mu.Unlock()
	wg.Wait()
}

// run waits for what the member needs and runs it. An error that only says that ctx has ended is none.
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

// endOf reports whether err says that ctx ended, or a context made from it.
func endOf(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Cause(ctx))
}
