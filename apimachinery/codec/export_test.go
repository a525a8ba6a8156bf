package codec

import "reflect"

// Transcodes reports whether ProtoToJSON goes the short way with a message.
func Transcodes(t reflect.Type, data []byte) bool {
	c := getTranscoder()
	cross := nodeOf(t).transcodePlan()
	if cross == nil {
		return false
	}
	_, ok := c.message(nil, cross, data)
	return ok
}
