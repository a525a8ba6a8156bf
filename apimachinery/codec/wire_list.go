package codec

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
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

// appendListHead appends the JSON of a list up to and including the opening
// bracket of its items. The items, separated by commas, and then "]}" and a line feed must follow.
func appendListHead(dst []byte, h ListHeader) []byte {
	dst = append(dst, '{')
	if h.Kind != "" {
		dst = append(appendString(append(dst, `"kind":`...), h.Kind), ',')
	}
	if h.APIVersion != "" {
		dst = append(appendString(append(dst, `"apiVersion":`...), h.APIVersion), ',')
	}
	dst = append(dst, `"metadata":{`...)
	comma := false
	if h.ResourceVersion != "" {
		dst = appendString(append(dst, `"resourceVersion":`...), h.ResourceVersion)
		comma = true
	}
	if h.Continue != "" {
		if comma {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, `"continue":`...), h.Continue)
		comma = true
	}
	if h.RemainingItemCount != nil {
		if comma {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `"remainingItemCount":`...), *h.RemainingItemCount, 10)
	}
	return append(dst, `},"items":[`...)
}

// appendListMeta appends the protobuf body of the list's metadata.
func appendListMeta(dst []byte, h ListHeader) []byte {
	dst = append(dst, 1<<3|2, 0) // selfLink
	dst = protowire.AppendString(append(dst, 2<<3|2), h.ResourceVersion)
	dst = protowire.AppendString(append(dst, 3<<3|2), h.Continue)
	if h.RemainingItemCount != nil {
		dst = protowire.AppendVarint(append(dst, 4<<3), uint64(*h.RemainingItemCount))
	}
	return dst
}

// WriteListJSON writes a list of encoded items as an API server does, a line
// feed at its end, holding no more than one buffer of 32 KiB in memory. An error of the
// iteration or of w ends it; what was written is then not a valid list.
func WriteListJSON(w io.Writer, h ListHeader, items iter.Seq2[Item, error]) error {
	out := bufio.NewWriterSize(w, 32<<10)
	if _, err := out.Write(appendListHead(out.AvailableBuffer(), h)); err != nil {
		return err
	}
	first := true
	for item, err := range items {
		if err != nil {
			return err
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		if err := item.write(out); err != nil {
			return err
		}
	}
	if _, err := out.WriteString("]}\n"); err != nil {
		return err
	}
	return out.Flush()
}

func (i Item) write(out *bufio.Writer) error {
	out.Write(i.Head) // a bufio.Writer keeps its first error
	out.Write(i.Body)
	_, err := out.Write(i.Tail)
	return err
}

// WriteListProto writes a list of encoded bodies in the protobuf envelope. The lengths in front of a message
// must be known before it starts, so items is iterated twice and must yield the same both times. No more than
// one buffer is held in memory.
func WriteListProto(w io.Writer, h ListHeader, items iter.Seq[Item]) error {
	meta := appendListMeta(nil, h)
	size := 1 + protowire.SizeBytes(len(meta))
	for item := range items {
		size += 1 + protowire.SizeBytes(item.Len())
	}
	out := bufio.NewWriterSize(w, 32<<10)
	head := AppendEnvelopeHead(nil, h.APIVersion, h.Kind, size)
	head = protowire.AppendBytes(append(head, 1<<3|2), meta)
	out.Write(head)
	written := 1 + protowire.SizeBytes(len(meta))
	for item := range items {
		prefix := protowire.AppendVarint(append(out.AvailableBuffer(), 2<<3|2), uint64(item.Len()))
		written += len(prefix) + item.Len()
		out.Write(prefix)
		if err := item.write(out); err != nil {
			return err
		}
	}
	if written != size {
		return fmt.Errorf("codec: the items of a list changed while it was written: %d bytes, then %d", size, written)
	}
	out.Write(envelopeTail[:])
	return out.Flush()
}
