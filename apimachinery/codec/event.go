package codec

import (
	"io"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/wire"
)

// MaxFrameBytes is the default bound of one watch event, in bytes.
const MaxFrameBytes = 16 << 20

// AppendEventJSON appends one watch event as a line of JSON: object is the
// encoded object, eventType one of ADDED, MODIFIED, DELETED, BOOKMARK and ERROR.
func AppendEventJSON(dst []byte, eventType string, object []byte) []byte {
	return wire.AppendEventJSON(dst, eventType, object)
}

// AppendEventJSONHead appends what comes before the object; the object, "}"
// and a line feed must follow.
func AppendEventJSONHead(dst []byte, eventType string) []byte {
	return wire.AppendEventJSONHead(dst, eventType)
}

// AppendEventProto appends one watch event as a protobuf frame: four bytes of
// length, then WatchEvent{1: type, 2: RawExtension{1: object}}. object is an enveloped object.
func AppendEventProto(dst []byte, eventType string, object []byte) []byte {
	return wire.AppendEventProto(dst, eventType, object)
}

// AppendEventProtoHead appends what comes before an enveloped object of the
// given length. Nothing follows the object.
func AppendEventProtoHead(dst []byte, eventType string, object int) []byte {
	return wire.AppendEventProtoHead(dst, eventType, object)
}

// DecodeEventJSON splits the JSON of one watch event. object points into data. The error is a [*DecodeError].
func DecodeEventJSON(data []byte) (eventType string, object []byte, err error) {
	eventType, object, err = wire.DecodeEventJSON(data)
	return eventType, object, public(err)
}

// DecodeEventProto splits one watch event, without the length of its frame. object points into data. The
// error is a [*DecodeError].
func DecodeEventProto(data []byte) (eventType string, object []byte, err error) {
	eventType, object, err = wire.DecodeEventProto(data)
	return eventType, object, public(err)
}

// A FrameReader reads the frames of a watch stream. It is for one goroutine.
type FrameReader struct {
	frames *wire.FrameReader
}

// NewJSONFrames reads frames that are JSON values, one after the other with
// white space between them. maxBytes bounds one frame; 0 means MaxFrameBytes.
func NewJSONFrames(r io.Reader, maxBytes int) *FrameReader {
	return &FrameReader{wire.NewJSONFrames(r, frameLimit(maxBytes))}
}

// NewProtoFrames reads frames that begin with a four-byte length. maxBytes
// bounds one frame; 0 means MaxFrameBytes.
func NewProtoFrames(r io.Reader, maxBytes int) *FrameReader {
	return &FrameReader{wire.NewProtoFrames(r, frameLimit(maxBytes))}
}

func frameLimit(maxBytes int) int {
	if maxBytes <= 0 {
		return MaxFrameBytes
	}
	return maxBytes
}

// Next returns the next frame, valid until the following call. At the end of
// the stream the error is io.EOF, in the middle of a frame io.ErrUnexpectedEOF; a
// frame over the bound gives an error wrapping ErrTooLarge, after which the stream cannot be read further.
func (f *FrameReader) Next() ([]byte, error) { return f.frames.Next() }
