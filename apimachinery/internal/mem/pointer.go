package mem

import (
	"reflect"
	"unsafe"
)

// Pointer is the address of a value of a type that is known to the caller only. It keeps the value alive.
type Pointer = unsafe.Pointer

// PointerSize is the size of a pointer, in bytes.
const PointerSize = unsafe.Sizeof(Pointer(nil))

// Of returns the address of a variable.
func Of[T any](p *T) Pointer { return Pointer(p) }

// At is the T at p.
func At[T any](p Pointer) *T { return (*T)(p) }

// PointerAt is the pointer at p: the content of a variable of any pointer or map type.
func PointerAt(p Pointer) *Pointer { return (*Pointer)(p) }

// Add returns the address off bytes after p, in the same value.
func Add[N uint32 | uintptr](p Pointer, off N) Pointer { return unsafe.Add(p, off) }

// Index returns the address of element i of the elements at p, each of the given size.
func Index(p Pointer, i int, size uintptr) Pointer { return unsafe.Add(p, uintptr(i)*size) }

// New allocates a zero value of type t.
func New(t reflect.Type) Pointer { return reflect.New(t).UnsafePointer() }

// Region is the memory of the size bytes at p. Writing to it is writing to the value.
func Region(p Pointer, size uintptr) []byte { return unsafe.Slice((*byte)(p), size) }

// Slice is the memory of a slice of any type.
type Slice struct {
	Data     Pointer
	Len, Cap int
}

// SliceAt is the slice at p.
func SliceAt(p Pointer) *Slice { return (*Slice)(p) }

// Index returns the address of element i, each of the given size.
func (s *Slice) Index(i int, size uintptr) Pointer { return unsafe.Add(s.Data, uintptr(i)*size) }

// nothing is what empty slices that are not nil point to.
var nothing [0]byte

// EmptySlice is a slice of any type that is empty and not nil.
func EmptySlice() Slice { return Slice{Data: Pointer(&nothing)} }

// LenAt is the length of the string or slice at p.
func LenAt(p Pointer) int { return (*[2]int)(p)[1] }

// String is b as a string, without a copy: b must not be changed while the string is in use.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Bytes are the bytes of s, without a copy: they must not be changed. They are nil for an empty string.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
