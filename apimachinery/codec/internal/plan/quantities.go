package plan

import (
	"encoding"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// A QuantityMap is the type by which maps of quantities (limits, requests, capacities) are accessed. They are
// the most frequent maps that do not hold strings, and have the same layout because their key types differ
// only in name; reflection would take several times as long.
type QuantityMap = map[string]resource.Quantity

var textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()

// holdsQuantities reports whether t is a map type that may be treated as a QuantityMap.
func holdsQuantities(t reflect.Type) bool {
	return mem.IsMapOf[resource.Quantity](t) && !reflect.PointerTo(t.Key()).Implements(textUnmarshalerType)
}
