package direct

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"strings"
)

// frameForm is how the body of a response is cut into what one turn delivers.
type frameForm int

const (
	noFrames frameForm = iota // not a watch: what has come
	lines                     // JSON: an event is a line
	lengths                   // protobuf: four bytes of length, most significant first, precede an event
)

// framesOf returns the form of the body of the response to r.
func framesOf(r *http.Request, response http.Header) frameForm {
	switch watch := r.URL.Query().Get("watch"); {
	case watch != "true" && watch != "1", response.Get("Content-Encoding") != "":
		return noFrames
	case strings.HasPrefix(response.Get("Content-Type"), "application/vnd.kubernetes.protobuf"):
		return lengths
	}
	return lines
}

// first returns the length of the first frame of data; 0 if it is not complete.
func (f frameForm) first(data []byte) int {
	switch f {
	case lines:
		return bytes.IndexByte(data, '\n') + 1
	case lengths:
		if len(data) < 4 {
			return 0
		}
		if n := 4 + int(binary.BigEndian.Uint32(data)); n <= len(data) {
			return n
		}
		return 0
	}
	return len(data)
}
