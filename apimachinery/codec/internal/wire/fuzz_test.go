package wire_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

func FuzzFrames(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{}}`+"\n"), 100)
	f.Add([]byte("\x00\x00\x00\x05abcde"), 5)
	f.Fuzz(func(t *testing.T, data []byte, max int) {
		for _, r := range []*codec.FrameReader{codec.NewJSONFrames(bytes.NewReader(data), max), codec.NewProtoFrames(strings.NewReader(string(data)), max)} {
			read := 0
			for {
				frame, err := r.Next()
				if err != nil {
					require.NotErrorIs(t, err, io.ErrShortBuffer)
					break
				}
				read += len(frame)
				require.LessOrEqual(t, read, len(data))
				codec.DecodeEventJSON(frame)
				codec.DecodeEventProto(frame)
				if len(frame) == 0 && read > 0 && len(data) == 0 {
					break
				}
			}
		}
	})
}
