package plan

import (
	"reflect"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// MapScratch holds the memory for iterating over a map: for a key, and for copies of the values, whose
// addresses reflection cannot take.
type MapScratch struct {
	KeySlot mem.Pointer
	Key     reflect.Value
	Slots   mem.Pointer   // *[]T
	values  reflect.Value // the []T
	Entries []MapEntry
	Iter    reflect.MapIter
}

// MapEntry is a map entry ready for sorting.
type MapEntry = mem.MapEntry[mem.Pointer]

// GetScratch returns a scratch for maps of n's type with memory for count values.
func (n *Node) GetScratch(count int) *MapScratch {
	s, ok := n.scratch.Get().(*MapScratch)
	if !ok {
		key := reflect.New(n.Key.Type)
		values := reflect.New(reflect.SliceOf(n.Elem.Type))
		s = &MapScratch{KeySlot: key.UnsafePointer(), Key: key.Elem(), Slots: values.UnsafePointer(), values: values.Elem()}
	}
	if s.values.Cap() < count {
		s.values.SetLen(0)
		s.values.Grow(count)
	}
	s.values.SetLen(count)
	return s
}

// PutScratch clears a scratch, so that it keeps nothing alive, and returns it to the pool.
func (n *Node) PutScratch(s *MapScratch) {
	s.values.Clear()
	s.Key.SetZero()
	clear(s.Entries)
	s.Entries = s.Entries[:0]
	s.Iter.Reset(reflect.Value{})
	if s.values.Len() <= 256 {
		n.scratch.Put(s)
	}
}

// Load copies the entries of the map v into the scratch; keys that are not
// strings get their text from keyText.
func (s *MapScratch) Load(n *Node, v reflect.Value, keyText func() (string, error)) error {
	s.Iter.Reset(v)
	base := mem.SliceAt(s.Slots).Data
	count := s.values.Len()
	for i := 0; i < count && s.Iter.Next(); i++ {
		s.Key.SetIterKey(&s.Iter)
		slot := mem.Index(base, i, n.Elem.Size)
		n.Elem.At(slot).SetIterValue(&s.Iter)
		var k string
		if keyText == nil {
			k = *mem.At[string](s.KeySlot)
		} else {
			var err error
			if k, err = keyText(); err != nil {
				return err
			}
		}
		s.Entries = append(s.Entries, MapEntry{Key: k, Value: slot})
	}
	if len(s.Entries) > 1 {
		slices.SortFunc(s.Entries, func(x, y MapEntry) int { return strings.Compare(x.Key, y.Key) })
	}
	return nil
}
