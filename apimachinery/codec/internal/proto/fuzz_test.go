package proto_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/codectest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// FuzzProto checks that no bytes do harm and that what was decoded encodes stably.
func FuzzProto(f *testing.F) {
	for _, g := range codectest.Golden(f) {
		data, err := base64.StdEncoding.DecodeString(g.Base64)
		require.NoError(f, err)
		_, _, body, err := codec.DecodeEnvelope(data)
		require.NoError(f, err)
		f.Add(body)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, _, raw, err := codec.DecodeEnvelope(data); err == nil {
			data = raw
		}
		codec.DecodeEventProto(data)
		for _, v := range []any{&corev1.Pod{}, &corev1.Secret{}, &apiextensionsv1.CustomResourceDefinition{}, &metav1.List[*corev1.Service]{}, &metav1.APIResourceList{}} {
			if codec.UnmarshalProto(data, v) != nil {
				continue
			}
			first, err := codec.MarshalProto(v)
			require.NoError(t, err)
			again := codec.DeepCopy(v)
			second, err := codec.MarshalProto(again)
			require.NoError(t, err)
			require.Equal(t, first, second)
		}
	})
}
