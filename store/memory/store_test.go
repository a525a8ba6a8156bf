package memory

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
)

func TestStoreSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		s := New(Options{})
		var got []store.Event
		done := make(chan error)
		go func() {
			done <- s.Watch(ctx, "/a/", 0, store.WatchOptions{}, func(b store.Batch) error {
				got = append(got, b.Events...)
				return nil
			})
		}()
		rev, err := s.Create(ctx, "/a/x", []byte("1"), store.WriteOptions{TTL: time.Minute})
		require.NoError(t, err)
		require.EqualValues(t, 2, rev)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, got, 2)
		require.Equal(t, store.Delete, got[1].Type)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, s.Close())
	})
}
