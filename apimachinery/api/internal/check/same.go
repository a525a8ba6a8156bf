package check

import (
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// Same reports whether two values of one type mean the same: absent and empty lists and maps are
// alike, quantities and times are compared by value.
func Same(a, b any) bool { return codec.Equal(a, b) }

// Keys returns the keys of m in order, so that findings come in the same order every time.
func Keys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
