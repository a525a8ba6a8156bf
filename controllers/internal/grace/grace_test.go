package grace_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/internal/grace"
)

type name struct{}

// Work goes on after the end of its context, until the later end, whose cause it has.
func TestWorkEndsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("no time left")
		end, endWork := context.WithCancelCause(t.Context())
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), name{}, "value"))
		ctx = grace.With(ctx, end)
		require.Equal(t, end, grace.Later(ctx))
		work, stop := grace.Work(ctx)
		defer stop()
		require.Equal(t, "value", work.Value(name{}))
		cancel()
		synctest.Wait()
		require.NoError(t, work.Err())
		endWork(reason)
		<-work.Done()
		require.Equal(t, reason, context.Cause(work))
	})
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work, stop := grace.Work(grace.With(t.Context(), t.Context()))
		stop()
		require.ErrorIs(t, work.Err(), context.Canceled)
	})
}

func TestWithoutLaterEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	require.Nil(t, grace.Later(ctx))
	work, stop := grace.Work(ctx)
	defer stop()
	require.NoError(t, work.Err())
	cancel()
	require.ErrorIs(t, work.Err(), context.Canceled)
}
