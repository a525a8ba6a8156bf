package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
)

// randomHistories compares random sequential histories, step by step, with the model, and then what
// watches from random revisions have delivered.
func randomHistories(t *testing.T, open Open) {
	s := open(t)
	for _, seed := range seedsFor(t, s, 500, 12) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		h := newHistory(ctx, t, s, seed)
		for range 60 + h.rnd.IntN(60) {
			h.step(ctx)
		}
		h.checkWatches(ctx)
		cancel()
	}
}

type history struct {
	t       *testing.T
	s       store.Store
	seed    uint64
	rnd     *rand.Rand
	prefix  string
	m       *model
	watches []*Watcher
}

func newHistory(ctx context.Context, t *testing.T, s store.Store, seed uint64) *history {
	h := &history{t: t, s: s, seed: seed, rnd: rand.New(rand.NewPCG(seed, 42)), prefix: fmt.Sprintf("/h%d/", seed)}
	revision, err := s.Progress(ctx, "")
	require.NoError(t, err)
	h.m = newModel(revision)
	return h
}

func (h *history) key() string {
	return fmt.Sprintf("%s%c/%d", h.prefix, 'a'+rune(h.rnd.IntN(3)), h.rnd.IntN(4))
}

// revisionOf picks an expected revision: mostly the current one.
func (h *history) revisionOf(key string) int64 {
	switch kv := h.m.current(key); {
	case h.rnd.IntN(10) == 0:
		return store.AnyRevision
	case h.rnd.IntN(10) == 0:
		return max(1, h.m.revision-h.rnd.Int64N(5))
	case kv == nil:
		return store.Absent
	default:
		return kv.Revision
	}
}

func (h *history) op() store.Op {
	key, v := h.key(), value(fmt.Sprint(h.rnd.Uint32()))
	switch h.rnd.IntN(4) {
	case 0:
		return store.CreateOp(key, v)
	case 1:
		if expected := h.revisionOf(key); expected != store.Absent {
			return store.DeleteOp(key, expected)
		}
		fallthrough
	default:
		return store.UpdateOp(key, v, h.revisionOf(key))
	}
}

func (h *history) guards() []store.Guard {
	var out []store.Guard
	for h.rnd.IntN(5) == 0 {
		key := h.key()
		out = append(out, store.Guard{Key: key, Revision: h.revisionOf(key)})
	}
	return out
}

func (h *history) step(ctx context.Context) {
	switch h.rnd.IntN(12) {
	case 0:
		h.get(ctx)
	case 1:
		h.list(ctx)
	case 2:
		if len(h.watches) < 8 {
			from := h.m.history[h.rnd.IntN(len(h.m.history))].revision
			prefix := h.prefix + []string{"", "a/", "b/", "c/1"}[h.rnd.IntN(4)]
			h.watches = append(h.watches, Watch(h.t, ctx, h.s, prefix, from))
		}
	case 3:
		h.write(ctx, h.ops())
	default:
		h.write(ctx, []store.Op{h.op()})
	}
}

// ops are several operations on different keys.
func (h *history) ops() []store.Op {
	var ops []store.Op
	used := map[string]bool{}
	for range 1 + h.rnd.IntN(4) {
		if op := h.op(); !used[op.Key] {
			used[op.Key] = true
			ops = append(ops, op)
		}
	}
	return ops
}

func (h *history) write(ctx context.Context, ops []store.Op) {
	guards := h.guards()
	want := h.m.check(ops, guards)
	revision, err := h.do(ctx, ops, guards)
	require.Equal(h.t, want, err, "seed %d: %+v with %+v", h.seed, ops, guards)
	if err == nil {
		require.Greater(h.t, revision, h.m.revision, "seed %d", h.seed)
		h.m.apply(ops, revision)
	}
}

func (h *history) do(ctx context.Context, ops []store.Op, guards []store.Guard) (int64, error) {
	o := store.WriteOptions{Guards: guards}
	if len(ops) > 1 || h.rnd.IntN(4) == 0 {
		return h.s.Txn(ctx, ops, guards)
	}
	switch op := ops[0]; op.Type {
	case store.OpCreate:
		return h.s.Create(ctx, op.Key, op.Value, o)
	case store.OpUpdate:
		return h.s.Update(ctx, op.Key, op.Value, op.Expected, o)
	default:
		return h.s.Delete(ctx, op.Key, op.Expected, o)
	}
}

func (h *history) get(ctx context.Context) {
	key := h.key()
	kv, revision, err := h.s.Get(ctx, key)
	require.GreaterOrEqual(h.t, revision, h.m.revision, "seed %d", h.seed)
	if want := h.m.current(key); want != nil {
		require.NoError(h.t, err)
		require.Equal(h.t, *want, kv, "seed %d", h.seed)
	} else {
		require.ErrorIs(h.t, err, store.ErrNotFound, "seed %d", h.seed)
	}
}

func (h *history) list(ctx context.Context) {
	prefix := h.prefix + []string{"", "a/", "b"}[h.rnd.IntN(3)]
	o := store.ListOptions{Limit: h.rnd.IntN(5)}
	if h.rnd.IntN(2) == 0 {
		o.After = h.key()
	}
	state := h.m.state
	if h.rnd.IntN(2) == 0 {
		o.Revision = h.m.history[h.rnd.IntN(len(h.m.history))].revision
		state = h.m.at(o.Revision)
	}
	if h.rnd.IntN(4) == 0 {
		h.listSince(ctx, prefix, o.After)
	}
	got, err := h.s.List(ctx, prefix, o)
	require.NoError(h.t, err, "seed %d: list %q %+v", h.seed, prefix, o)
	want, remaining := list(state, prefix, o.Limit, o.After)
	require.Equal(h.t, want, got.Items, "seed %d: list %q %+v", h.seed, prefix, o)
	require.Equal(h.t, remaining, got.Remaining, "seed %d", h.seed)
	require.Equal(h.t, remaining > 0, got.More)
}

// listSince reads what has changed since some revision.
func (h *history) listSince(ctx context.Context, prefix, after string) {
	o := store.ListOptions{After: after, Since: h.m.history[h.rnd.IntN(len(h.m.history))].revision}
	got, err := h.s.List(ctx, prefix, o)
	require.NoError(h.t, err, "seed %d: list %q %+v", h.seed, prefix, o)
	all, _ := list(h.m.state, prefix, 0, after)
	require.EqualValues(h.t, len(all), got.Total, "seed %d: list %q %+v", h.seed, prefix, o)
	newer := slices.DeleteFunc(all, func(kv store.KV) bool { return kv.Revision <= o.Since })
	require.Equal(h.t, len(newer), len(got.Items), "seed %d: list %q %+v", h.seed, prefix, o)
	for i := range newer {
		require.Equal(h.t, newer[i], got.Items[i], "seed %d: list %q %+v", h.seed, prefix, o)
	}
}

func (h *history) checkWatches(ctx context.Context) {
	for _, w := range h.watches {
		want := h.m.eventsAfter(w.prefix, w.from)
		got, err := w.Until(ctx, len(want))
		require.NoError(h.t, err, "seed %d", h.seed)
		require.Equal(h.t, len(want), len(got), "seed %d", h.seed)
		for i := range want {
			require.Equal(h.t, want[i], got[i], "seed %d: event %d of %q from %d", h.seed, i, w.prefix, w.from)
		}
		require.NoError(h.t, w.Stop())
	}
	h.watches = nil
}
