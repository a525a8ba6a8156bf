package seeds_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func TestOf(t *testing.T) {
	for _, name := range []string{"KEELSON_SEEDS", "KEELSON_SEED", "KEELSON_FRESH"} {
		t.Setenv(name, "")
	}
	require.Equal(t, []uint64{1, 2, 3}, seeds.Of(t, 3))
	require.Equal(t, []uint64{1}, seeds.Of(t, 0))
	require.Equal(t, []uint64{1 << 40, 1, 2}, seeds.Slow(t, 2, 1<<40), "what failed before comes first")

	t.Setenv("KEELSON_SEEDS", "2000")
	require.Len(t, seeds.Of(t, 20), 2000)
	require.Len(t, seeds.PerKind(t, 20), 200)
	require.Len(t, seeds.Slow(t, 20), 20)
	t.Setenv("KEELSON_SEEDS", "100000")
	require.Len(t, seeds.Slow(t, 20), 100)

	t.Setenv("KEELSON_SEEDS", "20")
	t.Setenv("KEELSON_FRESH", "1")
	first, second := seeds.Of(t, 3), seeds.Of(t, 3)
	require.Len(t, first, 20)
	require.NotEqual(t, first, second)
	for _, seed := range first {
		require.GreaterOrEqual(t, seed, uint64(1)<<32, "no fixed seed is tried")
	}

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

// Draws of a name do not depend on what others draw meanwhile.
func TestDrawsDependOnTheirNameAlone(t *testing.T) {
	a, b := seeds.NewDraws(7), seeds.NewDraws(7)
	var alone []uint64
	for range 10 {
		alone = append(alone, a.For("x").Uint64())
	}
	var among []uint64
	for i := range 10 {
		for range i {
			b.For("y").Uint64()
		}
		rng := b.For("x")
		among = append(among, rng.Uint64())
		rng.Uint64()
	}
	require.Equal(t, alone, among)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(alone))), 10)
	require.NotEqual(t, alone[0], seeds.NewDraws(8).For("x").Uint64())
	require.NotEqual(t, alone[0], seeds.NewDraws(7).For("y").Uint64())
}

// The trace of a test has the numbers that its generators have drawn, and what it recorded.
func TestTrace(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KEELSON_TRACE", dir)
	t.Run("test", func(t *testing.T) {
		for _, seed := range seeds.Of(t, 2) {
			rng := seeds.Rand(seed)
			for range seed {
				rng.Uint64()
			}
			seeds.NewDraws(seed).For("pods").Uint64()
			seeds.Record("history", seed, func() string { return "done" })
		}
	})
	files, err := filepath.Glob(filepath.Join(dir, "*seeds_test"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for _, line := range []string{"TestTrace.func1:", " seed 2, 0: 2 numbers\n", "draws of pods seed 1: 1\n", "history seed 2: done\n"} {
		require.Contains(t, string(text), line)
	}
	t.Setenv("KEELSON_TRACE", "")
	seeds.Record("history", 1, func() string { t.Error("nothing is traced"); return "" })
}
