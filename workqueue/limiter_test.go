package workqueue_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/workqueue"
)

func TestExponential(t *testing.T) {
	l := workqueue.Exponential[string](5*time.Millisecond, 1000*time.Second)
	want := 5 * time.Millisecond
	for i := range 2000 {
		require.Equal(t, i, l.NumRequeues("a"))
		require.Equal(t, min(want, 1000*time.Second), l.When("a"))
		if want < time.Hour {
			want *= 2
		}
	}
	require.Equal(t, 5*time.Millisecond, l.When("b"))
	l.Forget("a")
	require.Zero(t, l.NumRequeues("a"))
	require.Equal(t, 5*time.Millisecond, l.When("a"))
	huge := workqueue.Exponential[string](time.Second, math.MaxInt64)
	for range 100 {
		require.Positive(t, huge.When("a"))
	}
}

func TestFastSlow(t *testing.T) {
	l := workqueue.FastSlow[string](time.Millisecond, time.Minute, 3)
	for range 3 {
		require.Equal(t, time.Millisecond, l.When("a"))
	}
	require.Equal(t, time.Minute, l.When("a"))
	require.Equal(t, 4, l.NumRequeues("a"))
	l.Forget("a")
	require.Equal(t, time.Millisecond, l.When("a"))
}

func TestBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := workqueue.Bucket[int](10, 100)
		for i := range 100 {
			require.Zero(t, l.When(i))
		}
		for i := range 10 {
			require.InDelta(t, float64(i+1)*0.1, l.When(i).Seconds(), 1e-6)
		}
		time.Sleep(time.Second + 500*time.Millisecond)
		for range 5 {
			require.Zero(t, l.When(0))
		}
		require.InDelta(t, 0.1, l.When(0).Seconds(), 1e-6)
		time.Sleep(time.Hour)
		for range 100 {
			require.Zero(t, l.When(0), "no more than the burst is saved up")
		}
		require.InDelta(t, 0.1, l.When(0).Seconds(), 1e-6)
	})
	require.Zero(t, workqueue.Bucket[int](0, 0).When(1))
	require.Positive(t, workqueue.Bucket[int](1e-30, 0).When(1))
}

func TestMaxOfAndMaxWait(t *testing.T) {
	l := workqueue.MaxWait(workqueue.MaxOf(
		workqueue.FastSlow[string](time.Second, time.Minute, 1),
		workqueue.Exponential[string](10*time.Second, time.Hour),
	), 30*time.Second)
	require.Equal(t, 10*time.Second, l.When("a"))
	require.Equal(t, 30*time.Second, l.When("a"))
	require.Equal(t, 2, l.NumRequeues("a"))
	l.Forget("a")
	require.Zero(t, l.NumRequeues("a"))
}
