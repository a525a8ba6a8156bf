package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/json"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/proto"
)

// AppendEventJSON appends one watch event as a line of JSON: object is the
// encoded object, eventType one of ADDED, MODIFIED, DELETED, BOOKMARK and ERROR.
func AppendEventJSON(dst []byte, eventType string, object []byte) []byte {
	dst = AppendEventJSONHead(dst, eventType)
	return append(append(dst, object...), '}', '\n')
}

// AppendEventJSONHead appends what comes before the object; the object, "}"
// and a line feed must follow.
func AppendEventJSONHead(dst []byte, eventType string) []byte {
	dst = append(dst, `{"type":`...)
	return append(jsontext.AppendString(dst, eventType), `,"object":`...)
}

// AppendEventProto appends one watch event as a protobuf frame: four bytes of
// length, then WatchEvent{1: type, 2: RawExtension{1: object}}. object is an enveloped object.
func AppendEventProto(dst []byte, eventType string, object []byte) []byte {
	return append(AppendEventProtoHead(dst, eventType, len(object)), object...)
}

// AppendEventProtoHead appends what comes before an enveloped object of the
// given length. Nothing follows the object.
func AppendEventProtoHead(dst []byte, eventType string, object int) []byte {
	inner := 1 + protowire.SizeBytes(object)
	size := 1 + protowire.SizeBytes(len(eventType)) + 1 + protowire.SizeBytes(inner)
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	dst = protowire.AppendString(append(dst, 1<<3|2), eventType)
	dst = protowire.AppendVarint(append(dst, 2<<3|2), uint64(inner))
	return protowire.AppendVarint(append(dst, 1<<3|2), uint64(object))
}

// DecodeEventJSON splits the JSON of one watch event. object points into data. The error is a DecodeError.
func DecodeEventJSON(data []byte) (eventType string, object []byte, err error) {
	err = json.Members(data, func(name, value []byte) {
		switch string(name) {
		case "type":
			if text, ok := json.Text(value); ok {
				eventType = text
			}
		case "object":
			object = value
		}
	})
	if err != nil {
		return "", nil, err
	}
	return eventType, object, checkEvent(eventType, object)
}

// DecodeEventProto splits one watch event, without the length of its frame. object points into data. The
// error is a DecodeError.
func DecodeEventProto(data []byte) (eventType string, object []byte, err error) {
	err = proto.EachField(data, 0, len(data), func(num protowire.Number, from, to int) error {
		switch num {
		case 1:
			eventType = string(data[from:to])
		case 2:
			return proto.EachField(data, from, to, func(num protowire.Number, from, to int) error {
				if num == 1 {
					object = data[from:to:to]
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	return eventType, object, checkEvent(eventType, object)
}

func checkEvent(eventType string, object []byte) error {
	switch {
	case eventType == "":
		return &failure.DecodeError{Msg: "watch event without type"}
	case object == nil:
		return &failure.DecodeError{Msg: "watch event without object"}
	}
	return nil
}

// A FrameReader reads the frames of a watch stream. It is for one goroutine.
type FrameReader struct {
	in    *bufio.Reader
	max   int
	proto bool
	buf   []byte
}

// NewJSONFrames reads frames that are JSON values, one after the other with
// white space between them. maxBytes bounds one frame.
func NewJSONFrames(r io.Reader, maxBytes int) *FrameReader { return newFrames(r, maxBytes, false) }

// NewProtoFrames reads frames that begin with a four-byte length. maxBytes
// bounds one frame.
func NewProtoFrames(r io.Reader, maxBytes int) *FrameReader { return newFrames(r, maxBytes, true) }

func newFrames(r io.Reader, maxBytes int, proto bool) *FrameReader {
	return &FrameReader{in: bufio.NewReaderSize(r, 16<<10), max: maxBytes, proto: proto}
}

// Next returns the next frame, valid until the following call. At the end of
// the stream the error is io.EOF, in the middle of a frame io.ErrUnexpectedEOF; a
// frame over the bound gives an error wrapping ErrTooLarge, after which the stream cannot be read further.
func (f *FrameReader) Next() ([]byte, error) {
	if cap(f.buf) > 1<<20 {
		f.buf = nil // one large event does not pin its size for the life of the watch
	}
	f.buf = f.buf[:0]
	if f.proto {
		return f.nextProto()
	}
	return f.nextJSON()
}

func (f *FrameReader) tooLarge() error {
	return fmt.Errorf("codec: watch event of more than %d bytes: %w", f.max, failure.ErrTooLarge)
}

func (f *FrameReader) nextProto() ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(f.in, prefix[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(prefix[:])
	if uint64(size) > uint64(f.max) {
		return nil, f.tooLarge()
	}
	// The buffer grows with what arrives, not with what the prefix claims.
	for len(f.buf) < int(size) {
		step := min(int(size)-len(f.buf), max(len(f.buf), 64<<10))
		start := len(f.buf)
		f.buf = append(f.buf, make([]byte, step)...)
		if _, err := io.ReadFull(f.in, f.buf[start:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return f.buf, nil
}

// nextJSON reads one value. Servers write one per line, which is fastest to read; a value may also span
// lines.
func (f *FrameReader) nextJSON() ([]byte, error) {
	depth, quoted, escaped := 0, false, false
	for {
		part, err := f.in.ReadSlice('\n')
		if len(f.buf)+len(part) > f.max {
			return nil, f.tooLarge()
		}
		if len(f.buf) == 0 {
			part = bytes.TrimLeft(part, " \t\r\n")
		}
		for _, c := range part {
			switch {
			case escaped:
				escaped = false
			case quoted:
				escaped = c == '\\'
				quoted = c != '"'
			case c == '"':
				quoted = true
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				depth--
			}
		}
		f.buf = append(f.buf, part...)
		if len(f.buf) > 0 && depth <= 0 && !quoted && (err == nil || errors.Is(err, io.EOF)) {
			return bytes.TrimRight(f.buf, " \t\r\n"), nil
		}
		if err == nil || errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) && len(f.buf) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
}
