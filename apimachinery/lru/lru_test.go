package lru_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/lru"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func Example() {
	m := lru.New[string, int](2)
	for i, name := range []string{"a", "b", "a", "c"} { // b is used least recently when c comes
		fmt.Println(name, m.Get(name, func() int { return i }))
	}
	m.Keep(func(name string, _ int) bool {
		fmt.Println("left:", name)
		return true
	})
	// Output:
	// a 0
	// b 1
	// a 0
	// c 3
	// left: c
	// left: a
}

// A map holds what a list of its keys, the latest first, says.
func TestAgainstAList(t *testing.T) {
	for _, seed := range seeds.Of(t, 50) {
		rng := seeds.Rand(seed)
		most := 1 + rng.IntN(5)
		m := lru.New[int, int](most)
		var want []int
		for range 200 {
			if rng.IntN(20) == 0 {
				odd := func(k, _ int) bool { return k%2 == 1 }
				m.Keep(odd)
				want = slices.DeleteFunc(want, func(k int) bool { return !odd(k, 0) })
				continue
			}
			k, made := rng.IntN(8), false
			require.Equal(t, 10*k, m.Get(k, func() int { made = true; return 10 * k }))
			at := slices.Index(want, k)
			require.Equal(t, at < 0, made, "seed %d", seed)
			if at >= 0 {
				want = slices.Delete(want, at, at+1)
			}
			want = slices.Insert(want, 0, k)
			want = want[:min(len(want), most)]
			require.Equal(t, len(want), m.Len())
			var got []int
			m.Keep(func(k, _ int) bool { got = append(got, k); return true })
			require.Equal(t, want, got, "seed %d", seed)
		}
	}
}
