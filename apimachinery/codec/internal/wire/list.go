package wire

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
)

// A ListHeader is a codec.ListHeader.
type ListHeader struct {
	APIVersion, Kind   string
	ResourceVersion    string
	Continue           string
	RemainingItemCount *int64
}

// An item is a codec.Item.
type item interface {
	~struct{ Head, Body, Tail []byte }
	Len() int
}

type pieces struct{ Head, Body, Tail []byte }

// appendListHead appends the JSON of a list up to and including the opening
// bracket of its items. The items, separated by commas, and then "]}" and a line feed must follow.
func appendListHead(dst []byte, h ListHeader) []byte {
	dst = append(dst, '{')
	if h.Kind != "" {
		dst = append(jsontext.AppendString(append(dst, `"kind":`...), h.Kind), ',')
	}
	if h.APIVersion != "" {
		dst = append(jsontext.AppendString(append(dst, `"apiVersion":`...), h.APIVersion), ',')
	}
	dst = append(dst, `"metadata":{`...)
	comma := false
	if h.ResourceVersion != "" {
		dst = jsontext.AppendString(append(dst, `"resourceVersion":`...), h.ResourceVersion)
		comma = true
	}
	if h.Continue != "" {
		if comma {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendString(append(dst, `"continue":`...), h.Continue)
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

// writers are kept because most lists are much smaller than their buffer.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 32<<10) }}

func getWriter(w io.Writer) *bufio.Writer {
	out := writers.Get().(*bufio.Writer)
	out.Reset(w)
	return out
}

func putWriter(out *bufio.Writer) {
	out.Reset(nil)
	writers.Put(out)
}

// WriteListJSON writes a list of encoded items as an API server does, a line
// feed at its end, holding no more than one buffer of 32 KiB in memory. An error of the
// iteration or of w ends it; what was written is then not a valid list.
func WriteListJSON[I item](w io.Writer, h ListHeader, items iter.Seq2[I, error]) error {
	out := getWriter(w)
	defer putWriter(out)
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
		if err := write(out, pieces(item)); err != nil {
			return err
		}
	}
	if _, err := out.WriteString("]}\n"); err != nil {
		return err
	}
	return out.Flush()
}

func write(out *bufio.Writer, i pieces) error {
	out.Write(i.Head) // a bufio.Writer keeps its first error
	out.Write(i.Body)
	_, err := out.Write(i.Tail)
	return err
}

// WriteListProto writes a list of encoded bodies in the protobuf envelope. The lengths in front of a message
// must be known before it starts, so items is iterated twice and must yield the same both times. No more than
// one buffer is held in memory.
func WriteListProto[I item](w io.Writer, h ListHeader, items iter.Seq[I]) error {
	meta := appendListMeta(nil, h)
	size := 1 + protowire.SizeBytes(len(meta))
	for item := range items {
		size += 1 + protowire.SizeBytes(item.Len())
	}
	out := getWriter(w)
	defer putWriter(out)
	head := AppendEnvelopeHead(nil, h.APIVersion, h.Kind, size)
	head = protowire.AppendBytes(append(head, 1<<3|2), meta)
	out.Write(head)
	written := 1 + protowire.SizeBytes(len(meta))
	for item := range items {
		prefix := protowire.AppendVarint(append(out.AvailableBuffer(), 2<<3|2), uint64(item.Len()))
		written += len(prefix) + item.Len()
		out.Write(prefix)
		if err := write(out, pieces(item)); err != nil {
			return err
		}
	}
	if written != size {
		return fmt.Errorf("codec: the items of a list changed while it was written: %d bytes, then %d", size, written)
	}
	out.Write(envelopeTail[:])
	return out.Flush()
}
