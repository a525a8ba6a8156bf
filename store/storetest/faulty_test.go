package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

func TestFaultyLosesAnswers(t *testing.T) {
	ctx := t.Context()
	s := storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{
		Before: func(_ context.Context, r storetest.Request) error {
			if r.Op == "create" && r.N == 1 {
				return &store.UnavailableError{Op: r.Op, MaybeApplied: r.Write(), Err: storetest.ErrInjected}
			}
			return nil
		},
		After: func(_ context.Context, r storetest.Request) error {
			if r.Op == "create" && r.N == 2 {
				return &store.UnavailableError{Op: r.Op, MaybeApplied: r.Write(), Err: storetest.ErrInjected}
			}
			return nil
		},
	})
	_, err := s.Create(ctx, "/a/x", nil, store.WriteOptions{})
	require.ErrorIs(t, err, storetest.ErrInjected)
	_, _, err = s.Get(ctx, "/a/x")
	require.ErrorIs(t, err, store.ErrNotFound, "failed before it was done")
	_, err = s.Create(ctx, "/a/x", nil, store.WriteOptions{})
	require.ErrorIs(t, err, storetest.ErrInjected)
	_, _, err = s.Get(ctx, "/a/x")
	require.NoError(t, err, "done, but the answer was lost")
}

func TestFaultyBreaksWatches(t *testing.T) {
	s := storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{
		Batch: func(context.Context, string, store.Batch) error { return storetest.ErrInjected },
	})
	_, err := s.Create(t.Context(), "/a/x", nil, store.WriteOptions{})
	require.NoError(t, err)
	err = s.Watch(t.Context(), "/a/", 0, store.WatchOptions{}, func(store.Batch) error { return errors.New("delivered") })
	require.ErrorIs(t, err, storetest.ErrInjected)
}

func TestFaultyDropsEvents(t *testing.T) {
	s := storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{
		Drop: func(_ string, e store.Event) bool { return e.KV.Key == "/a/x" },
	})
	defer s.Close()
	for _, key := range []string{"/a/x", "/a/y"} {
		_, err := s.Create(t.Context(), key, nil, store.WriteOptions{})
		require.NoError(t, err)
	}
	enough := errors.New("enough")
	var seen []string
	err := s.Watch(t.Context(), "/a/", 0, store.WatchOptions{}, func(b store.Batch) error {
		for _, e := range b.Events {
			seen = append(seen, e.KV.Key)
		}
		if b.Revision < 3 {
			return nil
		}
		return enough
	})
	require.ErrorIs(t, err, enough)
	require.Equal(t, []string{"/a/y"}, seen)
}

// TestConformanceOfAPassiveWrapper runs the suite through Faulty itself.
func TestConformanceOfAPassiveWrapper(t *testing.T) {
	storetest.Run(t, func(t testing.TB) store.Store {
		s := storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{})
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}, storetest.Options{})
}

func ExampleNewFaulty() {
	s := storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{
		Before: func(_ context.Context, r storetest.Request) error {
			if r.Write() && r.Key == "/leases/leader" {
				return &store.UnavailableError{Op: r.Op, Err: storetest.ErrInjected}
			}
			return nil
		},
	})
	_, err := s.Create(context.Background(), "/leases/leader", nil, store.WriteOptions{})
	fmt.Println(err)
	_, err = s.Create(context.Background(), "/leases/other", nil, store.WriteOptions{})
	fmt.Println(err)
	// Output:
	// store: unavailable: create: storetest: injected fault
	// <nil>
}
