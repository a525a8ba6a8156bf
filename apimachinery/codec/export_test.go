package codec

import "reflect"

// CrossesOver reports whether ProtoToJSON goes the short way with a message.
func CrossesOver(t reflect.Type, data []byte) bool {
	c := shared.crosser()
	cross := nodeOf(t).crossing()
	if cross == nil {
		return false
	}
	_, ok := c.message(nil, cross, data)
	return ok
}
