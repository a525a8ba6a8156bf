package codec

import (
	"reflect"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// mapScratch is what going through a map needs: room for a key and for
// copies of the values, which reflection cannot give addresses of.
type mapScratch struct {
	keySlot mem.Pointer
	key     reflect.Value
	slots   mem.Pointer   // *[]T
	values  reflect.Value // the []T
	entries []mapEntry
	iter    reflect.MapIter
}

// mapEntry is a map entry ready for sorting.
type mapEntry = mem.MapEntry[mem.Pointer]

// getScratch returns a scratch for maps of n's type with room for count values.
func (n *node) getScratch(count int) *mapScratch {
	s, ok := n.scratch.Get().(*mapScratch)
	if !ok {
		key := reflect.New(n.key.typ)
		values := reflect.New(reflect.SliceOf(n.elem.typ))
		s = &mapScratch{keySlot: key.UnsafePointer(), key: key.Elem(), slots: values.UnsafePointer(), values: values.Elem()}
	}
	if s.values.Cap() < count {
		s.values.SetLen(0)
		s.values.Grow(count)
	}
	s.values.SetLen(count)
	return s
}

// putScratch returns a scratch, emptied so that it keeps nothing alive.
func (n *node) putScratch(s *mapScratch) {
	s.values.Clear()
	s.key.SetZero()
	clear(s.entries)
	s.entries = s.entries[:0]
	s.iter.Reset(reflect.Value{})
	if s.values.Len() <= 256 {
		n.scratch.Put(s)
	}
}

// load copies the entries of the map v into the scratch; keys that are not
// strings get their text from keyText.
func (s *mapScratch) load(n *node, v reflect.Value, keyText func() (string, error)) error {
	s.iter.Reset(v)
	base := mem.SliceAt(s.slots).Data
	count := s.values.Len()
	for i := 0; i < count && s.iter.Next(); i++ {
		s.key.SetIterKey(&s.iter)
		slot := mem.Index(base, i, n.elem.size)
		n.elem.at(slot).SetIterValue(&s.iter)
		var k string
		if keyText == nil {
			k = *mem.At[string](s.keySlot)
		} else {
			var err error
			if k, err = keyText(); err != nil {
				return err
			}
		}
		s.entries = append(s.entries, mapEntry{Key: k, Value: slot})
	}
	if len(s.entries) > 1 {
		slices.SortFunc(s.entries, func(x, y mapEntry) int { return strings.Compare(x.Key, y.Key) })
	}
	return nil
}
