package codec

import (
	"io"
	"iter"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/wire"
)

// A ListHeader is everything of a list but its items.
type ListHeader struct {
	// APIVersion and Kind name the list, such as v1 and PodList.
	APIVersion, Kind string
	// ResourceVersion is the version the list was read at; empty is left out.
	ResourceVersion string
	// Continue is the token for the next page; empty is left out.
	Continue string
	// RemainingItemCount is left out if nil.
	RemainingItemCount *int64
}

// An Item is an encoded list item in up to three pieces: the item is Head,
// Body and Tail one after the other, and any may be empty. A store that keeps
// bodies without kind and version writes those without copying the body.
type Item struct{ Head, Body, Tail []byte }

// Len is the length of the item in bytes.
func (i Item) Len() int { return len(i.Head) + len(i.Body) + len(i.Tail) }

// WriteListJSON writes a list of encoded items as an API server does, a line
// feed at its end, holding no more than one buffer of 32 KiB in memory. An error of the
// iteration or of w ends it; what was written is then not a valid list.
func WriteListJSON(w io.Writer, h ListHeader, items iter.Seq2[Item, error]) error {
	return wire.WriteListJSON(w, wire.ListHeader(h), items)
}

// WriteListProto writes a list of encoded bodies in the protobuf envelope. The lengths in front of a message
// must be known before it starts, so items is iterated twice and must yield the same both times. No more than
// one buffer is held in memory.
func WriteListProto(w io.Writer, h ListHeader, items iter.Seq[Item]) error {
	return wire.WriteListProto(w, wire.ListHeader(h), items)
}
