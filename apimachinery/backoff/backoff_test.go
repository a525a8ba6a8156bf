package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
)

func TestZeroPolicyDoublesUpToHalfAMinute(t *testing.T) {
	var p backoff.Policy
	require.Equal(t, time.Duration(0), p.Delay(t.Context(), 0))
	require.Equal(t, 100*time.Millisecond, p.Delay(t.Context(), 1))
	require.Equal(t, 200*time.Millisecond, p.Delay(t.Context(), 2))
	require.Equal(t, 25600*time.Millisecond, p.Delay(t.Context(), 9))
	for _, n := range []int{10, 100, 10_000, math.MaxInt} {
		require.Equal(t, 30*time.Second, p.Delay(t.Context(), n))
	}
}

func TestPolicyFields(t *testing.T) {
	require.Equal(t, 9*time.Second, backoff.Policy{Initial: time.Second, Factor: 3}.Delay(t.Context(), 3))
	require.Equal(t, time.Second, backoff.Policy{Initial: time.Second, Factor: 1}.Delay(t.Context(), 50))
	require.Equal(t, time.Second, backoff.Policy{Initial: time.Second, Factor: 0.5}.Delay(t.Context(), 50), "never shrinks")
	require.Equal(t, 4*time.Second, backoff.Policy{Initial: 3 * time.Second, Max: 4 * time.Second}.Delay(t.Context(), 2))
	require.Equal(t, time.Minute, backoff.Policy{Initial: time.Minute}.Delay(t.Context(), 5), "a long first wait is kept")
	require.Equal(t, 2*time.Second, backoff.Policy{Initial: time.Minute, Max: 2 * time.Second}.Delay(t.Context(), 1))
}

func TestJitterStaysWithinItsFraction(t *testing.T) {
	p := backoff.Policy{Initial: time.Second, Factor: 1, Jitter: 0.5}
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := p.Delay(t.Context(), 1)
		require.GreaterOrEqual(t, d, time.Second)
		require.LessOrEqual(t, d, 1500*time.Millisecond)
		seen[d] = true
	}
	require.Greater(t, len(seen), 100)
	huge := backoff.Policy{Initial: math.MaxInt64, Max: math.MaxInt64, Jitter: 1}
	require.Positive(t, huge.Delay(t.Context(), 1), "no overflow")
}

func TestAttemptsWaitInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		seq := backoff.Attempts(t.Context(), backoff.Policy{Initial: time.Second, Steps: 4})
		for n := range seq {
			require.Len(t, at, n)
			at = append(at, time.Since(start))
		}
		require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, at)
		for n := range seq {
			require.Zero(t, n, "starts anew")
			break
		}
	})
}

func TestAttemptsEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		start, count := time.Now(), 0
		for range backoff.Attempts(ctx, backoff.Policy{Initial: time.Second, Factor: 1}) {
			count++
		}
		require.Equal(t, 3, count)
		require.Equal(t, 2500*time.Millisecond, time.Since(start), "in the middle of a wait")
		for range backoff.Attempts(ctx, backoff.Policy{}) {
			t.Fatal("an ended context yields nothing")
		}
	})
}

func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soft, hard := errors.New("soft"), errors.New("hard")
		retryable := func(err error) bool { return err == soft }
		calls := 0
		results := func(errs ...error) func(context.Context) error {
			calls = 0
			return func(context.Context) error {
				calls++
				return errs[min(calls, len(errs))-1]
			}
		}
		p := backoff.Policy{Steps: 3}
		require.NoError(t, backoff.Retry(t.Context(), p, retryable, results(soft, nil)))
		require.Equal(t, 2, calls)
		require.Equal(t, hard, backoff.Retry(t.Context(), p, retryable, results(hard)))
		require.Equal(t, 1, calls)
		require.Equal(t, soft, backoff.Retry(t.Context(), p, nil, results(soft)))
		require.Equal(t, 3, calls)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(hard)
		require.Equal(t, hard, backoff.Retry(ctx, p, nil, results(soft)))
		require.Equal(t, 0, calls)
	})
}

func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, calls := time.Now(), 0
		err := backoff.Poll(t.Context(), time.Minute, func(context.Context) (bool, error) {
			time.Sleep(time.Second)
			calls++
			return calls == 3, nil
		})
		require.NoError(t, err)
		require.Equal(t, 2*time.Minute+3*time.Second, time.Since(start))

		broken := errors.New("broken")
		require.Equal(t, broken, backoff.Poll(t.Context(), time.Minute, func(context.Context) (bool, error) { return false, broken }))

		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		start = time.Now()
		err = backoff.Poll(ctx, time.Minute, func(context.Context) (bool, error) { return false, nil })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 90*time.Second, time.Since(start))
		called := false
		err = backoff.Poll(ctx, time.Minute, func(context.Context) (bool, error) { called = true; return true, nil })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.False(t, called)
	})
}

func ExampleAttempts() {
	var err error
	for attempt := range backoff.Attempts(context.Background(), backoff.Policy{Initial: time.Millisecond, Steps: 5}) {
		if err = dial(attempt); err == nil {
			fmt.Println("connected at attempt", attempt)
			break
		}
	}
	// Output: connected at attempt 2
}

func dial(attempt int) error {
	if attempt < 2 {
		return errors.New("refused")
	}
	return nil
}

func TestJitterIsReplayed(t *testing.T) {
	run := func() (waits []time.Duration) {
		ctx := backoff.WithJitter(t.Context(), rand.New(rand.NewPCG(1, 2)).Float64)
		for n := range 10 {
			waits = append(waits, backoff.Policy{Jitter: 1}.Delay(ctx, n), backoff.Spread(ctx, time.Second))
		}
		return waits
	}
	first := run()
	require.Equal(t, first, run())
	require.NotEqual(t, first[1], first[3])
}
