package codec_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// goldenObject is an object a kube-apiserver 1.36.3 wrote in both forms.
type goldenObject struct {
	Path   string          `json:"path"`
	JSON   json.RawMessage `json:"json"`
	Base64 string          `json:"protobufBase64"`
}

func goldenObjects(t testing.TB) []goldenObject {
	raw, err := os.ReadFile("testdata/protobuf_golden.json")
	require.NoError(t, err)
	var out []goldenObject
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// newObject makes an empty object or list of a built-in kind.
func newObject(t testing.TB, apiVersion, kind string) any {
	gv, err := schema.ParseGroupVersion(apiVersion)
	require.NoError(t, err)
	switch kind {
	case "Scale":
		return &autoscalingv1.Scale{}
	case "Status":
		return &metav1.Status{}
	case "APIResourceList":
		return &metav1.APIResourceList{}
	case "APIGroup":
		return &metav1.APIGroup{}
	}
	for _, info := range api.Scheme().All() {
		switch {
		case info.GVK == gv.WithKind(kind):
			return info.New()
		case info.ListKind() == gv.WithKind(kind):
			return info.NewList()
		}
	}
	require.Fail(t, "no such kind", "%s %s", apiVersion, kind)
	return nil
}

func TestGoldenProtobuf(t *testing.T) {
	for _, g := range goldenObjects(t) {
		t.Run(g.Path, func(t *testing.T) {
			data, err := base64.StdEncoding.DecodeString(g.Base64)
			require.NoError(t, err)
			apiVersion, kind, body, err := codec.DecodeEnvelope(data)
			require.NoError(t, err)
			obj := newObject(t, apiVersion, kind)
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

			fromJSON := newObject(t, apiVersion, kind)
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
