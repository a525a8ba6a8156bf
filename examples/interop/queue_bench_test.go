package interop

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	upqueue "k8s.io/client-go/util/workqueue"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/workqueue"
)

// Every benchmark here has a sub-benchmark /keelson and one /upstream that do the same work. Only their ratio
// counts.

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

// watchedOptions are options of a queue with every feature that costs time: metrics, tenants, priorities with
// aging.
func watchedOptions[K comparable](tenant func(K) string) workqueue.Options[K] {
	return workqueue.Options[K]{Tenant: tenant, Metrics: &workqueue.Metrics{
		Depth: func(int, int) {}, Adds: func() {}, Retries: func() {}, QueueDuration: func(time.Duration) {}, WorkDuration: func(time.Duration) {},
	}}
}

func namespaceOf(k types.NamespacedName) string { return k.Namespace }

// BenchmarkQueueAddGetDone is one goroutine that adds a key, takes it and finishes it; /watched is ours with
// metrics and fairness on.
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

// BenchmarkQueueParallel is 2, 8 and 64 goroutines that each add a key, take one and finish it. Run it with
// -cpu 1,2,8; what counts is cpu-ns/op, because wall time depends on other load of the machine.
func BenchmarkQueueParallel(b *testing.B) {
	type key struct{ worker, i int64 }
	run := func(name string, goroutines int, step func(key)) {
		b.Run(fmt.Sprintf("%d/%s", goroutines, name), func(b *testing.B) {
			b.ReportAllocs()
			began := cpu(b)
			var workers sync.WaitGroup
			for n := range goroutines {
				// Keys never repeat, so that every Get finds one.
				k := key{worker: time.Now().UnixNano() + int64(n)}
				workers.Go(func() {
					for range b.N/goroutines + 1 {
						k.i++
						step(k)
					}
				})
			}
			workers.Wait()
			b.ReportMetric(float64(cpu(b)-began)/float64(b.N), "cpu-ns/op")
		})
	}
	ctx := context.Background()
	for _, goroutines := range []int{2, 8, 64} {
		for name, opts := range map[string]workqueue.Options[key]{"keelson": {}, "watched/keelson": watchedOptions(func(k key) string { return "one" })} {
			q := workqueue.New(opts)
			run(name, goroutines, func(k key) {
				q.Add(k)
				got, _ := q.Get(ctx)
				q.Done(got)
			})
		}
		theirs := upqueue.NewTypedRateLimitingQueue(upqueue.DefaultTypedControllerRateLimiter[key]())
		run("upstream", goroutines, func(k key) {
			theirs.Add(k)
			got, _ := theirs.Get()
			theirs.Done(got)
		})
		theirs.ShutDown()
	}
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
