package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
)

// concurrentHistories runs concurrent clients on the same few keys and then orders their results by revision:
// they must form one sequential history that the watches have delivered in full.
func concurrentHistories(t *testing.T, open Open) {
	s := open(t)
	for _, seed := range seedsFor(t, s, 40, 3) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		concurrentHistory(t, ctx, s, seed)
		cancel()
	}
}

// written is an acknowledged write, read a completed read.
type written struct {
	ops      []store.Op
	guards   []store.Guard
	revision int64
}

type read struct {
	floor    int64 // a revision acknowledged, to any client, before the read began
	revision int64
	key      string    // of a Get
	kv       *store.KV // nil: not found
	items    []store.KV
}

// journal holds the results of all clients.
type journal struct {
	acked atomic.Int64

	mu     sync.Mutex
	writes []written
	reads  []read
	errs   []error
}

func (j *journal) wrote(w written) {
	for {
		old := j.acked.Load()
		if old >= w.revision || j.acked.CompareAndSwap(old, w.revision) {
			break
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.writes = append(j.writes, w)
}

func (j *journal) did(r read) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reads = append(j.reads, r)
}

func (j *journal) failed(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.errs = append(j.errs, err)
}

func concurrentHistory(t *testing.T, ctx context.Context, s store.Store, seed uint64) {
	prefix := fmt.Sprintf("/c%d/", seed)
	start, err := s.Progress(ctx, "")
	require.NoError(t, err)
	j := &journal{}
	j.acked.Store(start)
	watches := []*Watcher{Watch(t, ctx, s, prefix, start), Watch(t, ctx, s, prefix+"1", start)}
	var tasks sync.WaitGroup
	for client := range 6 {
		tasks.Go(func() { concurrentClient(ctx, s, j, prefix, rand.New(rand.NewPCG(seed, uint64(client)))) })
	}
	tasks.Wait()
	require.Empty(t, j.errs, "seed %d", seed)
	watches = append(watches, Watch(t, ctx, s, prefix, start))

	slices.SortFunc(j.writes, func(a, b written) int { return cmp.Compare(a.revision, b.revision) })
	m := newModel(start)
	for i, w := range j.writes {
		if i > 0 {
			require.NotEqual(t, j.writes[i-1].revision, w.revision, "seed %d: two writes have one revision", seed)
		}
		require.NoError(t, m.check(w.ops, w.guards), "seed %d: the write of revision %d cannot have succeeded: %+v", seed, w.revision, w)
		m.apply(w.ops, w.revision)
	}
	for _, r := range j.reads {
		require.GreaterOrEqual(t, r.revision, r.floor, "seed %d: a read does not see a write acknowledged before it", seed)
		state := m.at(r.revision)
		if r.key == "" {
			want, _ := list(state, prefix, 0, "")
			require.Equal(t, want, r.items, "seed %d: list at %d", seed, r.revision)
			continue
		}
		want, ok := state[r.key]
		require.Equal(t, ok, r.kv != nil, "seed %d: get %q at %d", seed, r.key, r.revision)
		if ok {
			require.Equal(t, want, *r.kv, "seed %d: get at %d", seed, r.revision)
		}
	}
	for _, w := range watches {
		want := m.eventsAfter(w.prefix, start)
		got, err := w.Until(ctx, len(want))
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, want, got, "seed %d: watch of %q", seed, w.prefix)
		require.NoError(t, w.Stop())
	}
}

func concurrentClient(ctx context.Context, s store.Store, j *journal, prefix string, rnd *rand.Rand) {
	known := map[string]int64{} // last revisions that this client has read
	key := func() string { return fmt.Sprintf("%s%d", prefix, rnd.IntN(4)) }
	for range 60 {
		k := key()
		floor := j.acked.Load()
		switch rnd.IntN(8) {
		case 0, 1:
			kv, revision, err := s.Get(ctx, k)
			switch {
			case err == nil:
				known[k] = kv.Revision
				j.did(read{floor: floor, revision: revision, key: k, kv: &kv})
			case errors.Is(err, store.ErrNotFound):
				known[k] = 0
				j.did(read{floor: floor, revision: revision, key: k})
			default:
				j.failed(err)
			}
			continue
		case 2:
			result, err := s.List(ctx, prefix, store.ListOptions{})
			if err != nil {
				j.failed(err)
				continue
			}
			j.did(read{floor: floor, revision: result.Revision, items: result.Items})
			continue
		}
		ops := []store.Op{store.UpdateOp(k, value(fmt.Sprint(rnd.Uint32())), known[k])}
		if known[k] != 0 && rnd.IntN(4) == 0 {
			ops = []store.Op{store.DeleteOp(k, known[k])}
		}
		if other := key(); other != k && rnd.IntN(4) == 0 {
			ops = append(ops, store.UpdateOp(other, value("txn"), known[other]))
		}
		var guards []store.Guard
		if other := key(); rnd.IntN(4) == 0 {
			guards = append(guards, store.Guard{Key: other, Revision: known[other]})
		}
		revision, err := s.Txn(ctx, ops, guards)
		learn(known, ops, revision, err)
		if err == nil {
			j.wrote(written{ops: ops, guards: guards, revision: revision})
		} else if !isRefusal(err) {
			j.failed(err)
		}
	}
}

// learn updates the revisions that a client knows from the result of its write.
func learn(known map[string]int64, ops []store.Op, revision int64, err error) {
	var conflict *store.ConflictError
	var guard *store.GuardError
	switch {
	case err == nil:
		for _, op := range ops {
			known[op.Key] = revision
			if op.Type == store.OpDelete {
				known[op.Key] = 0
			}
		}
	case errors.As(err, &conflict):
		known[conflict.Key] = 0
		if conflict.Current != nil {
			known[conflict.Key] = conflict.Current.Revision
		}
	case errors.As(err, &guard):
		known[guard.Guard.Key] = 0
		if guard.Current != nil {
			known[guard.Guard.Key] = guard.Current.Revision
		}
	}
}

func isRefusal(err error) bool {
	var conflict *store.ConflictError
	var guard *store.GuardError
	var exists *store.ExistsError
	return errors.As(err, &conflict) || errors.As(err, &guard) || errors.As(err, &exists)
}
