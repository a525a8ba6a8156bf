package parallel_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/internal/parallel"
)

// All calls are made, also after one has failed, at most Limit of them at the same time.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{0, 1, parallel.Limit, 10 * parallel.Limit} {
			var running, most atomic.Int32
			began := time.Now()
			errs := parallel.Do(n, func(i int) error {
				now := running.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				time.Sleep(time.Second)
				running.Add(-1)
				if i%10 == 3 {
					return fmt.Errorf("number %d", i)
				}
				return nil
			})
			require.EqualValues(t, min(n, parallel.Limit), most.Load())
			require.Equal(t, time.Duration((n+parallel.Limit-1)/parallel.Limit)*time.Second, time.Since(began))
			require.Len(t, errs, n)
			for i, err := range errs {
				if i%10 == 3 {
					require.EqualError(t, err, fmt.Sprintf("number %d", i))
				} else {
					require.NoError(t, err)
				}
			}
		}
	})
}

func TestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := errors.New("first"), errors.New("second")
		require.Equal(t, first, parallel.First(5, func(i int) error {
			time.Sleep(time.Duration(5-i) * time.Second) // the last one ends first
			return []error{nil, first, nil, second, nil}[i]
		}))
		require.NoError(t, parallel.First(5, func(int) error { return nil }))
	})
}
