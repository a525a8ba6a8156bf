package json_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/codectest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// FuzzJSON compares with encoding/json and checks that what was decoded encodes and decodes to itself.
func FuzzJSON(f *testing.F) {
	for _, g := range codectest.Golden(f) {
		f.Add([]byte(g.JSON))
	}
	for _, s := range []string{`{"a":[1,-0.5e+7,"\u00e9\ud83d\ude00\n"],"a":null}`, `[[[`, `{"odd name<&>":"x","int":"5","i8":300}`, `"\ud800x"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		agree(t, 0, data)
		for _, v := range []any{&corev1.Pod{}, &metav1.Unstructured{}, &codectest.Shape{}, &apiextensionsv1.CustomResourceDefinition{}, new(any)} {
			issues, err := codec.UnmarshalOptions(data, v, codec.DecodeOptions{Strict: true})
			if err != nil {
				require.Empty(t, issues)
				continue
			}
			out, err := codec.Marshal(v)
			require.NoError(t, err)
			require.True(t, json.Valid(out), "%s", out)
			require.True(t, codec.Equal(v, codec.DeepCopy(v)))
		}
	})
}
