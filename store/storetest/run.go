package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store"
)

// patience ends what hangs. It is far above what a busy machine needs: no result may depend on its speed.
const patience = 5 * time.Minute

// Open returns a new, empty store for one test and closes it with t.Cleanup.
type Open func(t testing.TB) store.Store

// Run runs the whole suite. It waits for real time (a TTL of three seconds), so it cannot be called in a
// testing/synctest bubble.
func Run(t *testing.T, open Open, opts Options) {
	run := func(name string, test func(t *testing.T, ctx context.Context, s store.Store)) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			test(t, ctx, open(t))
		})
	}
	for _, c := range cases {
		run(c.name, c.run)
	}
	run("Durable", func(t *testing.T, ctx context.Context, s store.Store) { testDurable(t, ctx, s, opts) })
	run("Remote", testRemote)
	run("Shared", func(t *testing.T, ctx context.Context, s store.Store) { testShared(t, ctx, s, opts) })
	t.Run("RandomHistory", func(t *testing.T) { randomHistories(t, open) })
	t.Run("ConcurrentHistory", func(t *testing.T) { concurrentHistories(t, open) })
	t.Run("Linearizable", func(t *testing.T) { linearizable(t, open) })
}

var cases = []struct {
	name string
	run  func(t *testing.T, ctx context.Context, s store.Store)
}{
	{"CreateGetUpdateDelete", testLifeOfAKey},
	{"CreateExisting", testCreateExisting},
	{"Conflicts", testConflicts},
	{"AnyRevisionAndAbsent", testAnyRevisionAndAbsent},
	{"InvalidRequests", testInvalid},
	{"TooLarge", testTooLarge},
	{"Guards", testGuards},
	{"TxnIsAtomic", testTxn},
	{"TxnLimit", testTxnLimit},
	{"ListPages", testListPages},
	{"ListBounds", testListBounds},
	{"ListAtRevision", testListAtRevision},
	{"ListSince", testListSince},
	{"WatchFromRevision", testWatchFromRevision},
	{"WatchPrefix", testWatchPrefix},
	{"WatchTxnIsOneBatch", testWatchTxn},
	{"WatchLongHistory", testWatchLongHistory},
	{"WatchFuture", testWatchFuture},
	{"WatchEnds", testWatchEnds},
	{"WatchMayWrite", testWatchMayWrite},
	{"SlowWatchDelaysNoOther", testSlowWatch},
	{"Progress", testProgress},
	{"Compact", testCompact},
	{"TTL", testTTL},
	{"Size", testSize},
	{"ParallelUpdates", testParallelUpdates},
	{"ContextEnds", testContextEnds},
	{"Close", testClose},
}

// seedsFor returns the seeds of a random test of s: fewer where each write is a round trip to a disk.
func seedsFor(t testing.TB, s store.Store, fast, slow int) []uint64 {
	if s.Capabilities().Durable {
		return seeds.Slow(t, slow)
	}
	return seeds.Of(t, fast)
}
