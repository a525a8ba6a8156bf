package transcode

import (
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
)

// Direct reports whether ToJSON converts a message without a Go value.
func Direct(t reflect.Type, data []byte) bool {
	c := getTranscoder()
	p := planOf(plan.Of(t))()
	if p == nil {
		return false
	}
	_, ok := c.message(nil, p, data)
	return ok
}
