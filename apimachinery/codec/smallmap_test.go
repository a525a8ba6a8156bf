package codec

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// The runtime's own small maps have the layout of a smallMap. If this fails, mapLayoutKnown must be false for
// this version of Go.
func TestLayoutOfMaps(t *testing.T) {
	if !mapLayoutKnown {
		t.Skip("maps are allocated one by one with this version of Go")
	}
	m := make(map[string]resource.Quantity)
	for i := range smallMapRoom {
		k, v := fmt.Sprint("key", i), resource.MustParse(fmt.Sprint(i+1, "Mi"))
		m[k] = v
		h := smallMapAt(unsafe.Pointer(&m))
		require.NotNil(t, h)
		require.EqualValues(t, i+1, h.used)
		require.Equal(t, mapHeader{used: h.used, seed: h.seed, slots: h.slots}, *h)
		slots := (*mapSlots[resource.Quantity])(h.slots)
		require.Equal(t, k, slots.slots[i].key)
		require.Equal(t, v, slots.slots[i].value)
		require.EqualValues(t, emptySlots&(^uint64(0)<<(8*(i+1))), slots.control&emptySlots)
	}
	m["one more"] = resource.Quantity{}
	require.Nil(t, smallMapAt(unsafe.Pointer(&m)))
	var none map[string]string
	require.Nil(t, smallMapAt(unsafe.Pointer(&none)))
	none = map[string]string{}
	require.Nil(t, smallMapAt(unsafe.Pointer(&none)))
}

// A small map, empty or a copy, does all that a map does, outgrows its slots and survives the collector.
func TestSmallMapsAreMaps(t *testing.T) {
	if !mapLayoutKnown {
		t.Skip("maps are allocated one by one with this version of Go")
	}
	for _, seed := range seeds.Of(t, 40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		want := map[string]string{}
		m := new(smallMap[string]).asMap()
		for step := range 120 {
			// Few keys at first, so that the map stays small, then more.
			k := fmt.Sprint("key-", rnd.IntN(6+step/8))
			switch rnd.IntN(8) {
			case 0, 1:
				delete(m, k)
				delete(want, k)
			case 2:
				if h := smallMapAt(unsafe.Pointer(&m)); h != nil {
					room := new(smallMap[string])
					room.asCopy(h)
					before := m
					m = room.asMapAgain()
					before["only here"] = "x"
				}
			case 3:
				if step%3 == 0 {
					clear(m)
					clear(want)
				}
			case 4:
				if step%7 == 0 {
					runtime.GC()
				}
			default:
				v := fmt.Sprint("value ", seed, " ", step)
				m[k], want[k] = v, v
			}
			require.Len(t, m, len(want), "seed %d, step %d", seed, step)
			v, ok := m[k]
			require.Equal(t, want[k], v)
			_, there := want[k]
			require.Equal(t, there, ok)
			require.Equal(t, want, maps.Collect(maps.All(m)), "seed %d, step %d", seed, step)
			require.Equal(t, want, maps.Clone(m))
		}
	}
}

// asMapAgain is the map variable of a smallMap that is one already.
func (m *smallMap[V]) asMapAgain() map[string]V {
	h := &m.header
	return *(*map[string]V)(unsafe.Pointer(&h))
}
