package cache_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
)

// filled runs a cache of n objects of about the size of a Pod.
func filled(b *testing.B, n int) (*memory.Store, *cache.Cache, []string) {
	b.Helper()
	s := memory.New(memory.Options{})
	value := make([]byte, 1600)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("/pods/ns-%02d/pod-%06d", i%20, i)
		_, err := s.Create(context.Background(), keys[i], value, store.WriteOptions{})
		require.NoError(b, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := cache.New(s, "/pods/", cache.Options{Attributes: func(kv store.KV) (cache.Attrs, error) {
		return cache.Attrs{Labels: map[string]string{"app": kv.Key[len(kv.Key)-1:]}}, nil
	}})
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-done; _ = s.Close() })
	<-c.Ready()
	return s, c, keys
}

// BenchmarkUpdateSnapshot is a write until it is in the snapshot of a cache.
func BenchmarkUpdateSnapshot(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			s, c, keys := filled(b, n)
			ctx, value := context.Background(), make([]byte, 1600)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				rev, err := s.Update(ctx, keys[i*7919%n], value, store.AnyRevision, store.WriteOptions{})
				require.NoError(b, err)
				_, err = c.Wait(ctx, rev)
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkFanOut is one event to all watches: the time per delivery, encoding once included.
func BenchmarkFanOut(b *testing.B) {
	for _, n := range []int{1, 200, 10000} {
		b.Run(fmt.Sprintf("watchers=%d", n), func(b *testing.B) {
			s, c, keys := filled(b, 1000)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var delivered, ended sync.WaitGroup
			delivered.Add(n)
			for range n {
				ended.Go(func() {
					_ = c.Watch(ctx, cache.WatchOptions{InitialEvents: true, Prefix: keys[0]}, func(es []cache.Event) error {
						for i := range es {
							if es[i].Type == cache.Bookmark {
								delivered.Done()
							}
							if es[i].Type == cache.Modified {
								_, _ = es[i].Form(cache.FormKey{MediaType: "json"}, func(e *cache.Event) ([]byte, error) { return e.Object.Value, nil })
								delivered.Done()
							}
						}
						return nil
					})
				})
			}
			delivered.Wait()
			value := make([]byte, 1600)
			b.ReportAllocs()
			for b.Loop() {
				delivered.Add(n)
				_, err := s.Update(ctx, keys[0], value, store.AnyRevision, store.WriteOptions{})
				require.NoError(b, err)
				delivered.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/delivery")
			cancel()
			ended.Wait()
		})
	}
}

// BenchmarkUnconcernedWatchers is an event that one of 5,000 watches selects, as when every node
// watches its own pods.
func BenchmarkUnconcernedWatchers(b *testing.B) {
	s, c, keys := filled(b, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var started, ended sync.WaitGroup
	got := make(chan struct{})
	for i := range 5000 {
		started.Add(1)
		ended.Go(func() {
			_ = c.Watch(ctx, cache.WatchOptions{InitialEvents: true, Prefix: keys[i%len(keys)], Field: "node", Value: fmt.Sprint(i / len(keys))}, func(es []cache.Event) error {
				started.Done()
				return nil
			})
		})
	}
	ended.Go(func() {
		first := true
		_ = c.Watch(ctx, cache.WatchOptions{InitialEvents: true, Prefix: keys[0]}, func(es []cache.Event) error {
			if first {
				started.Done()
				first = false
				return nil
			}
			got <- struct{}{}
			return nil
		})
	})
	started.Add(1)
	started.Wait()
	b.ReportAllocs()
	for b.Loop() {
		_, err := s.Update(ctx, keys[0], nil, store.AnyRevision, store.WriteOptions{})
		require.NoError(b, err)
		<-got
	}
	cancel()
	ended.Wait()
}

// BenchmarkListAll and BenchmarkListByLabel iterate over 10,000 objects.
func BenchmarkListAll(b *testing.B) {
	_, c, _ := filled(b, 10000)
	b.ReportAllocs()
	for b.Loop() {
		size := 0
		for o := range c.Snapshot().Range("/pods/", "") {
			size += len(o.Value)
		}
		if size == 0 {
			b.Fatal("empty")
		}
	}
}

func BenchmarkListByLabel(b *testing.B) {
	_, c, _ := filled(b, 10000)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for o := range c.Snapshot().Range("/pods/", "") {
			if o.Attrs.Labels["app"] == "7" {
				n++
			}
		}
		if n != 1000 {
			b.Fatal(n)
		}
	}
}

func BenchmarkSnapshotAt(b *testing.B) {
	s, c, keys := filled(b, 10000)
	for i := range 5000 {
		_, err := s.Update(context.Background(), keys[i], nil, store.AnyRevision, store.WriteOptions{})
		require.NoError(b, err)
	}
	snap, err := c.Consistent(context.Background())
	require.NoError(b, err)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_, err := c.SnapshotAt(snap.Revision() - 1 - int64(i%4000))
		require.NoError(b, err)
	}
}

func BenchmarkConsistent(b *testing.B) {
	s, c, _ := filled(b, 1000)
	ctx := context.Background()
	b.Run("quiet", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := c.Consistent(ctx)
			require.NoError(b, err)
		}
	})
	b.Run("other writes", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_, err := s.Create(ctx, fmt.Sprintf("/other/%d", i), nil, store.WriteOptions{})
			require.NoError(b, err)
			_, err = c.Consistent(ctx)
			require.NoError(b, err)
		}
	})
}

func BenchmarkForm(b *testing.B) {
	o := &cache.Object{Value: []byte("x")}
	key := cache.FormKey{Version: "v1", MediaType: "application/json"}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = o.Form(key, func(o *cache.Object) ([]byte, error) { return o.Value, nil })
	}
}
