package codec

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// fewKeys is up to how many entries are sorted by insertion: most maps of an object
// have a handful, for which that is quicker than the general sort.
const fewKeys = 12

// An entry is an entry of a map.
type entry[V any] struct {
	key   string
	value V
}

type (
	pair   = entry[string]
	amount = entry[resource.Quantity]
)

// sortedEntries returns the entries of m in key order, in room if they fit.
func sortedEntries[V any](room []entry[V], m map[string]V) []entry[V] {
	entries := room[:0]
	few := len(m) <= fewKeys
	for k, v := range m {
		entries = append(entries, entry[V]{k, v})
		for i := len(entries) - 1; few && i > 0 && k < entries[i-1].key; i-- {
			entries[i], entries[i-1] = entries[i-1], entries[i]
		}
	}
	if !few {
		slices.SortFunc(entries, func(x, y entry[V]) int { return strings.Compare(x.key, y.key) })
	}
	return entries
}
