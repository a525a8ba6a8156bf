package yaml_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

func TestYAML(t *testing.T) {
	out, err := codec.YAMLToJSON([]byte("b: yes\na: [1, 0o7, '1', 1.5, null, ~]\nc: &x {k: v}\nd: *x\n1: one\n"))
	require.NoError(t, err)
	require.JSONEq(t, `{"b":true,"a":[1,7,"1",1.5,null,null],"c":{"k":"v"},"d":{"k":"v"},"1":"one"}`, string(out))

	var pod corev1.Pod
	issues, err := codec.UnmarshalYAML([]byte("kind: Pod\nkind: Pod\nspec:\n  nodeName: a\n  nodename: b\n"), &pod, codec.DecodeOptions{Strict: true})
	require.NoError(t, err)
	require.Equal(t, []codec.FieldIssue{{Kind: codec.DuplicateField, Path: "kind", Line: 2}, {Kind: codec.UnknownField, Path: "spec.nodename"}}, issues)
	require.Equal(t, "a", pod.Spec.NodeName)
	text, err := codec.MarshalYAML(map[string]any{"b": int64(1), "a": []any{"x"}})
	require.NoError(t, err)
	require.Equal(t, "a:\n- x\nb: 1\n", string(text))

	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n"
	}
	for _, bad := range []string{bomb, "a: b: c", "\t- x", "{", "? [a]\n: b", strings.Repeat("[", 20000), "a: !!binary x"} {
		_, err := codec.YAMLToJSON([]byte(bad))
		var de *codec.DecodeError
		require.ErrorAs(t, err, &de, "%.40q", bad)
	}
	_, err = codec.YAMLToJSON(make([]byte, codec.MaxYAMLBytes+1))
	require.ErrorIs(t, err, codec.ErrTooLarge)
	_, err = codec.JSONToYAML([]byte(`{"a":`))
	require.Error(t, err)
}

func TestSplitYAML(t *testing.T) {
	in := "# only a comment\n---\na: 1\n--- \n\n---\nb: 2\n...\n--- {c: 3}\n---\n# end\n"
	var got []string
	var lines []int
	for doc, err := range codec.SplitYAML(iotest.OneByteReader(strings.NewReader(in))) {
		require.NoError(t, err)
		lines = append(lines, doc.Line)
		j, err := codec.YAMLToJSON(doc.Text)
		if err != nil {
			j = []byte("error")
		}
		got = append(got, string(j))
	}
	require.Equal(t, []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}, got)
	require.Equal(t, []int{2, 6, 9}, lines)

	for range codec.SplitYAML(strings.NewReader("a: 1\n---\nb: 2")) {
		break
	}
	boom := errors.New("boom")
	var last error
	for _, err := range codec.SplitYAML(io.MultiReader(strings.NewReader("a: 1\n"), iotest.ErrReader(boom))) {
		last = err
	}
	require.ErrorIs(t, last, boom)
}
