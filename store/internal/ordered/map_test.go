package ordered

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// check verifies the invariants stated at node.
func check[V any](t *testing.T, n *node[V], lo, hi string, root bool) int {
	t.Helper()
	require.LessOrEqual(t, len(n.keys), width)
	if n.leaf() {
		require.Len(t, n.vals, len(n.keys))
		require.True(t, slices.IsSorted(n.keys))
		for _, k := range n.keys {
			require.True(t, k >= lo && (hi == "" || k < hi), "%q in [%q,%q)", k, lo, hi)
		}
		require.Equal(t, len(n.keys), n.size)
		require.NotZero(t, n.size)
		return n.size
	}
	require.Len(t, n.kids, len(n.keys))
	if root {
		require.Greater(t, len(n.kids), 1)
	}
	size := 0
	for i, kid := range n.kids {
		from, to := lo, hi
		if i > 0 {
			from = n.keys[i]
		}
		if i+1 < len(n.keys) {
			to = n.keys[i+1]
		}
		size += check(t, kid, from, to, false)
	}
	require.Equal(t, size, n.size)
	return size
}

type model struct {
	keys []string
	vals map[string]int
}

func (m model) clone() model {
	c := model{keys: slices.Clone(m.keys), vals: map[string]int{}}
	for k, v := range m.vals {
		c.vals[k] = v
	}
	return c
}

func same(t *testing.T, m Map[int], want model) {
	t.Helper()
	if m.root != nil {
		check(t, m.root, "", "", true)
	}
	var keys []string
	for k, v := range m.Range("", "") {
		keys = append(keys, k)
		require.Equal(t, want.vals[k], v)
	}
	require.Equal(t, len(want.keys), m.Len())
	require.True(t, slices.Equal(want.keys, keys))
}

func TestMapRandomHistoryAgainstModel(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		space := 1 + rnd.IntN(3000)
		var m Map[int]
		cur := model{vals: map[string]int{}}
		type version struct {
			m    Map[int]
			want model
		}
		var old []version
		growing := true
		for range 30 {
			e := m.Edit()
			for range rnd.IntN(100) {
				k := fmt.Sprintf("/k/%04d", rnd.IntN(space))
				if growing == (rnd.IntN(4) > 0) {
					v := rnd.Int()
					prev, had := e.Set(k, v)
					want, ok := cur.vals[k]
					require.Equal(t, ok, had, "seed %d", seed)
					require.Equal(t, want, prev)
					if !ok {
						i, _ := slices.BinarySearch(cur.keys, k)
						cur.keys = slices.Insert(cur.keys, i, k)
					}
					cur.vals[k] = v
				} else {
					prev, had := e.Delete(k)
					want, ok := cur.vals[k]
					require.Equal(t, ok, had, "seed %d", seed)
					require.Equal(t, want, prev)
					if ok {
						i, _ := slices.BinarySearch(cur.keys, k)
						cur.keys = slices.Delete(cur.keys, i, i+1)
						delete(cur.vals, k)
					}
				}
			}
			if rnd.IntN(6) == 0 {
				growing = !growing
			}
			m = e.Map()
			old = append(old, version{m, cur.clone()})
			for range 5 {
				from, to := fmt.Sprintf("/k/%04d", rnd.IntN(space)), fmt.Sprintf("/k/%04d", rnd.IntN(space))
				if rnd.IntN(4) == 0 {
					to = ""
				}
				var want, got []string
				for _, k := range cur.keys {
					if k >= from && (to == "" || k < to) {
						want = append(want, k)
					}
				}
				for k := range m.Range(from, to) {
					got = append(got, k)
				}
				require.Equal(t, want, got, "seed %d [%s,%s)", seed, from, to)
				require.Equal(t, len(want), m.Count(from, to))
			}
		}
		for _, v := range old { // earlier versions are untouched
			same(t, v.m, v.want)
		}
		for range 30 {
			a, b := old[rnd.IntN(len(old))], old[rnd.IntN(len(old))]
			sameChanges(t, seed, a.m, b.m, a.want.vals, b.want.vals)
		}
	}
}

