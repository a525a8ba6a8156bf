package managedfields

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// overlapping makes a set of paths over few names, so that two of them overlap.
func overlapping(r *rand.Rand, most int) *Set {
	s := &Set{}
	for range r.IntN(most) {
		var p Path
		for range 1 + r.IntN(3) {
			switch r.IntN(4) {
			case 0:
				p = append(p, Key(map[string]any{"name": string(rune('a' + r.IntN(3))), "port": int64(r.IntN(20) * 50)}))
			case 1:
				p = append(p, Value([]any{"x\"<y>", int64(7), true, 1.5, `back\slash`}[r.IntN(5)]))
			default:
				p = append(p, Field([]string{"a", "b", "c", "d", `q"<`}[r.IntN(5)]))
			}
		}
		s.Insert(p)
	}
	return s
}

// Changing the wire form gives the bytes that reading, changing and writing gives.
func TestSpliceAgreesWithSets(t *testing.T) {
	for _, seed := range seeds.Of(t, 3000) {
		r := seeds.Rand(seed)
		a, b := overlapping(r, 40), overlapping(r, 8+r.IntN(60))
		raw := a.AppendJSON(nil)
		require.Equal(t, !a.Intersection(b).Empty(), rawOverlaps(raw, b), "seed %d", seed)

		shorter, ok := cut(raw, b)
		require.True(t, ok, "seed %d", seed)
		require.Equal(t, string(a.Difference(b).AppendJSON(nil)), string(shorter), "seed %d", seed)

		longer, grown, ok := join(raw, b)
		require.True(t, ok, "seed %d", seed)
		union := a.Union(b)
		require.Equal(t, string(union.AppendJSON(nil)), string(longer), "seed %d", seed)
		require.Equal(t, !union.Equal(a), grown, "seed %d", seed)

		rest, ok := beyond(raw, b)
		require.True(t, ok, "seed %d", seed)
		require.Equal(t, a.Difference(b).String(), rest.String(), "seed %d", seed)

		led, ok := along(raw, b)
		require.True(t, ok, "seed %d", seed)
		require.Equal(t, led.String(), a.along(b).String(), "seed %d", seed)
		require.Equal(t, a.Intersection(b).String(), led.Intersection(b).String(), "seed %d", seed)
		require.Equal(t, string(a.AppendJSON(nil)), string(raw), "seed %d: the operand was changed", seed)
	}
}

// Bytes that are no set are refused, or read as the set reads them.
func FuzzSplice(f *testing.F) {
	f.Add([]byte(`{"f:a":{".":{},"k:{\"b\":1}":{}},"v:\"x\"":{},"i:3":{}}`), []byte(`{"f:a":{"k:{\"b\":1}":{}}}`))
	f.Add([]byte(`{"f:a":{}`), []byte(`{"f:a":{}}`))
	f.Fuzz(func(t *testing.T, raw, other []byte) {
		b, err := ParseSet(other)
		if err != nil {
			return
		}
		rawOverlaps(raw, b)
		a, err := ParseSet(raw)
		if err != nil {
			cut(raw, b)
			join(raw, b)
			beyond(raw, b)
			return
		}
		if rest, ok := beyond(raw, b); ok {
			require.Equal(t, a.Difference(b).String(), rest.String())
		}
		raw = a.AppendJSON(nil)
		shorter, ok := cut(raw, b)
		require.True(t, ok)
		require.Equal(t, string(a.Difference(b).AppendJSON(nil)), string(shorter))
		longer, _, ok := join(raw, b)
		require.True(t, ok)
		require.Equal(t, string(a.Union(b).AppendJSON(nil)), string(longer))
	})
}
