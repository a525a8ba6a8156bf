package codec

import (
	"slices"
	"strings"
)

// fewKeys is up to how many keys are sorted by insertion: most maps of an object
// have a handful, for which that is quicker than the general sort.
const fewKeys = 12

// sortKeys sorts keys.
func sortKeys(keys []string) {
	if len(keys) > fewKeys {
		slices.Sort(keys)
		return
	}
	for i := 1; i < len(keys); i++ {
		for k := i; k > 0 && keys[k] < keys[k-1]; k-- {
			keys[k], keys[k-1] = keys[k-1], keys[k]
		}
	}
}

// A pair is an entry of a map of strings.
type pair struct{ key, value string }

// sortedPairs returns the entries of m in key order, in room if they fit.
func sortedPairs(room []pair, m map[string]string) []pair {
	pairs := room[:0]
	if len(m) > fewKeys {
		for k, v := range m {
			pairs = append(pairs, pair{k, v})
		}
		slices.SortFunc(pairs, func(x, y pair) int { return strings.Compare(x.key, y.key) })
		return pairs
	}
	for k, v := range m {
		pairs = append(pairs, pair{k, v})
		for i := len(pairs) - 1; i > 0 && k < pairs[i-1].key; i-- {
			pairs[i], pairs[i-1] = pairs[i-1], pairs[i]
		}
	}
	return pairs
}