// sameChanges compares Changes with the difference of two models.
func sameChanges(t *testing.T, seed uint64, a, b Map[int], before, after map[string]int) {
	t.Helper()
	want := map[string]Change[int]{}
	for k, v := range before {
		if now, stays := after[k]; !stays || now != v {
			want[k] = Change[int]{Key: k, Old: v, New: now, Had: true, Has: stays}
		}
	}
	for k, v := range after {
		if _, had := before[k]; !had {
			want[k] = Change[int]{Key: k, New: v, Has: true}
		}
	}
	got, last := map[string]Change[int]{}, ""
	for c := range b.Changes(a, func(x, y int) bool { return x == y }) {
		require.True(t, last == "" || last < c.Key, "seed %d: ascending", seed)
		got[c.Key], last = c, c.Key
	}
	require.Equal(t, want, got, "seed %d", seed)
	for range b.Changes(a, func(x, y int) bool { return x == y }) {
		break // an iteration may end early
	}
}

// TestChangesReadsOnlyWhatDiffers counts the values that are compared after single changes of a large map.
func TestChangesReadsOnlyWhatDiffers(t *testing.T) {
	e := Map[int]{}.Edit()
	for i := range 100_000 {
		e.Set(fmt.Sprintf("/%06d", i), i)
	}
	m := e.Map()
	compared := 0
	count := func(a, b int) bool {
		compared++
		return a == b
	}
	for range m.Changes(m, count) {
		t.Fatal("a map does not differ from itself")
	}
	require.Zero(t, compared)
	for name, change := range map[string]func(e *Editor[int]){
		"set":    func(e *Editor[int]) { e.Set("/050000", -1) },
		"insert": func(e *Editor[int]) { e.Set("/050000a", -1) },
		"delete": func(e *Editor[int]) { e.Delete("/050000") },
		"first":  func(e *Editor[int]) { e.Delete("/000000") },
		"last":   func(e *Editor[int]) { e.Set("/1", 0) },
	} {
		e := m.Edit()
		change(e)
		compared = 0
		found := 0
		for range e.Map().Changes(m, count) {
			found++
		}
		require.Equal(t, 1, found, name)
		require.LessOrEqual(t, compared, 2*width, name)
	}
}

func TestMapAscendingInsertFillsNodes(t *testing.T) {
	e := Map[int]{}.Edit()
	for i := range 10000 {
		e.Set(fmt.Sprintf("/%06d", i), i)
	}
	m := e.Map()
	check(t, m.root, "", "", true)
	require.Equal(t, 10000, m.Len())
	require.Equal(t, 5000, m.Rank("/005000"))
	next := 0
	for _, v := range m.Range("", "") {
		require.Equal(t, next, v)
		next++
		if next == 100 {
			break
		}
	}
	for i := range 10000 {
		e.Delete(fmt.Sprintf("/%06d", i))
	}
	require.Zero(t, e.Map().Len())
}

func TestPrefixEnd(t *testing.T) {
	require.Equal(t, "/pods0", PrefixEnd("/pods/"))
	require.Equal(t, "b", PrefixEnd("a\xff\xff"))
	require.Equal(t, "", PrefixEnd("\xff"))
	require.Equal(t, "", PrefixEnd(""))
}

func BenchmarkMapUpdate(b *testing.B) {
	e := Map[int]{}.Edit()
	keys := make([]string, 10000)
	for i := range keys {
		keys[i] = fmt.Sprintf("/registry/pods/default/pod-%06d", i)
		e.Set(keys[i], i)
	}
	m := e.Map()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e := m.Edit()
		e.Set(keys[i%len(keys)], i)
		m = e.Map()
	}
}

// FuzzMap reads a program of edits: a key byte and what to do with it.
func FuzzMap(f *testing.F) {
	f.Add([]byte("abcABCabc"), "a", "c")
	f.Fuzz(func(t *testing.T, program []byte, from, to string) {
		e := Map[int]{}.Edit()
		want := map[string]int{}
		for i, b := range program {
			key := string(rune(b & 0x7f))
			if b&0x80 != 0 {
				e.Delete(key)
				delete(want, key)
			} else {
				e.Set(key, i)
				want[key] = i
			}
			if b == 'Z' { // a new generation: nothing may be changed in place any more
				e = e.Map().Edit()
			}
		}
		m := e.Map()
		require.Equal(t, len(want), m.Len())
		n := 0
		for k, v := range m.Range(from, to) {
			require.Equal(t, want[k], v)
			require.True(t, k >= from && (to == "" || k < to))
			n++
		}
		require.Equal(t, n, m.Count(from, to))
	})
}
