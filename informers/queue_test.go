package informers

import (
	"fmt"
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

// TestQueueDeliversEveryFinalState changes objects at random while a handler takes changes at random: the
// changes delivered are consistent with each other, at most one waits for each object that the handler has
// seen or that exists, and in the end nothing is missing.
func TestQueueDeliversEveryFinalState(t *testing.T) {
	for _, seed := range seeds.Of(t, 500) {
		rng := seeds.Rand(seed)
		q := newQueue[*corev1.ConfigMap]()
		exist, known := map[types.NamespacedName]*queued{}, map[types.NamespacedName]*queued{}
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
			}
			return true
		}
		patience := rng.IntN(4)
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
			n, _ := q.depth()
			require.LessOrEqual(t, n, len(concerned)+1, "seed %d", seed)
			for range rng.IntN(patience + 1) {
				tell()
			}
		}
		for tell() {
		}
		require.Equal(t, exist, known, "seed %d", seed)
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
