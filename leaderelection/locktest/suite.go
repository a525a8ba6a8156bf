package locktest

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/leaderelection"
)

// Test checks a Lock implementation. newLocks returns the locks of two
// candidates for one new lease that does not exist yet; it is called by every
// subtest.
func Test(t *testing.T, newLocks func(t *testing.T) (a, b leaderelection.Lock)) {
	for name, check := range Suite() {
		t.Run(name, func(t *testing.T) {
			a, b := newLocks(t)
			check(t, a, b)
		})
	}
}

// Suite is the checks of Test by name, for tests that cannot have subtests, as in
// a bubble. Each needs the locks of two candidates for one lease that does not
// exist yet.
func Suite() iter.Seq2[string, func(t *testing.T, a, b leaderelection.Lock)] {
	return func(yield func(string, func(*testing.T, leaderelection.Lock, leaderelection.Lock)) bool) {
		for _, c := range checks {
			if !yield(c.name, c.check) {
				return
			}
		}
	}
}

var checks = []struct {
	name  string
	check func(t *testing.T, a, b leaderelection.Lock)
}{
	{"a lease that is not there", func(t *testing.T, a, b leaderelection.Lock) {
		require.Equal(t, a.Key(), b.Key())
		_, err := a.Get(t.Context())
		require.ErrorIs(t, err, leaderelection.ErrNotFound)
		_, err = a.Update(t.Context(), record("a", 0))
		require.ErrorIs(t, err, leaderelection.ErrNotFound)
	}},
	{"a record is read as it was written", func(t *testing.T, a, b leaderelection.Lock) {
		want := record("a", 3)
		created, err := a.Create(t.Context(), want)
		require.NoError(t, err)
		requireRecord(t, want, created)
		got, err := b.Get(t.Context())
		require.NoError(t, err)
		requireRecord(t, want, got)
		require.Equal(t, created.Version, got.Version)

		want.HolderIdentity, want.LeaseDuration = "", time.Second
		want.Version = got.Version
		updated, err := b.Update(t.Context(), want)
		require.NoError(t, err)
		requireRecord(t, want, updated)
		got, err = a.Get(t.Context())
		require.NoError(t, err)
		requireRecord(t, want, got)
	}},
	{"the second creator loses", func(t *testing.T, a, b leaderelection.Lock) {
		_, err := a.Create(t.Context(), record("a", 0))
		require.NoError(t, err)
		_, err = b.Create(t.Context(), record("b", 0))
		require.ErrorIs(t, err, leaderelection.ErrConflict)
	}},
	{"an update of an old version loses", func(t *testing.T, a, b leaderelection.Lock) {
		first, err := a.Create(t.Context(), record("a", 0))
		require.NoError(t, err)
		renewed := first
		renewed.RenewTime = first.RenewTime.Add(time.Second)
		second, err := a.Update(t.Context(), renewed)
		require.NoError(t, err)
		_, err = b.Update(t.Context(), first)
		require.ErrorIs(t, err, leaderelection.ErrConflict)
		second.RenewTime = second.RenewTime.Add(time.Second)
		_, err = a.Update(t.Context(), second)
		require.NoError(t, err, "the version an update returns is good for the next one")
	}},
	{"of many updates one wins", func(t *testing.T, a, b leaderelection.Lock) {
		base, err := a.Create(t.Context(), record("a", 0))
		require.NoError(t, err)
		won := make(chan bool, 16)
		var writers sync.WaitGroup
		for i := range cap(won) {
			writers.Go(func() {
				r := base
				r.LeaderTransitions = int32(i + 10)
				_, err := []leaderelection.Lock{a, b}[i%2].Update(t.Context(), r)
				won <- err == nil
			})
		}
		writers.Wait()
		close(won)
		winners := 0
		for w := range won {
			if w {
				winners++
			}
		}
		require.Equal(t, 1, winners)
	}},
	{"an ended context", func(t *testing.T, a, _ leaderelection.Lock) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := a.Get(ctx)
		require.ErrorIs(t, err, context.Canceled)
	}},
	{"a watcher hears of a change", func(t *testing.T, a, b leaderelection.Lock) {
		w, ok := b.(leaderelection.Watcher)
		if !ok {
			return
		}
		first, err := a.Create(t.Context(), record("a", 0))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		result := make(chan error, 1)
		var got leaderelection.Record
		go func() {
			var err error
			for err == nil && (got.Version == "" || got.Version == first.Version) {
				got, err = w.Wait(ctx, first)
			}
			result <- err
		}()
		second := first
		second.HolderIdentity = "b"
		second, err = a.Update(t.Context(), second)
		require.NoError(t, err)
		require.NoError(t, <-result)
		requireRecord(t, second, got)

		got, err = w.Wait(ctx, first)
		require.NoError(t, err, "a change that came before the wait counts")
		requireRecord(t, second, got)

		cancel()
		_, err = w.Wait(ctx, second)
		require.Error(t, err)
	}},
}

func record(holder string, transitions int32) leaderelection.Record {
	now := time.Date(2026, 3, 4, 5, 6, 7, 123456000, time.UTC)
	return leaderelection.Record{
		HolderIdentity:    holder,
		LeaseDuration:     15 * time.Second,
		AcquireTime:       now,
		RenewTime:         now.Add(time.Second),
		LeaderTransitions: transitions,
	}
}

func requireRecord(t *testing.T, want, got leaderelection.Record) {
	t.Helper()
	require.NotEmpty(t, got.Version)
	require.True(t, want.AcquireTime.Equal(got.AcquireTime), "acquire time %v, want %v", got.AcquireTime, want.AcquireTime)
	require.True(t, want.RenewTime.Equal(got.RenewTime), "renew time %v, want %v", got.RenewTime, want.RenewTime)
	got.Version, got.AcquireTime, got.RenewTime = want.Version, want.AcquireTime, want.RenewTime
	require.Equal(t, want, got)
}
