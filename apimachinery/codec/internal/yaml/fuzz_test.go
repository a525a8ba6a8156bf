package yaml_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: 1\nb: [x, {y: z}]\n", "--- {a: b}\n---\n- 1\n...\n", "a: &x [1]\nb: *x\n<<: {c: d}\n", "? x\n: |\n  text\n  more\n", "!!binary aGk=", "\"\\x41\"", "0x1F: 1_000"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for doc, err := range codec.SplitYAML(bytes.NewReader(data)) {
			require.NoError(t, err)
			out, err := codec.YAMLToJSON(doc.Text)
			if err != nil {
				continue
			}
			require.True(t, json.Valid(out), "%s", out)
			_, err = codec.JSONToYAML(out)
			require.NoError(t, err)
			codec.UnmarshalYAML(doc.Text, &corev1.Pod{}, codec.DecodeOptions{Strict: true})
		}
	})
}
