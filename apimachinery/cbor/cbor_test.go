package cbor_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func benchPod(t testing.TB) *corev1.Pod {
	data, err := os.ReadFile(filepath.FromSlash("../codec/internal/codectest/testdata/pod.json"))
	require.NoError(t, err)
	pod := &corev1.Pod{}
	require.NoError(t, codec.Unmarshal(data, pod))
	return pod
}

func TestRoundTrip(t *testing.T) {
	pod := benchPod(t)
	secret := &corev1.Secret{Data: map[string][]byte{"key": {0, 255, 1}, "empty": {}}}
	u := &metav1.Unstructured{}
	require.NoError(t, codec.Unmarshal([]byte(`{"apiVersion":"a/b","kind":"C","spec":{"n":-5,"f":1.5,"list":[null,true,"é"],"big":9007199254740993}}`), u))
	for _, v := range []any{pod, secret, u} {
		data, err := cbor.Marshal(v)
		require.NoError(t, err)
		require.True(t, cbor.IsCBOR(data))
		again, err := cbor.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, data, again, "output is deterministic")

		want, err := codec.Marshal(v)
		require.NoError(t, err)
		text, err := cbor.ToJSON(data)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(text))
	}
	data, err := cbor.Marshal(secret)
	require.NoError(t, err)
	back := &corev1.Secret{}
	issues, err := cbor.Unmarshal(data, back, codec.DecodeOptions{Strict: true})
	require.NoError(t, err)
	require.Empty(t, issues)
	require.Equal(t, secret, back)
}

func TestWhatInputMayUse(t *testing.T) {
	for in, want := range map[string]string{
		"d9d9f7a1416101":           `{"a":1}`,                      // byte string key
		"a1616101":                 `{"a":1}`,                      // text key, no tag
		"bf61619f0102ffff":         `{"a":[1,2]}`,                  // indefinite lengths
		"a16161d64300ff01":         `{"a":"AP8B"}`,                 // tag 22: expected as base64
		"a16161f93e00":             `{"a":1.5}`,                    // a short float
		"a16161c11a65000000":       `{"a":"2023-09-12T06:06:56Z"}`, // a tagged time
		"a161613b7fffffffffffffff": `{"a":-9223372036854775808}`,
		"f6":                       `null`,
	} {
		data, err := hex.DecodeString(in)
		require.NoError(t, err)
		got, err := cbor.ToJSON(data)
		require.NoError(t, err, in)
		require.JSONEq(t, want, string(got), in)
	}
}

func TestWhatInputMayNot(t *testing.T) {
	for _, in := range []string{
		"", "a1", "a1616101a0", // nothing, cut short, more than one item
		"a26161016161f6", // a duplicate key
		// The same key in both kinds of strings.
		"a261610141610f",
		"a10101",                                                         // a number as key
		"a16161f97e00",                                                   // NaN
		"a16161f97c00",                                                   // infinity
		"a16161f7",                                                       // undefined
		"a161611bffffffffffffffff",                                       // over 63 bits
		"a16161c249010000000000000000",                                   // a bignum
		"a1616162c328",                                                   // text that is not UTF-8
		"a1616142c328",                                                   // bytes that are not UTF-8
		"9bffffffffffffffff", "5bffffffffffffffff", "bbffffffffffffffff", // lengths without content
		strings.Repeat("81", 10001) + "00",
	} {
		data, err := hex.DecodeString(in)
		require.NoError(t, err)
		pod := &corev1.Pod{}
		pod.Name = "left over"
		_, err = cbor.Unmarshal(data, pod, codec.DecodeOptions{})
		var de *codec.DecodeError
		require.ErrorAs(t, err, &de, "%.40s", in)
		require.Equal(t, &corev1.Pod{}, pod, "%.40s", in)
	}
}

func TestStrictAndLimits(t *testing.T) {
	data, err := cbor.FromJSON([]byte(`{"kind":"Pod","spec":{"containers":[{"name":"a","imag":"b"}]},"extra":1}`))
	require.NoError(t, err)
	issues, err := cbor.Unmarshal(data, &corev1.Pod{}, codec.DecodeOptions{Strict: true})
	require.NoError(t, err)
	require.ElementsMatch(t, []codec.FieldIssue{
		{Kind: codec.UnknownField, Path: "spec.containers[0].imag"}, {Kind: codec.UnknownField, Path: "extra"},
	}, issues)
	_, err = cbor.Unmarshal(data, &corev1.Pod{}, codec.DecodeOptions{MaxBytes: len(data) - 1})
	require.ErrorIs(t, err, codec.ErrTooLarge)
	_, err = cbor.Unmarshal(data, &corev1.Pod{}, codec.DecodeOptions{MaxDepth: 3})
	require.ErrorIs(t, err, codec.ErrTooDeep)
	_, err = cbor.FromJSON([]byte("{"))
	require.Error(t, err)
	_, err = cbor.Marshal(make(chan int))
	require.Error(t, err)
}

// FuzzCBOR checks that no bytes do harm, and that what can be read can be written and read again
// with no other loss than JSON's own: it reads the float -0 as the integer 0.
func FuzzCBOR(f *testing.F) {
	for _, v := range []any{benchPod(f), &corev1.Secret{Data: map[string][]byte{"k": {1}}}, []any{1.5, nil, "x"}} {
		data, err := cbor.Marshal(v)
		require.NoError(f, err)
		f.Add(data)
	}
	for _, s := range []string{"bf61619f0102ffff", "a16161d64300ff01", "a16161c11a65000000", "9bffffffffffffffff", "a261610141610f", "f98000"} {
		data, _ := hex.DecodeString(s)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := cbor.ToJSON(data)
		if err != nil {
			var de *codec.DecodeError
			require.True(t, errors.As(err, &de))
			return
		}
		require.True(t, json.Valid(text))
		var tree any
		require.NoError(t, codec.Unmarshal(text, &tree))
		want, err := codec.Marshal(tree)
		require.NoError(t, err)
		again, err := cbor.FromJSON(text)
		require.NoError(t, err)
		back, err := cbor.ToJSON(again)
		require.NoError(t, err)
		require.Equal(t, string(want), string(back))
		_, _ = cbor.Unmarshal(data, &corev1.Pod{}, codec.DecodeOptions{Strict: true})
	})
}

func ExampleMarshal() {
	data, err := cbor.Marshal(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}})
	if err != nil {
		panic(err)
	}
	var back metav1.LabelSelector
	if _, err := cbor.Unmarshal(data, &back, codec.DecodeOptions{Strict: true}); err != nil {
		panic(err)
	}
	fmt.Println(len(data), back.MatchLabels["app"])
	// Output: 25 web
}
