package mem

import (
	"fmt"
	"maps"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func needSmallMaps(t *testing.T) {
	if !SmallMapsKnown {
		t.Skip("small maps are allocated by the runtime; TestLayoutsAreKnown decides whether that is right")
	}
}

// The runtime's own small maps have the layout of a SmallMap.
func TestLayoutOfSmallMaps(t *testing.T) {
	needSmallMaps(t)
	m := make(map[string]checkedEntry)
	for i := range SmallMapLen {
		k, v := fmt.Sprint("key", i), checkedEntry{n: int64(i)}
		m[k] = v
		h := SmallMapAt(Of(&m))
		require.NotNil(t, h)
		require.EqualValues(t, i+1, h.used)
		require.Equal(t, MapHeader{used: h.used, seed: h.seed, slots: h.slots}, *h)
		slots := (*mapSlots[checkedEntry])(h.slots)
		require.Equal(t, k, slots.slots[i].Key)
		require.Equal(t, v, slots.slots[i].Value)
		require.EqualValues(t, emptySlots&(^uint64(0)<<(8*(i+1))), slots.control&emptySlots)
	}
	m["one more"] = checkedEntry{}
	require.Nil(t, SmallMapAt(Of(&m)))
	var none map[string]string
	require.Nil(t, SmallMapAt(Of(&none)))
	none = map[string]string{}
	require.Nil(t, SmallMapAt(Of(&none)))
}

// A small map, empty or a copy, does all that a map does, outgrows its slots and survives the collector.
func TestSmallMapsAreMaps(t *testing.T) {
	needSmallMaps(t)
	for _, seed := range seeds.Of(t, 40) {
		rnd := seeds.Stream(seed, 1)
		want := map[string]string{}
		m := new(SmallMap[string]).Init()
		for step := range 120 {
			// Few keys at first, so that the map stays small, then more.
			k := fmt.Sprint("key-", rnd.IntN(6+step/8))
			switch rnd.IntN(8) {
			case 0, 1:
				delete(m, k)
				delete(want, k)
			case 2:
				if h := SmallMapAt(Of(&m)); h != nil {
					before := m
					m = new(SmallMap[string]).InitCopy(h)
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
			_, present := want[k]
			require.Equal(t, present, ok)
			require.Equal(t, want, maps.Collect(maps.All(m)), "seed %d, step %d", seed, step)
			require.Equal(t, want, maps.Clone(m))
		}
	}
}
