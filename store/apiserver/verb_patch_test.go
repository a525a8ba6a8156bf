package apiserver_test

import (
	"testing"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/stretchr/testify/require"
)

func TestInvalidPatches(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.do("POST", configMaps, configMap("a")).ok(201)
	for body, code := range map[string]int{`{"op":"add"}`: 400, `[1]`: 400, `["x"]`: 400, `[[]]`: 400, `"x"`: 400, `[{"op":1}]`: 422, `[{"op":"nope","path":"/x"}]`: 422, `[{}]`: 422} {
		require.Equal(t, code, s.do("PATCH", configMaps+"/a", body, "Content-Type", "application/json-patch+json").code, body)
	}
}
