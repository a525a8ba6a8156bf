package cbor_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

func itemsOf(n int) iter.Seq2[codec.Item, error] {
	return func(yield func(codec.Item, error) bool) {
		for i := range n {
			if !yield(codec.Item{Head: []byte(`{"kind":"A",`), Body: fmt.Appendf(nil, `"n":%d`, i), Tail: []byte(`}`)}, nil) {
				return
			}
		}
	}
}

// A list has the same bytes as if it were converted as a whole.
func TestWriteList(t *testing.T) {
	for _, h := range []codec.ListHeader{
		{APIVersion: "v1", Kind: "AList"},
		{APIVersion: "a.test/v1", Kind: "AList", ResourceVersion: "7", Continue: "next", RemainingItemCount: new(int64(12))},
	} {
		for _, n := range []int{0, 1, 23, 24, 255, 256, 65535, 65536} {
			var text, got bytes.Buffer
			require.NoError(t, codec.WriteListJSON(&text, h, itemsOf(n)))
			want, err := cbor.FromJSON(text.Bytes())
			require.NoError(t, err)
			require.NoError(t, cbor.WriteList(&got, h, n, itemsOf(n)))
			require.True(t, bytes.Equal(want, got.Bytes()), "%d items", n)
		}
	}
	require.ErrorContains(t, cbor.WriteList(io.Discard, codec.ListHeader{}, 2, itemsOf(1)), "has 1")
	require.ErrorContains(t, cbor.WriteList(io.Discard, codec.ListHeader{}, 2, itemsOf(3)), "has more")
	failed := errors.New("failed")
	require.ErrorIs(t, cbor.WriteList(io.Discard, codec.ListHeader{}, 1, func(yield func(codec.Item, error) bool) { yield(codec.Item{}, failed) }), failed)
	bad := func(yield func(codec.Item, error) bool) { yield(codec.Item{Body: []byte(`{"a":`)}, nil) }
	require.Error(t, cbor.WriteList(io.Discard, codec.ListHeader{}, 1, bad))
}

type closer struct {
	io.Reader
	closed int
}

func (c *closer) Close() error { c.closed++; return nil }

func TestLines(t *testing.T) {
	var seq []byte
	want := []string{`{"type":"ADDED"}`, `[]`, `"é"`, `{"a":"` + strings.Repeat("x", 100_000) + `"}`, `1`}
	for _, text := range want {
		item, err := cbor.FromJSON([]byte(text))
		require.NoError(t, err)
		seq = append(seq, item...)
	}
	for _, r := range []io.Reader{bytes.NewReader(seq), iotest.HalfReader(bytes.NewReader(seq)), iotest.DataErrReader(bytes.NewReader(seq))} {
		c := &closer{Reader: r}
		lines := cbor.Lines(c)
		got, err := io.ReadAll(lines)
		require.NoError(t, err)
		require.Equal(t, strings.Join(want, "\n")+"\n", string(got))
		require.NoError(t, lines.Close())
		require.Equal(t, 1, c.closed)
	}
	_, err := io.ReadAll(cbor.Lines(io.NopCloser(bytes.NewReader(seq[:len(seq)-6]))))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = io.ReadAll(cbor.Lines(io.NopCloser(strings.NewReader("\xff"))))
	require.Error(t, err)
	_, err = io.ReadAll(cbor.Lines(io.NopCloser(iotest.ErrReader(io.ErrClosedPipe))))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// An item is returned as soon as it is complete, not when the next one arrives.
func TestLinesDoNotWait(t *testing.T) {
	r, w := io.Pipe()
	lines := cbor.Lines(r)
	item, err := cbor.FromJSON([]byte(`{"a":1}`))
	require.NoError(t, err)
	for range 3 {
		go func() { _, _ = w.Write(item) }()
		buf := make([]byte, 64)
		n, err := lines.Read(buf)
		require.NoError(t, err)
		require.Equal(t, "{\"a\":1}\n", string(buf[:n]))
	}
	require.NoError(t, w.Close())
	_, err = lines.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

// Reading stops at an item that exceeds the limit.
func TestLinesAreBounded(t *testing.T) {
	head := []byte{0x5b, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff} // 2 GiB of bytes
	endless := io.MultiReader(bytes.NewReader(head), zeros{})
	_, err := io.ReadAll(cbor.Lines(io.NopCloser(endless)))
	require.ErrorIs(t, err, codec.ErrTooLarge)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
