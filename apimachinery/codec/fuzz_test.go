package codec_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// FuzzJSON compares with encoding/json and checks that what was decoded encodes and decodes to itself.
func FuzzJSON(f *testing.F) {
	for _, g := range goldenObjects(f) {
		f.Add([]byte(g.JSON))
	}
	for _, s := range []string{`{"a":[1,-0.5e+7,"\u00e9\ud83d\ude00\n"],"a":null}`, `[[[`, `{"odd name<&>":"x","int":"5","i8":300}`, `"\ud800x"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		agree(t, 0, data)
		for _, v := range []any{&corev1.Pod{}, &metav1.Unstructured{}, &shape{}, &apiextensionsv1.CustomResourceDefinition{}, new(any)} {
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

// FuzzProto checks that no bytes do harm and that what was decoded encodes stably.
func FuzzProto(f *testing.F) {
	for _, g := range goldenObjects(f) {
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

func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: 1\nb: [x, {y: z}]\n", "--- {a: b}\n---\n- 1\n...\n", "a: &x [1]\nb: *x\n<<: {c: d}\n", "? x\n: |\n  text\n  more\n", "!!binary aGk=", "\"\\x41\"", "0x1F: 1_000"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for doc, err := range codec.SplitYAML(bytes.NewReader(data)) {
			require.NoError(t, err)
			out, err := codec.YAMLToJSON(doc)
			if err != nil {
				continue
			}
			require.True(t, json.Valid(out), "%s", out)
			_, err = codec.JSONToYAML(out)
			require.NoError(t, err)
			codec.UnmarshalYAML(doc, &corev1.Pod{}, codec.DecodeOptions{Strict: true})
		}
	})
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{}}`+"\n"), 100)
	f.Add([]byte("\x00\x00\x00\x05abcde"), 5)
	f.Fuzz(func(t *testing.T, data []byte, max int) {
		for _, r := range []*codec.FrameReader{codec.NewJSONFrames(bytes.NewReader(data), max), codec.NewProtoFrames(strings.NewReader(string(data)), max)} {
			read := 0
			for {
				frame, err := r.Next()
				if err != nil {
					require.NotErrorIs(t, err, io.ErrShortBuffer)
					break
				}
				read += len(frame)
				require.LessOrEqual(t, read, len(data))
				codec.DecodeEventJSON(frame)
				codec.DecodeEventProto(frame)
				if len(frame) == 0 && read > 0 && len(data) == 0 {
					break
				}
			}
		}
	})
}
