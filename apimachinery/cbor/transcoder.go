package cbor

import (
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// SequenceMediaType is the content type of items one after the other, as watches send them.
const SequenceMediaType = "application/cbor-seq"

// Transcoder holds the functions of this package as a value for the field CBOR of rest.Options, so that the
// client packages link this one only if a program uses it.
type Transcoder struct{}

// FromJSON is [FromJSON].
func (Transcoder) FromJSON(data []byte) ([]byte, error) { return FromJSON(data) }

// ToJSON is [ToJSON].
func (Transcoder) ToJSON(data []byte) ([]byte, error) { return ToJSON(data) }

// Lines is [Lines].
func (Transcoder) Lines(r io.ReadCloser) io.ReadCloser { return Lines(r) }

// maxItem bounds one item of a sequence, in bytes.
const maxItem = 16 << 20

// Lines returns a reader of the items of a CBOR sequence as lines of JSON, each available as soon as it has
// been read from r. An item that is longer than 16 MiB or not well-formed ends it with an error. Closing the
// reader closes r; it interrupts a Read if closing r does.
func Lines(r io.ReadCloser) io.ReadCloser {
	l := &lines{in: counted{ReadCloser: r, left: maxItem}}
	l.items = settings().dec.NewDecoder(&l.in)
	return l
}

type lines struct {
	in    counted
	items *cbor.Decoder
	line  []byte // what has not been read of the line
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.line) == 0 {
		var item cbor.RawMessage
		if err := l.items.Decode(&item); err != nil {
			return 0, err
		}
		l.in.left = maxItem
		text, err := ToJSON(item)
		if err != nil {
			return 0, err
		}
		l.line = append(text, '\n')
	}
	n := copy(p, l.line)
	l.line = l.line[n:]
	return n, nil
}

// Close implements io.Closer.
func (l *lines) Close() error { return l.in.Close() }

// counted reads no more than left bytes. It is refilled between items.
type counted struct {
	io.ReadCloser
	left int
}

var errItem = fmt.Errorf("cbor: an item of more than %d bytes: %w", maxItem, codec.ErrTooLarge)

func (c *counted) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errItem
	}
	n, err := c.ReadCloser.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
