// Package scan reads the few fields a client needs of an encoded object (its metadata, the bounds of
// the items of a list) without decoding it. Results alias the input. Malformed input gives an
// error or a result that a later full decode rejects; it never panics.
package scan

import (
	"errors"
	"unsafe"
)

// ErrMalformed is wrapped by every error of this package.
var ErrMalformed = errors.New("malformed object")

// Pair is a label.
type Pair struct{ Key, Value string }

// Meta holds the fields that are read of an object's metadata. Its strings alias the object's bytes.
type Meta struct {
	APIVersion, Kind string // JSON only
	Namespace, Name  string
	UID              string
	ResourceVersion  string
	Generation       int64
	Labels           []Pair
	// InitialEventsEnd is true when the annotation that ends a watch's initial events is set.
	InitialEventsEnd bool
	// Terminating is true when a deletion time is set.
	Terminating bool
	// Finalizers is how many finalizers are set.
	Finalizers int
}

const initialEventsEnd = "k8s.io/initial-events-end"

// str makes a string that shares b's memory; b must never change again.
func str(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}
