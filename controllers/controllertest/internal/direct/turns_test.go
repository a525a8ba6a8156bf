package direct_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/controllertest/internal/direct"
	"github.com/keelson-dev/keelson/store/authn"
)

// Requests that come at the same time are served one at a time, in the order of the seed.
func TestTurns(t *testing.T) {
	order := func(seed uint64) (served []string) {
		synctest.Test(t, func(t *testing.T) {
			busy := false
			s := direct.New(context.Background, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				require.False(t, busy, "requests are served one at a time")
				busy = true
				time.Sleep(time.Nanosecond)
				served, busy = append(served, r.URL.Path), false
			}))
			s.Serialize(seed)
			tr := s.Transport(&authn.User{Name: "ann"})
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					r, err := http.NewRequestWithContext(t.Context(), "POST", fmt.Sprintf("https://server.test/%d", i), strings.NewReader("body"))
					require.NoError(t, err)
					resp, err := tr.RoundTrip(r)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
				})
			}
			synctest.Wait()
			require.True(t, s.Busy())
			require.Empty(t, served)
			all.Wait()
			time.Sleep(time.Second)
			synctest.Wait()
			require.False(t, s.Busy())
			require.NoError(t, s.Close())
		})
		return served
	}
	require.Len(t, order(1), 8)
	require.Equal(t, order(1), order(1))
	require.NotEqual(t, order(1), order(2))
}

// A request that is cancelled before its turn is not served.
func TestCancelledBeforeItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := direct.New(context.Background, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("served") }))
		s.Serialize(1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { synctest.Wait(); cancel() }()
		r, err := http.NewRequestWithContext(ctx, "GET", "https://server.test/", nil)
		require.NoError(t, err)
		_, err = s.Transport(&authn.User{}).RoundTrip(r)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, s.Close())
	})
}
