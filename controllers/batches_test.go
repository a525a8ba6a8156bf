package controllers_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers"
)

func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Batches double: 1, 2, 4, 3 for ten items, each begun when the one before has ended.
		began := time.Now()
		var times [10]time.Duration
		done, err := controllers.Batches(10, func(i int) error {
			times[i] = time.Since(began)
			time.Sleep(time.Second)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 10, done)
		for i, batch := range []int{0, 1, 1, 2, 2, 2, 2, 3, 3, 3} {
			require.Equal(t, time.Duration(batch)*time.Second, times[i])
		}
		// The batch of a failure is the last one.
		var calls atomic.Int32
		broken := errors.New("quota")
		done, err = controllers.Batches(100, func(i int) error {
			calls.Add(1)
			if i == 4 {
				return broken
			}
			return nil
		})
		require.Equal(t, broken, err)
		require.Equal(t, 6, done)
		require.EqualValues(t, 7, calls.Load())
		var running, most atomic.Int32
		done, err = controllers.Batches(200, func(int) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 200, done)
		require.EqualValues(t, 32, most.Load())
		done, err = controllers.Batches(0, nil)
		require.NoError(t, err)
		require.Zero(t, done)
	})
}
