package direct

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"strings"
)

// frames finds the ends of the events in the body of a watch.
type frames struct {
	form frameForm
	head []byte // of a length, what was read of it
	left int    // of a frame whose length is known
}

type frameForm int

const (
	noFrames frameForm = iota // not a watch
	lines                     // JSON: an event is a line
	lengths                   // protobuf: four bytes of length, most significant first, precede an event
)

// framesOf returns the frames in the body of the response to r.
func framesOf(r *http.Request, response http.Header) frames {
	switch watch := r.URL.Query().Get("watch"); {
	case watch != "true" && watch != "1", response.Get("Content-Encoding") != "":
		return frames{}
	case strings.HasPrefix(response.Get("Content-Type"), "application/vnd.kubernetes.protobuf"):
		return frames{form: lengths}
	}
	return frames{form: lines}
}

// next returns how many bytes of p, the next bytes of the body, belong to one frame. It must be called again
// with those that follow.
func (f *frames) next(p []byte) int {
	switch f.form {
	case lines:
		if end := bytes.IndexByte(p, '\n'); end >= 0 {
			return end + 1
		}
		return len(p)
	case lengths:
		n := 0
		if f.left == 0 {
			n = min(4-len(f.head), len(p))
			if f.head = append(f.head, p[:n]...); len(f.head) < 4 {
				return n
			}
			f.left, f.head = int(binary.BigEndian.Uint32(f.head)), f.head[:0]
		}
		some := min(f.left, len(p)-n)
		f.left -= some
		return n + some
	}
	return len(p)
}
