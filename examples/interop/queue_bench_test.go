package interop

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	upqueue "k8s.io/client-go/util/workqueue"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/workqueue"
)

// Every benchmark here has a sub-benchmark /keelson and one /upstream that do the same work. Only their ratio counts.

func newUpstreamQueue() upqueue.TypedRateLimitingInterface[types.NamespacedName] {
	return upqueue.NewTypedRateLimitingQueue(upqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
}

func queueKeys(n int) []types.NamespacedName {
	keys := make([]types.NamespacedName, n)
	for i := range keys {
		keys[i] = types.NamespacedName{Namespace: "default", Name: "object-" + strconv.Itoa(i)}
	}
	return keys
}

// watchedOptions are a queue's with everything on that costs time: metrics, tenants, priorities that age.
func watchedOptions[K comparable](tenant func(K) string) workqueue.Options[K] {
	return workqueue.Options[K]{Tenant: tenant, Metrics: &workqueue.Metrics{
		Depth: func(int, int) {}, Adds: func() {}, Retries: func() {}, QueueDuration: func(time.Duration) {}, WorkDuration: func(time.Duration) {},
	}}
}

func namespaceOf(k types.NamespacedName) string { return k.Namespace }

// BenchmarkQueueAddGetDone is one goroutine that adds a key, takes it and finishes it; /watched is ours with metrics and fairness on.
func BenchmarkQueueAddGetDone(b *testing.B) {
	keys, ctx := queueKeys(1024), context.Background()
	run := func(name string, add, done func(types.NamespacedName), get func() types.NamespacedName) {
		i := 0
		loop(b, name, func() error {
			add(keys[i&1023])
			done(get())
			i++
			return nil
		})
	}
	for name, opts := range map[string]workqueue.Options[types.NamespacedName]{"keelson": {}, "watched/keelson": watchedOptions(namespaceOf)} {
		q := workqueue.New(opts)
		run(name, q.Add, q.Done, func() types.NamespacedName { k, _ := q.Get(ctx); return k })
	}
	q := newUpstreamQueue()
	defer q.ShutDown()
	run("upstream", q.Add, q.Done, func() types.NamespacedName { k, _ := q.Get(); return k })
}

// BenchmarkQueueParallel is eight goroutines that each add a key, take one and finish it.
func BenchmarkQueueParallel(b *testing.B) {
	type key struct{ worker, i int64 }
	run := func(name string, step func(key)) {
		b.Run(name, func(b *testing.B) {
			var worker atomic.Int64
			b.SetParallelism(max(1, 8/runtime.GOMAXPROCS(0)))
			b.ReportAllocs()
			began := cpu(b)
			b.RunParallel(func(pb *testing.PB) {
				k := key{worker: worker.Add(1) + time.Now().UnixNano()}
				for pb.Next() {
					k.i++
					step(k)
				}
			})
			b.ReportMetric(float64(cpu(b)-began)/float64(b.N), "cpu-ns/op")
		})
	}
	ctx := context.Background()
	for name, opts := range map[string]workqueue.Options[key]{"keelson": {}, "watched/keelson": watchedOptions(func(k key) string { return "one" })} {
		q := workqueue.New(opts)
		run(name, func(k key) {
			q.Add(k)
			got, _ := q.Get(ctx)
			q.Done(got)
		})
	}
	theirs := upqueue.NewTypedRateLimitingQueue(upqueue.DefaultTypedControllerRateLimiter[key]())
	defer theirs.ShutDown()
	run("upstream", func(k key) {
		theirs.Add(k)
		got, _ := theirs.Get()
		theirs.Done(got)
	})
}

// BenchmarkQueueAddAfter adds 100,000 keys again and again with delays that never end.
func BenchmarkQueueAddAfter(b *testing.B) {
	keys := queueKeys(100_000)
	run := func(name string, add func(types.NamespacedName, time.Duration)) {
		i := 0
		loop(b, name, func() error {
			add(keys[i%len(keys)], time.Duration(i%1000+1)*time.Hour)
			i++
			return nil
		})
	}
	for name, opts := range map[string]workqueue.Options[types.NamespacedName]{"keelson": {}, "watched/keelson": watchedOptions(namespaceOf)} {
		q := workqueue.New(opts)
		run(name, q.AddAfter)
		q.ShutDown()
	}
	q := newUpstreamQueue()
	run("upstream", q.AddAfter)
	q.ShutDown()
}
