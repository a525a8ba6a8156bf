package jsontext

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// What passes as plain objects is what encoding/json would make of it, and the sets that are written pass.
func TestPlainObjects(t *testing.T) {
	sets := []string{
		`{}`, `{"f:a":{}}`, `{"f:a":{"f:b":{},".":{},"k:{\"name\":\"x\",\"port\":80}":{"f:c":{}}},"v:\"\\\\\"":{}}`,
		`{"f:a":{"f:b":{"f:c":{"f:d":{}}}},"f:e":{}}`, `{"":{}}`,
	}
	for _, set := range sets {
		require.True(t, plainObjects([]byte(set)), set)
	}
	for _, other := range []string{``, `{`, `}`, `{}}`, `{}{}`, `{},`, `{"a"}`, `{"a":}`, `{"a":{}`, `{"a":{},}`, `{"a":{}}}`, `{"<":{}}`, `{"a\n":{}}`, `{"\`, `{ }`, `{"a":1}`, `[]`, `{"a":{}"b":{}}`} {
		require.False(t, plainObjects([]byte(other)), other)
	}
	for _, seed := range seeds.Of(t, 3000) {
		r := seeds.Rand(seed)
		b := []byte(sets[r.IntN(len(sets))])
		for range r.IntN(4) {
			at := r.IntN(len(b) + 1)
			switch char := `{}":,\a <é[1`[r.IntN(13)]; {
			case r.IntN(2) == 0 || at == len(b):
				b = append(b[:at:at], append([]byte{char}, b[at:]...)...)
			case r.IntN(2) == 0:
				b[at] = char
			default:
				b = append(b[:at:at], b[at+1:]...)
			}
		}
		if !plainObjects(b) {
			continue
		}
		require.True(t, json.Valid(b), "seed %d: %s", seed, b)
		var compact, escaped bytes.Buffer
		require.NoError(t, json.Compact(&compact, b), "seed %d", seed)
		json.HTMLEscape(&escaped, compact.Bytes())
		require.Equal(t, escaped.String(), string(b), "seed %d", seed)
	}
}
