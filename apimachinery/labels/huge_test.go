package labels_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/labels"
)

// A selector comes from a URL: its valid parts cost no memory besides their own.
func TestParseOfManyValuesAllocatesLittle(t *testing.T) {
	var b strings.Builder
	b.WriteString("k in (")
	for i := range 20000 {
		fmt.Fprintf(&b, "v%d,", i)
	}
	b.WriteString("z)")
	text := b.String()
	var s labels.Selector
	allocs := testing.AllocsPerRun(5, func() { s = labels.MustParse(text) })
	require.Less(t, allocs, 100.0)
	require.True(t, s.Matches(map[string]string{"k": "v19999"}))
	require.False(t, s.Matches(map[string]string{"k": "v20000"}))
}

// Selectors of very many requirements match what meets each of them.
func TestManyRequirements(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func(of string, n int) string { return of + strconv.Itoa(rnd.IntN(n)) }
	matched := 0
	for range 3000 {
		object := map[string]string{}
		for range rnd.IntN(4) {
			object[word("k", 40)] = word("", 5)
		}
		var reqs []labels.Requirement
		for range 1 + rnd.IntN(120) {
			key, op := word("other", 40), labels.DoesNotExist // mostly what the object meets
			switch rnd.IntN(9) {
			case 0, 1:
				key, op = word("k", 40), []labels.Operator{labels.NotIn, labels.NotEquals, labels.DoesNotExist}[rnd.IntN(3)]
			case 2:
				if keys := slices.Sorted(maps.Keys(object)); len(keys) > 0 {
					key, op = keys[rnd.IntN(len(keys))], []labels.Operator{labels.Exists, labels.GreaterThan, labels.In}[rnd.IntN(3)]
				}
			case 3:
				if rnd.IntN(60) == 0 {
					key, op = word("missing", 3), labels.Exists
				}
			}
			values := map[labels.Operator][]string{labels.NotIn: {word("", 9), word("", 9)}, labels.NotEquals: {word("", 9)},
				labels.GreaterThan: {"0"}, labels.In: {"0", "1", "2", "3", word("", 9)}}[op]
			r, err := labels.NewRequirement(key, op, values)
			require.NoError(t, err)
			reqs = append(reqs, *r)
		}
		want := true
		for _, r := range reqs {
			want = want && r.Matches(object)
		}
		s := labels.NewSelector(reqs...)
		require.Equal(t, want, s.Matches(object), "%s of %v", s, object)
		require.Equal(t, want, s.MatchesFunc(func(key string) (string, bool) { v, ok := object[key]; return v, ok }))
		if want {
			matched++
		}
	}
	require.Greater(t, matched, 300)
	require.Less(t, matched, 2700)
}
