package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
)

// Changed is the revision of the last change under the prefix, whatever happens elsewhere, and never before
// it.
func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		first, err := s.Create(t.Context(), "/pods/a", []byte("1"), none)
		require.NoError(t, err)
		f := start(t, s, cache.Options{})
		changed := func() int64 {
			snap, err := f.c.Consistent(t.Context())
			require.NoError(t, err)
			require.LessOrEqual(t, snap.Changed(), snap.Revision())
			return snap.Changed()
		}
		require.GreaterOrEqual(t, changed(), first)
		for range 3 {
			last := f.update("/pods/a", "2")
			require.Equal(t, last, changed())
			f.create("/other/x", "")
			f.delete("/other/x")
			require.Equal(t, last, changed())
			time.Sleep(time.Minute) // progress of the store is no change
			require.Equal(t, last, changed())
			last = f.create("/pods/b", "3")
			require.Equal(t, last, changed())
			last = f.delete("/pods/b")
			require.Equal(t, last, changed())
		}
	})
}
