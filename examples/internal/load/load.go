// Package load puts load on an API server and measures the result: throughput, latencies, and the CPU time
// and memory of the server's processes. examples/loadtest is its command line; the benchmarks of
// examples/kube-apiserver run it too.
package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// Options define the load. All numbers except Changes must be at least 1.
type Options struct {
	// Namespace to work in; it must not exist yet.
	Namespace string
	// Objects is the number of pods to create, 4 kB each.
	Objects int
	// Clients is the number of requests in flight.
	Clients int
	// Lists is how often the list phases list.
	Lists int
	// Watchers of the watch phase, and Events each of them sees.
	Watchers, Events int
	// Changes is the percentage of applies that change something.
	Changes int
	// PIDs are the server's processes, whose usage is measured (needs /proc).
	PIDs []int
	// Progress receives progress messages; nil discards them.
	Progress *os.File
}

// Load is a load on one server. Its methods are called one after the other.
type Load struct {
	Options
	conns    []client.Conn
	progress *progress
}

// New returns a load on the server behind conns, at least one, over which requests are spread.
func New(conns []client.Conn, o Options) *Load {
	return &Load{Options: o, conns: conns, progress: newProgress(o.Progress)}
}

// Result is the result of a phase.
type Result struct {
	Phase string
	Took  time.Duration
	// Times of the operations that succeeded, sorted.
	Times []time.Duration
	// Errors is how many failed, and First joins the first failure of each client.
	Errors int
	First  error
	// Usage of each process, CPU time as spent in the phase.
	Usage []Usage
}

// Prepare makes the namespace and the service account its pods name, and lists pods once: a server may start
// the cache of a kind on the first request for it, and servers with controllers around them have it running
// before there are many objects.
func (l *Load) Prepare(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}}
	if _, err := client.For[*corev1.Namespace](l.conns[0]).Create(ctx, ns); apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s exists already: delete it, or choose another", l.Namespace)
	} else if err != nil {
		return fmt.Errorf("namespace %s: %w", l.Namespace, err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: "default"}}
	if _, err := client.For[*corev1.ServiceAccount](l.conns[0]).Create(ctx, account); err != nil && !apierrors.IsAlreadyExists(err) {
		return errors.Join(fmt.Errorf("service account: %w", err), l.CleanUp(ctx))
	}
	if _, err := client.For[*corev1.Pod](l.conns[0]).List(ctx, client.ListOptions{Namespace: l.Namespace, Limit: 1}); err != nil {
		return errors.Join(fmt.Errorf("list: %w", err), l.CleanUp(ctx))
	}
	return nil
}

// CleanUp deletes the namespace and what is left in it.
func (l *Load) CleanUp(ctx context.Context) error {
	now := int64(0)
	all := client.ListOptions{Namespace: l.Namespace}
	return errors.Join(
		client.For[*corev1.Pod](l.conns[0]).DeleteCollection(ctx, all, client.DeleteOptions{GracePeriodSeconds: &now}),
		client.For[*corev1.ConfigMap](l.conns[0]).DeleteCollection(ctx, all, client.DeleteOptions{}),
		client.For[*corev1.Namespace](l.conns[0]).Delete(ctx, types.NamespacedName{Name: l.Namespace}))
}

// Run goes through the phases chosen, in the order of Names. It stops early if ctx ends, or if no operation
// of a phase succeeded.
func (l *Load) Run(ctx context.Context, chosen []string) ([]Result, error) {
	var results []Result
	for _, p := range phases {
		if !slices.Contains(chosen, p.name) {
			continue
		}
		r := l.measure(ctx, p)
		results = append(results, r)
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		if len(r.Times) == 0 {
			return results, fmt.Errorf("%s: nothing succeeded: %w", p.name, r.First)
		}
	}
	return results, nil
}

// measure runs one phase.
func (l *Load) measure(ctx context.Context, p phase) Result {
	before := l.usages()
	begun := time.Now()
	r := Result{Phase: p.name}
	if p.whole != nil {
		if r.Times, r.First = p.whole(ctx, l); r.First != nil {
			r.Errors = 1
		}
	} else {
		l.each(ctx, p, &r)
	}
	r.Took = time.Since(begun)
	for i, u := range l.usages() {
		u.CPU -= before[i].CPU
		r.Usage = append(r.Usage, u)
	}
	l.progress.done()
	slices.Sort(r.Times)
	return r
}

// each performs every operation of a phase once, with as many in flight as there are clients.
func (l *Load) each(ctx context.Context, p phase, r *Result) {
	total := p.count(l)
	var next, finished atomic.Int64
	var mu sync.Mutex
	var workers sync.WaitGroup
	for w := range min(l.Clients, total) {
		workers.Go(func() {
			var times []time.Duration
			var failed int
			var first error
			for n := int(next.Add(1)) - 1; n < total && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				begun := time.Now()
				if err := p.do(ctx, l, l.conns[w%len(l.conns)], n); err != nil {
					failed++
					if first == nil {
						first = err
					}
				} else {
					times = append(times, time.Since(begun))
				}
				l.progress.show(p.name, int(finished.Add(1)), total)
			}
			mu.Lock()
			defer mu.Unlock()
			r.Times = append(r.Times, times...)
			r.Errors += failed
			r.First = errors.Join(r.First, first)
		})
	}
	workers.Wait()
}

func (l *Load) usages() []Usage {
	all := make([]Usage, len(l.PIDs))
	for i, pid := range l.PIDs {
		all[i], _ = UsageOf(pid) // zero for a process that has ended
	}
	return all
}
