package seeds_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func TestOf(t *testing.T) {
	t.Setenv("KEELSON_SEEDS", "")
	t.Setenv("KEELSON_SEED", "")
	first, second := seeds.Of(t, 20), seeds.Of(t, 20)
	require.Len(t, first, 22)
	require.Equal(t, first[:20], second[:20], "fixed seeds repeat")
	require.EqualValues(t, 1, first[0])
	require.EqualValues(t, 20, first[19])
	require.NotEqual(t, first[20:], second[20:], "fresh seeds do not")
	require.Greater(t, first[20], uint64(1)<<32)
	require.Len(t, seeds.Of(t, 1), 2)

	t.Setenv("KEELSON_SEEDS", "2000")
	require.Len(t, seeds.Of(t, 20), 2200)
	require.Len(t, seeds.PerKind(t, 20), 220)
	require.Len(t, seeds.Slow(t, 20), 22)
	t.Setenv("KEELSON_SEEDS", "100000")
	require.Len(t, seeds.Slow(t, 20), 110)
	t.Setenv("KEELSON_SEEDS", "")
	require.Len(t, seeds.Slow(t, 20), 22)
	t.Setenv("KEELSON_SEED", "7")
	require.Equal(t, []uint64{7}, seeds.Slow(t, 20))
	require.Equal(t, []uint64{7}, seeds.Of(t, 20))
}

func TestRand(t *testing.T) {
	require.Equal(t, seeds.Rand(3).Uint64(), seeds.Rand(3).Uint64())
	require.NotEqual(t, seeds.Rand(3).Uint64(), seeds.Rand(4).Uint64())
}

func ExampleOf() {
	t := new(testing.T) // a test's own

	for _, seed := range seeds.Of(t, 1)[:1] {
		if r := seeds.Rand(seed); r.IntN(10) > 9 {
			t.Fatalf("seed %d: no such number", seed)
		}
		fmt.Println("tried seed", seed)
	}
	// Output: tried seed 1
}
