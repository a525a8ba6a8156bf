package codec

import (
	"errors"
	"iter"
	"reflect"
	"strconv"
)

// An ItemError says that one item of a list cannot be decoded.
type ItemError struct {
	// Index is the position of the item.
	Index int
	// Err is a [*DecodeError] whose offset counts from the start of the item.
	Err error
}

// Error names the item and the reason.
func (e *ItemError) Error() string { return "items[" + strconv.Itoa(e.Index) + "]: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *ItemError) Unwrap() error { return e.Err }

// DecodeItems decodes the items of a list one by one, each when its turn comes. One that
// cannot be decoded is given as an [*ItemError] with the zero T, and the next
// follows. T is a pointer type; if it has no form of the list's kind the only step is a [*TypeError].
func DecodeItems[T any](l *SplitList) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		typ := reflect.TypeFor[T]()
		if typ.Kind() != reflect.Pointer {
			yield(zero, &TypeError{Type: typ, Err: errors.New("items are decoded into pointers")})
			return
		}
		n := nodeOf(typ.Elem())
		check, decode := n.checkJSON, Unmarshal
		if l.proto {
			check, decode = n.checkProto, UnmarshalProto
		}
		if err := check(); err != nil {
			yield(zero, err)
			return
		}
		for i, raw := range l.Items {
			item := reflect.New(typ.Elem()).Interface().(T)
			err := decode(raw, item)
			if err != nil {
				item, err = zero, &ItemError{Index: i, Err: err}
			}
			if !yield(item, err) {
				return
			}
		}
	}
}
