package codec_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/codectest"
)

func TestGoldenProtobuf(t *testing.T) {
	for _, g := range codectest.Golden(t) {
		t.Run(g.Path, func(t *testing.T) {
			data, err := base64.StdEncoding.DecodeString(g.Base64)
			require.NoError(t, err)
			apiVersion, kind, body, err := codec.DecodeEnvelope(data)
			require.NoError(t, err)
			obj := codectest.NewObject(t, apiVersion, kind)
			_, _, err = codec.UnmarshalEnvelope(data, obj)
			require.NoError(t, err)

			again, err := codec.MarshalEnvelope(apiVersion, kind, obj)
			require.NoError(t, err)
			require.Equal(t, data, again, "re-encoded bytes")
			size, err := codec.SizeProto(obj)
			require.NoError(t, err)
			require.Equal(t, len(body), size)

			text, err := codec.Marshal(obj)
			require.NoError(t, err)
			want := string(g.JSON)
			if kind == "StatefulSet" {
				want = withoutClaimTypes(t, g.JSON) // which protobuf does not carry
			}
			require.JSONEq(t, want, string(text))
			plain, err := json.Marshal(obj)
			require.NoError(t, err)
			require.Equal(t, string(plain), string(text), "encoding/json")

			fromJSON := codectest.NewObject(t, apiVersion, kind)
			issues, err := codec.UnmarshalOptions(g.JSON, fromJSON, codec.DecodeOptions{Strict: true})
			require.NoError(t, err)
			require.Empty(t, issues)
			if kind != "StatefulSet" {
				require.True(t, codec.Equal(obj, fromJSON))
			}
			require.True(t, codec.Equal(obj, codec.DeepCopy(obj)))
			back, err := codec.MarshalEnvelope(apiVersion, kind, fromJSON)
			require.NoError(t, err)
			require.Equal(t, data, back, "bytes from JSON")
		})
	}
}

// withoutClaimTypes drops apiVersion and kind of a StatefulSet's claim templates.
func withoutClaimTypes(t *testing.T, data []byte) string {
	var m map[string]any
	require.NoError(t, codec.Unmarshal(data, &m))
	claims, _ := m["spec"].(map[string]any)["volumeClaimTemplates"].([]any)
	for _, c := range claims {
		delete(c.(map[string]any), "apiVersion")
		delete(c.(map[string]any), "kind")
	}
	out, err := codec.Marshal(m)
	require.NoError(t, err)
	return string(out)
}
