package cache_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
)

func TestDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, memory.New(memory.Options{}), cache.Options{})
		synctest.Wait()
		require.True(t, f.c.Delivered(1))
		ctx, cancel := context.WithCancel(t.Context())
		proceed, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			_ = f.c.Watch(ctx, cache.WatchOptions{From: 1}, func([]cache.Event) error { <-proceed; return nil })
		}()
		synctest.Wait()
		require.True(t, f.c.Delivered(1), "a watch without events")
		rev := f.create("/pods/a/x", "")
		synctest.Wait()
		require.False(t, f.c.Delivered(rev), "deliver has not returned")
		rev = f.create("/pods/a/y", "")
		proceed <- struct{}{}
		synctest.Wait()
		require.False(t, f.c.Delivered(rev), "the second event is being delivered")
		proceed <- struct{}{}
		synctest.Wait()
		require.True(t, f.c.Delivered(rev))

		rev, err := f.s.Create(t.Context(), "/elsewhere/x", nil, none)
		require.NoError(t, err)
		synctest.Wait()
		require.False(t, f.c.Delivered(rev), "no one has requested progress of the store")
		_, err = f.s.Progress(t.Context(), "")
		require.NoError(t, err)
		synctest.Wait()
		require.True(t, f.c.Delivered(rev))
		cancel()
		<-done
	})
}
