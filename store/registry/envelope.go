package registry

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// appendVersionSegment appends metadata that holds nothing but resourceVersion. At the end of an object's
// bytes it sets the version, because a message that occurs twice is merged by every decoder.
func appendVersionSegment(b []byte, revision int64) []byte {
	var digits [20]byte
	version := strconv.AppendInt(digits[:0], revision, 10)
	b = append(b, 1<<3|2, byte(2+len(version)), 6<<3|2) // lengths fit one byte each
	return protowire.AppendBytes(b, version)
}
