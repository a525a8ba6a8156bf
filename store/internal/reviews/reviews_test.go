package reviews_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/internal/reviews"
)

func answered(code, retryAfter int) error {
	return apierrors.NewGenericServerResponse(code, "POST", schema.GroupResource{}, "", "no", retryAfter, true)
}

// Which errors are tried again, beside those of kube-apiserver.
func TestSendRetriesWhatPasses(t *testing.T) {
	for text, c := range map[string]struct {
		err      error
		attempts int
	}{
		"500":                   {answered(500, 0), 5},
		"504":                   {answered(504, 0), 5},
		"429":                   {answered(429, 0), 5},
		"503 with a time":       {answered(503, 1), 5},
		"503":                   {answered(503, 0), 1},
		"400":                   {answered(400, 0), 1},
		"401":                   {answered(401, 0), 1},
		"connection reset":      {fmt.Errorf("read: %w", syscall.ECONNRESET), 5},
		"connection refused":    {fmt.Errorf("dial: %w", syscall.ECONNREFUSED), 1},
		"HTTP/2 lost":           {errors.New("http2: client connection lost"), 5},
		"not understood":        {errors.New("the response is no review"), 1},
		"the attempt timed out": {nil, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, attempts := time.Now(), 0
			_, err := reviews.Send(t.Context(), 3*time.Second, func(ctx context.Context) (int, error) {
				if attempts++; c.err != nil {
					return 0, c.err
				}
				<-ctx.Done()
				return 0, ctx.Err()
			})
			if c.err != nil {
				require.Equal(t, c.err, err, text)
			} else {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, 3*time.Second, time.Since(began))
			}
			require.Equal(t, c.attempts, attempts, text)
			if attempts == 5 { // 0.5 + 0.75 + 1.125 + 1.6875 s, and up to a fifth more
				require.GreaterOrEqual(t, time.Since(began), 4062500*time.Microsecond, text)
				require.LessOrEqual(t, time.Since(began), 4875*time.Millisecond, text)
			}
		})
	}
}

// The reply of a later attempt counts, and no attempt follows the end of the request.
func TestSendEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		send := func(context.Context) (int, error) {
			if attempts++; attempts < 3 {
				return 0, answered(500, 0)
			}
			return 7, nil
		}
		got, err := reviews.Send(t.Context(), time.Second, send)
		require.NoError(t, err)
		require.Equal(t, 7, got)
		require.Equal(t, 3, attempts)

		attempts = 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = reviews.Send(ctx, time.Minute, send)
		require.True(t, apierrors.IsInternalError(err), err)
		require.Equal(t, 2, attempts)
	})
}
