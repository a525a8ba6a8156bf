package informers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

type queued = object[*corev1.ConfigMap]

func state(key types.NamespacedName, uid, version int) *queued {
	return &queued{key: key, uid: types.UID(strconv.Itoa(uid)), version: strconv.Itoa(version)}
}

// TestQueueDeliversEveryFinalState changes objects at random while a handler takes changes at random and a
// reader gets states at random: the changes delivered are consistent with each other, at most one waits for
// each object that the handler has seen or that exists and for each state read, and in the end nothing is
// missing, no state that was read either.
func TestQueueDeliversEveryFinalState(t *testing.T) {
	for _, seed := range seeds.Of(t, 500) {
		rng := seeds.Rand(seed)
		q := newQueue[*corev1.ConfigMap]()
		exist, known := map[types.NamespacedName]*queued{}, map[types.NamespacedName]*queued{}
		read := map[*queued]bool{} // and not delivered since
		tell := func() bool {
			c, ok := q.take()
			if !ok {
				return false
			}
			if c.deleted != nil {
				require.Equal(t, known[c.key].uid, c.deleted.uid, "seed %d", seed)
				delete(known, c.key)
			}
			if c.now != nil {
				require.True(t, known[c.key] == c.before, "seed %d: before is what was delivered last", seed)
				known[c.key] = c.now
				delete(read, c.now)
			}
			return true
		}
		patience, readers := rng.IntN(4), rng.IntN(3)
		for version := range 300 {
			key := types.NamespacedName{Name: strconv.Itoa(rng.IntN(12))}
			old := exist[key]
			switch {
			case old == nil:
				exist[key] = state(key, version, version)
				q.put(nil, exist[key], nil, false, false)
			case rng.IntN(3) == 0:
				delete(exist, key)
				// The last state of what is deleted is often newer than the last one seen.
				q.put(old, nil, &queued{key: key, uid: old.uid, version: strconv.Itoa(version)}, false, false)
			case rng.IntN(5) == 0:
				q.putResync(old)
			default:
				exist[key] = &queued{key: key, uid: old.uid, version: strconv.Itoa(version)}
				q.put(old, exist[key], nil, false, false)
			}
			concerned := map[types.NamespacedName]bool{}
			for k := range exist {
				concerned[k] = true
			}
			for k := range known {
				concerned[k] = true
			}
			if o := exist[key]; o != nil && rng.IntN(3) < readers {
				o.markRead()
				if known[key] != o {
					read[o] = true
				}
			}
			n, _ := q.depth()
			require.LessOrEqual(t, n, len(concerned)+len(read)+1, "seed %d", seed)
			require.LessOrEqual(t, len(q.waiting)-q.head-q.dropped, len(concerned)+2*len(read)+1, "seed %d", seed)
			for range rng.IntN(patience + 1) {
				tell()
			}
		}
		for tell() {
		}
		require.Equal(t, exist, known, "seed %d", seed)
		require.Empty(t, read, "seed %d", seed)
		require.Zero(t, q.held)
		n, behind := q.depth()
		require.Zero(t, n)
		require.Zero(t, behind)
		require.Empty(t, q.at)
	}
}

// TestQueueForgetsWhatWasNeverDelivered has objects come and go while the handler is stuck.
func TestQueueForgetsWhatWasNeverDelivered(t *testing.T) {
	q := newQueue[*corev1.ConfigMap]()
	stays := state(types.NamespacedName{Name: "stays"}, 1, 1)
	q.put(nil, stays, nil, false, false)
	q.putMark()
	for i := range 100_000 {
		o := state(types.NamespacedName{Name: fmt.Sprint("passing-", i)}, i, i)
		q.put(nil, o, nil, false, false)
		q.put(o, nil, nil, false, false)
	}
	require.Less(t, cap(q.waiting), 100)
	require.Len(t, q.at, 1)
	n, _ := q.depth()
	require.Equal(t, 2, n)
	c, ok := q.take()
	require.True(t, ok)
	require.Same(t, stays, c.now)
	c, ok = q.take()
	require.True(t, ok && c.mark)
	_, ok = q.take()
	require.False(t, ok)
}

// TestQueueDeliversWhatAnIndexHasShown changes the values under which one object is filed while a handler
// takes changes at random and a reader looks it up by them: each result is right for the state that the
// handler has seen last, or for one that it sees later.
func TestQueueDeliversWhatAnIndexHasShown(t *testing.T) {
	type result struct {
		value string
		found bool
	}
	ix := &index[*corev1.ConfigMap]{}
	key := types.NamespacedName{Name: "x"}
	has := func(o *queued, value string) bool {
		return o != nil && slices.Contains(o.indexed.Load().of[ix].values, value)
	}
	for _, seed := range seeds.Of(t, 500) {
		rng := seeds.Stream(seed, 2)
		q := newQueue[*corev1.ConfigMap]()
		var exists, known *queued
		unseen := map[result]bool{}
		sees := func(o *queued) {
			known = o
			maps.DeleteFunc(unseen, func(r result, _ bool) bool { return has(o, r.value) == r.found })
		}
		take := func() bool {
			c, ok := q.take()
			if c.deleted != nil {
				sees(nil)
			}
			if c.now != nil {
				sees(c.now)
			}
			return ok
		}
		for version := range 200 {
			old := exists
			if old != nil && rng.IntN(8) == 0 {
				exists = nil
				q.put(old, nil, nil, false, false)
			} else {
				exists = state(key, 1, version)
				var values []string
				for _, v := range []string{"a", "b"} {
					if rng.IntN(2) == 0 {
						values = append(values, v)
					}
				}
				exists.indexed.Store(&indexed[*corev1.ConfigMap]{of: map[*index[*corev1.ConfigMap]]computed{ix: {values: values}}})
				q.put(old, exists, nil, false, false)
			}
			if rng.IntN(3) == 0 {
				r := result{value: []string{"a", "b"}[rng.IntN(2)]}
				if r.found = has(exists, r.value); r.found {
					exists.markRead()
				}
				if has(known, r.value) != r.found {
					unseen[r] = true
				}
			}
			if rng.IntN(6) == 0 {
				take()
			}
		}
		for take() {
		}
		require.Same(t, exists, known, "seed %d", seed)
		require.Empty(t, unseen, "seed %d", seed)
	}
}

