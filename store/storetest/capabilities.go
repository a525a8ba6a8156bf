package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
)

// Options say how the suite tries the capabilities of a store. A field is set exactly when the store has the
// capability.
type Options struct {
	// Crash abandons a store that Open returned, or the process behind it, as a crash would, and returns a
	// store over what is left (Capabilities.Durable).
	Crash func(t testing.TB, s store.Store) store.Store
	// Join returns a second store over the same keys, as another process would open it
	// (Capabilities.Shared).
	Join func(t testing.TB, s store.Store) store.Store
}

// testDurable checks that acknowledged writes survive a crash and that revisions continue after it.
func testDurable(t *testing.T, ctx context.Context, s store.Store, opts Options) {
	require.Equal(t, opts.Crash != nil, s.Capabilities().Durable)
	if opts.Crash == nil {
		return
	}
	kept := create(t, ctx, s, "/a/kept", "1")
	updated, err := s.Update(ctx, "/a/kept", value("2"), kept, none)
	require.NoError(t, err)
	create(t, ctx, s, "/a/deleted", "1")
	deleted, err := s.Delete(ctx, "/a/deleted", store.AnyRevision, none)
	require.NoError(t, err)

	s = opts.Crash(t, s)
	list, err := s.List(ctx, "/a/", store.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []store.KV{{Key: "/a/kept", Value: value("2"), Revision: updated, CreateRevision: kept}}, list.Items)
	require.GreaterOrEqual(t, list.Revision, deleted)
	require.Greater(t, create(t, ctx, s, "/a/later", "1"), deleted, "revisions continue")
}

// testRemote checks what a store promises that is not remote: one call of Progress reaches an open watch. A
// remote store promises less, so there is nothing to check.
func testRemote(t *testing.T, ctx context.Context, s store.Store) {
	can := s.Capabilities()
	if can.Remote || !can.Progress {
		return
	}
	w := Watch(t, ctx, s, "/a/", 0)
	create(t, ctx, s, "/a/x", "1")
	_, err := w.Until(ctx, 1)
	require.NoError(t, err, "the watch is open")
	other := create(t, ctx, s, "/b/x", "1")
	_, err = s.Progress(ctx, "/a/")
	require.NoError(t, err)
	short, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err = w.Reached(short, other)
	require.NoError(t, err, "one request is enough")
}

// testShared checks that two stores over the same keys read, guard and watch each other's writes.
func testShared(t *testing.T, ctx context.Context, s store.Store, opts Options) {
	require.Equal(t, opts.Join != nil, s.Capabilities().Shared)
	if opts.Join == nil {
		return
	}
	other := opts.Join(t, s)
	w := Watch(t, ctx, other, "/a/", 0)
	rev := create(t, ctx, s, "/a/x", "1")
	kv, _, err := other.Get(ctx, "/a/x")
	require.NoError(t, err)
	require.Equal(t, rev, kv.Revision)
	next, err := other.Update(ctx, "/a/x", value("2"), rev, none)
	require.NoError(t, err)
	require.Greater(t, next, rev)
	_, err = s.Update(ctx, "/a/x", value("3"), rev, none)
	var conflict *store.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, next, conflict.Current.Revision)
	events, err := w.Until(ctx, 2)
	require.NoError(t, err)
	require.Equal(t, []int64{rev, next}, []int64{events[0].KV.Revision, events[1].KV.Revision})
}
