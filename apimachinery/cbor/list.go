package cbor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// WriteList writes a list with n items, which are JSON, converting one at a time, so that it holds about one
// item in memory. It stops with an error at an item that is an error or not valid JSON, and if items yields
// more or fewer than n; part of the list has been written to w then.
func WriteList(w io.Writer, h codec.ListHeader, n int, items iter.Seq2[codec.Item, error]) error {
	meta := map[string]any{}
	if h.ResourceVersion != "" {
		meta["resourceVersion"] = h.ResourceVersion
	}
	if h.Continue != "" {
		meta["continue"] = h.Continue
	}
	if h.RemainingItemCount != nil {
		meta["remainingItemCount"] = *h.RemainingItemCount
	}
	// The keys in bytewise order of their encoding.
	head := append(bytes.Clone(prefix), majorMap|4)
	head, err := member(head, "kind", h.Kind)
	if err != nil {
		return err
	}
	head = appendArrayHead(appendKey(head, "items"), n)
	if _, err := w.Write(head); err != nil {
		return err
	}
	var buf []byte
	wrote := 0
	for item, err := range items {
		if err != nil {
			return err
		}
		buf = append(append(append(buf[:0], item.Head...), item.Body...), item.Tail...)
		form, err := FromJSON(buf)
		if err != nil {
			return err
		}
		if wrote++; wrote > n {
			return fmt.Errorf("cbor: a list of %d items has more of them", n)
		}
		if _, err := w.Write(form[len(prefix):]); err != nil {
			return err
		}
	}
	if wrote != n {
		return fmt.Errorf("cbor: a list of %d items has %d", n, wrote)
	}
	tail, err := member(nil, "metadata", meta)
	if err == nil {
		tail, err = member(tail, "apiVersion", h.APIVersion)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(tail)
	return err
}

// The upper three bits of the first byte of an item are its type.
const (
	majorBytes = 2 << 5
	majorArray = 4 << 5
	majorMap   = 5 << 5
)

// appendKey appends a map key of fewer than 24 bytes.
func appendKey(b []byte, key string) []byte {
	return append(append(b, majorBytes|byte(len(key))), key...)
}

func member(b []byte, key string, value any) ([]byte, error) {
	form, err := settings().enc.Marshal(value)
	return append(appendKey(b, key), form...), err
}

// appendArrayHead begins an array of n items, in the shortest form.
func appendArrayHead(b []byte, n int) []byte {
	switch {
	case n < 24:
		return append(b, majorArray|byte(n))
	case n < 1<<8:
		return append(b, majorArray|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, majorArray|25), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, majorArray|26), uint32(n))
	}
}