// TestQueueHoldsSoMuchOfWhatWasRead has objects that readers get come and go while the handler is stuck:
// those that are held are delivered, and behind them the note that others were not.
func TestQueueHoldsSoMuchOfWhatWasRead(t *testing.T) {
	q := newQueue[*corev1.ConfigMap]()
	stays := state(types.NamespacedName{Name: "stays"}, 1, 1)
	q.put(nil, stays, nil, false, false)
	for i := range 3 * maxHeld {
		o := state(types.NamespacedName{Name: fmt.Sprint("passing-", i)}, i, i)
		q.put(nil, o, nil, false, false)
		o.markRead()
		q.put(o, nil, nil, false, false)
		next := state(stays.key, 1, i+2)
		q.put(stays, next, nil, false, false)
		stays = next
		stays.markRead()
	}
	require.Less(t, len(q.waiting), 3*maxHeld)
	n, _ := q.depth()
	require.LessOrEqual(t, n, maxHeld+2, "objects")
	added, deleted, held, gaps := 0, 0, 0, 0
	var last *queued
	for {
		c, ok := q.take()
		if !ok {
			break
		}
		if c.held {
			held++
		}
		switch {
		case c.gap:
			gaps++
			require.Equal(t, maxHeld, held, "behind what is held")
		case c.key != stays.key && c.now != nil:
			added++
			require.Nil(t, c.before)
		case c.key != stays.key:
			deleted++
		default:
			require.Same(t, last, c.before)
			last = c.now
		}
	}
	require.Equal(t, 1, gaps)
	require.Equal(t, added, deleted)
	require.Same(t, stays, last)
	o := state(types.NamespacedName{Name: "next"}, 1, 1)
	q.put(nil, o, nil, false, false)
	o.markRead()
	q.put(o, nil, nil, false, false)
	require.Len(t, q.waiting, 2, "there is room again")
}

// TestQueueGivesMemoryBack fills a queue once and drains it.
func TestQueueGivesMemoryBack(t *testing.T) {
	q := newQueue[*corev1.ConfigMap]()
	for i := range 10 * maxKept {
		q.put(nil, state(types.NamespacedName{Name: strconv.Itoa(i)}, i, i), nil, true, false)
	}
	for i := range 10 * maxKept {
		c, ok := q.take()
		require.True(t, ok)
		require.Equal(t, strconv.Itoa(i), c.key.Name, "oldest first")
	}
	_, ok := q.take()
	require.False(t, ok)
	require.LessOrEqual(t, cap(q.waiting), maxKept)
}

// TestIndexFilesWhatReadersSee changes the values of objects at random and compares the index with a search
// through all of them.
func TestIndexFilesWhatReadersSee(t *testing.T) {
	for _, seed := range seeds.Of(t, 200) {
		rng := seeds.Stream(seed, 1)
		ix := &index[*corev1.ConfigMap]{byValue: map[string]*bucket[*corev1.ConfigMap]{}, of: map[types.NamespacedName]*filed[*corev1.ConfigMap]{}}
		now := map[types.NamespacedName]*queued{}
		for range 200 {
			key := types.NamespacedName{Namespace: strconv.Itoa(rng.IntN(2)), Name: strconv.Itoa(rng.IntN(10))}
			if rng.IntN(4) == 0 {
				delete(now, key)
				ix.file(key, nil)
			} else {
				o := state(key, 1, rng.IntN(1000))
				vals := make([]string, rng.IntN(4))
				for i := range vals {
					vals[i] = strconv.Itoa(rng.IntN(4)) // often the same one twice
				}
				o.indexed.Store(&indexed[*corev1.ConfigMap]{of: map[*index[*corev1.ConfigMap]]computed{ix: {values: vals}}})
				now[key] = o
				ix.file(key, o)
			}
			if rng.IntN(3) > 0 {
				continue // readers keep an order until a member comes or goes
			}
			want := map[string]map[types.NamespacedName]*queued{}
			for k, o := range now {
				for _, v := range o.indexed.Load().of[ix].values {
					if want[v] == nil {
						want[v] = map[types.NamespacedName]*queued{}
					}
					want[v][k] = o
				}
			}
			require.Len(t, ix.byValue, len(want), "seed %d", seed)
			require.Len(t, ix.of, len(now), "seed %d", seed)
			for v, objs := range want {
				got := ix.byValue[v].sorted()
				require.Len(t, got, len(objs), "seed %d", seed)
				for i, f := range got {
					require.Same(t, objs[f.key], f.obj, "seed %d", seed)
					require.True(t, i == 0 || got[i-1].key.Compare(f.key) < 0, "seed %d", seed)
				}
			}
		}
	}
}
