package calls_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/internal/calls"
)

// Calls of one seed end at the same instants, whatever others there are, and never at half a microsecond.
func TestTake(t *testing.T) {
	run := func(seed uint64, names ...string) (ends []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			for _, name := range names {
				go calls.Take(seed, "another "+name)
				calls.Take(seed, name)
				end := time.Since(began)
				require.Less(t, end%time.Microsecond, 500*time.Nanosecond)
				ends = append(ends, end)
			}
			time.Sleep(time.Second)
		})
		return ends
	}
	require.Equal(t, run(1, "get a", "get b"), run(1, "get a", "get b"))
	require.NotEqual(t, run(1, "get a"), run(2, "get a"))
	require.NotEqual(t, run(1, "get a"), run(1, "get b"))
}
