package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/client"
)

// load runs phases against a server.
type load struct {
	*config
	conns    []client.Conn
	progress *progress
}

// result is what a phase took.
type result struct {
	phase  string
	took   time.Duration
	times  []time.Duration // of each operation that succeeded, sorted
	errors int
	first  error
	usage  []usage // of each process, CPU time as spent in the phase
}

// run goes through the phases. It stops early if ctx ends, or if nothing at all succeeded.
func (l *load) run(ctx context.Context) ([]result, error) {
	var results []result
	chosen := l.phases
	if !slices.Contains(chosen, "create") {
		chosen = append([]string{"create"}, chosen...)
	}
	for _, p := range phases {
		if !slices.Contains(chosen, p.name) {
			continue
		}
		r := l.measure(ctx, p)
		results = append(results, r)
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		if len(r.times) == 0 {
			return results, fmt.Errorf("%s: nothing succeeded: %w", p.name, r.first)
		}
	}
	return results, nil
}

// measure runs one phase.
func (l *load) measure(ctx context.Context, p phase) result {
	before := l.usages()
	begun := time.Now()
	r := result{phase: p.name}
	if p.whole != nil {
		if r.times, r.first = p.whole(ctx, l); r.first != nil {
			r.errors = 1
		}
	} else {
		l.each(ctx, p, &r)
	}
	r.took = time.Since(begun)
	for i, u := range l.usages() {
		u.cpu -= before[i].cpu
		r.usage = append(r.usage, u)
	}
	l.progress.done()
	slices.Sort(r.times)
	return r
}

// each makes every operation of a phase once, with as many in flight as there are clients.
func (l *load) each(ctx context.Context, p phase, r *result) {
	total := p.count(l)
	var next, finished atomic.Int64
	var mu sync.Mutex
	var workers sync.WaitGroup
	for w := range min(l.clients, total) {
		workers.Go(func() {
			var times []time.Duration
			var failures []error
			for n := int(next.Add(1)) - 1; n < total && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				begun := time.Now()
				if err := p.do(ctx, l, l.conns[w%len(l.conns)], n); err != nil {
					failures = append(failures, err)
				} else {
					times = append(times, time.Since(begun))
				}
				l.progress.show(p.name, int(finished.Add(1)), total)
			}
			mu.Lock()
			defer mu.Unlock()
			r.times = append(r.times, times...)
			r.errors += len(failures)
			r.first = errors.Join(r.first, first(failures))
		})
	}
	workers.Wait()
}

func first(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return errs[0]
}

func (l *load) usages() []usage {
	all := make([]usage, len(l.pids))
	for i, pid := range l.pids {
		all[i], _ = usageOf(pid) // a process that ended shows nothing more
	}
	return all
}
