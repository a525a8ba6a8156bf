package workqueue_test

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keelson-dev/keelson/workqueue"
)

type key struct{ Namespace, Name string }

func benchKeys(n int) []key {
	keys := make([]key, n)
	for i := range keys {
		keys[i] = key{"default", "object-" + strconv.Itoa(i)}
	}
	return keys
}

func noMetrics() *workqueue.Metrics {
	return &workqueue.Metrics{
		Depth:         func(int, int) {},
		Adds:          func() {},
		Retries:       func() {},
		QueueDuration: func(time.Duration) {},
		WorkDuration:  func(time.Duration) {},
	}
}

// modes are the options each benchmark runs with.
func modes() map[string]workqueue.Options[key] {
	return map[string]workqueue.Options[key]{
		"plain":   {},
		"metrics": {Metrics: noMetrics()},
		"tenants": {Tenant: func(k key) string { return k.Namespace }},
	}
}

func BenchmarkQueueAddGetDone(b *testing.B) {
	for name, opts := range modes() {
		b.Run(name, func(b *testing.B) {
			q := workqueue.New(opts)
			keys := benchKeys(1024)
			ctx := context.Background()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				q.Add(keys[i&1023])
				k, _ := q.Get(ctx)
				q.Done(k)
				i++
			}
		})
	}
	b.Run("priorities", func(b *testing.B) {
		q := workqueue.New(workqueue.Options[key]{})
		keys := benchKeys(1024)
		for i, k := range keys {
			q.AddWith(k, workqueue.AddOptions{Priority: i%8 - 4})
		}
		ctx := context.Background()
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			k, _ := q.Get(ctx)
			q.Done(k)
			q.AddWith(k, workqueue.AddOptions{Priority: i%8 - 4})
			i++
		}
	})
}

type parallelKey struct{ worker, i int64 }

// BenchmarkQueueParallel is eight goroutines that each add a key, take one and
// finish it.
func BenchmarkQueueParallel(b *testing.B) {
	for name, metrics := range map[string]*workqueue.Metrics{"plain": nil, "metrics": noMetrics()} {
		b.Run(name, func(b *testing.B) {
			// Keys never repeat, so that every Get finds one.
			q := workqueue.New(workqueue.Options[parallelKey]{Metrics: metrics})
			ctx := context.Background()
			var worker atomic.Int64
			b.SetParallelism(max(1, 8/runtime.GOMAXPROCS(0)))
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				k := parallelKey{worker: worker.Add(1)}
				for pb.Next() {
					k.i++
					q.Add(k)
					got, _ := q.Get(ctx)
					q.Done(got)
				}
			})
		})
	}
}

// BenchmarkQueueWorkers is one producer and eight workers that wait for it.
func BenchmarkQueueWorkers(b *testing.B) {
	q := workqueue.New(workqueue.Options[key]{})
	ctx := context.Background()
	keys := benchKeys(100_000)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				k, err := q.Get(ctx)
				if err != nil {
					return
				}
				q.Done(k)
			}
		})
	}
	b.ReportAllocs()
	for i := range b.N {
		q.Add(keys[i%len(keys)])
	}
	_ = q.ShutDownWithDrain(ctx)
	workers.Wait()
}

func BenchmarkQueueAddAfter(b *testing.B) {
	for name, opts := range modes() {
		b.Run(name, func(b *testing.B) {
			q := workqueue.New(opts)
			defer q.ShutDown()
			keys := benchKeys(100_000)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				q.AddAfter(keys[i%len(keys)], time.Duration(i%1000+1)*time.Hour)
				i++
			}
		})
	}
}
