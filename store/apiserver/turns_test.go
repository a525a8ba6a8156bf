package apiserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// As many requests with large selectors as there are turns are evaluated; the next one waits for the end of
// one of them, or of itself. Others never wait.
func TestTurnsOfLargeSelectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		query := func(ctx context.Context, bytes int) *request {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/pods?labelSelector="+strings.Repeat("a", bytes), nil)
			return &request{Request: r}
		}
		var ends []func()
		for range cap(turns) {
			end, err := turns.take(query(t.Context(), largeQuery))
			require.NoError(t, err)
			ends = append(ends, end)
		}
		end, err := turns.take(query(t.Context(), 1000))
		require.NoError(t, err)
		end()

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		_, err = turns.take(query(ctx, largeQuery))
		require.True(t, apierrors.IsTimeout(err), "%v", err)
		require.Equal(t, time.Minute, time.Since(begun))

		time.AfterFunc(time.Second, ends[0])
		begun = time.Now()
		end, err = turns.take(query(t.Context(), largeQuery))
		require.NoError(t, err)
		require.Equal(t, time.Second, time.Since(begun))
		end()
		for _, end := range ends[1:] {
			end()
		}
		require.Empty(t, turns)
	})
}
