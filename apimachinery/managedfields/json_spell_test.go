package managedfields

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// randomValue makes a JSON value out of few parts, so that two of them are often equal or nearly so.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n < 2 && depth > 0:
		m := map[string]any{}
		for range r.IntN(4) {
			m[[]string{"a", "b", `"`, "<"}[r.IntN(4)]] = randomValue(r, depth-1)
		}
		return m
	case n < 4 && depth > 0:
		list := []any{}
		for range r.IntN(3) {
			list = append(list, randomValue(r, depth-1))
		}
		return list
	}
	return []any{nil, true, false, int64(1), int64(12), int64(-1), 1.5, "", "a", "ab", `a"`, `a\`, "<"}[r.IntN(13)]
}

// A text spells only its own value, and always does if that consists of plain strings, integers and booleans.
func TestSpells(t *testing.T) {
	for _, seed := range seeds.Of(t, 3000) {
		r := seeds.Rand(seed)
		a, b := randomValue(r, 3), randomValue(r, 3)
		text, err := codec.Marshal(a)
		require.NoError(t, err)
		if spells(text, b) {
			require.True(t, equalValues(a, b), "seed %d: %s spells %v", seed, text, b)
		}
		for n := range text {
			require.False(t, spells(text[:n], a), "seed %d: %s, cut at %d", seed, text, n)
		}
	}
	for _, text := range []string{`{"a":[1,{"b":"c"},true,[]],"d":{},"e":-7}`, `""`, `[]`, `false`} {
		var v any
		require.NoError(t, codec.Unmarshal([]byte(text), &v))
		require.True(t, spells([]byte(text), v), text)
		require.False(t, spells([]byte(text+" "), v), text)
	}
}
