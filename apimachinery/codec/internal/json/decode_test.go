package json_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func issuesOf(t *testing.T, text string, v any) []string {
	t.Helper()
	issues, err := codec.UnmarshalOptions([]byte(text), v, codec.DecodeOptions{Strict: true})
	require.NoError(t, err)
	var out []string
	for _, i := range issues {
		out = append(out, i.String())
	}
	return out
}

func TestStrictNamesFields(t *testing.T) {
	const text = `{"kind":"Pod","kind":"Pod","metadata":{"labels":{"a":"1","a":"2"},"Name":"x"},
		"spec":{"containers":[{"name":"c"},{"name":"c","imag":"i","resources":{"limits":{"cpu":"1","cpu":"2"}},"name":"d"}],"foo":{"deep":[1,{}]}},"extra":null}`
	var pod corev1.Pod
	require.Equal(t, []string{
		`duplicate field "kind"`,
		`duplicate field "metadata.labels.a"`,
		`unknown field "metadata.Name"`,
		`unknown field "spec.containers[1].imag"`,
		`duplicate field "spec.containers[1].resources.limits.cpu"`,
		`duplicate field "spec.containers[1].name"`,
		`unknown field "spec.foo"`,
		`unknown field "extra"`,
	}, issuesOf(t, text, &pod))
	require.Equal(t, "2", pod.Labels["a"])
	require.Equal(t, "d", pod.Spec.Containers[1].Name)
	require.Empty(t, pod.Name)

	var lenient corev1.Pod
	issues, err := codec.UnmarshalOptions([]byte(text), &lenient, codec.DecodeOptions{})
	require.NoError(t, err)
	require.Empty(t, issues)
	require.Equal(t, pod, lenient)
}

func TestStrictInsideAnyAndManyFields(t *testing.T) {
	var v any
	require.Equal(t, []string{`duplicate field "a.b"`, `duplicate field "l[1].x"`},
		issuesOf(t, `{"a":{"b":1,"b":2},"l":[0,{"x":1,"x":1}]}`, &v))
	text := `{` + strings.Repeat(`"nope":1,`, 500) + `"kind":"Pod"}`
	require.Len(t, issuesOf(t, text, &corev1.Pod{}), 100)
}

func TestDecodeErrorsSayWhere(t *testing.T) {
	cases := map[string]struct{ path, msg string }{
		`{"spec":{"containers":[{},{"image":5}]}}`:       {"spec.containers[1].image", "cannot decode number 5 into string"},
		`{"spec":{"replicas":1,"priority":1.5}}`:         {"spec.priority", "cannot decode number 1.5 into int32"},
		`{"spec":{"priority":3000000000}}`:               {"spec.priority", "cannot decode number 3000000000 into int32"},
		`{"metadata":{"labels":{"a":{"b":1}}}}`:          {"metadata.labels.a", "cannot decode object into string"},
		`{"spec":{"containers":{}}}`:                     {"spec.containers", "cannot decode object into []corev1.Container"},
		`{"spec":{"hostNetwork":"yes"}}`:                 {"spec.hostNetwork", "cannot decode string into bool"},
		`{"spec":{"containers":[{"name":"a"]}}`:          {"spec.containers[0]", "expected ',' or '}' after object member"},
		`{"metadata":{"creationTimestamp":"yesterday"}}`: {"metadata.creationTimestamp", ""},
		`{"spec":`:            {"spec", "unexpected end of JSON input"},
		`{"spec":{}} x`:       {"", "unexpected data after the JSON value"},
		``:                    {"", "unexpected end of JSON input"},
		`[]`:                  {"", "cannot decode array into corev1.Pod"},
		"{\"kind\":\"a\nb\"}": {"kind", "invalid character in string"},
		`{"kind":"\q"}`:       {"kind", "invalid escape in string"},
		`{kind:1}`:            {"", "expected a string as object key"},
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}`: {"spec.containers[0].resources.limits.cpu", ""},
	}
	for text, want := range cases {
		pod := corev1.Pod{}
		pod.Name = "before"
		err := codec.Unmarshal([]byte(text), &pod)
		var de *codec.DecodeError
		require.ErrorAs(t, err, &de, text)
		require.Equal(t, want.path, de.Path, text)
		if want.msg != "" {
			require.Equal(t, want.msg, de.Msg, text)
		}
		require.Equal(t, corev1.Pod{}, pod, "nothing half filled: %s", text)
	}
	require.ErrorContains(t, codec.Unmarshal([]byte(`{}`), corev1.Pod{}), "want a non-nil pointer")
	require.ErrorContains(t, codec.Unmarshal([]byte(`{}`), (*corev1.Pod)(nil)), "want a non-nil pointer")
	require.ErrorContains(t, codec.Unmarshal([]byte(`{}`), nil), "want a non-nil pointer")
}

func TestDecodeLimits(t *testing.T) {
	deep := strings.Repeat("[", 10001) + strings.Repeat("]", 10001)
	var v any
	require.ErrorIs(t, codec.Unmarshal([]byte(deep), &v), codec.ErrTooDeep)
	require.NoError(t, codec.Unmarshal([]byte(deep[1:20001]), &v))
	var skip struct{}
	require.ErrorIs(t, codec.Unmarshal([]byte(`{"x":`+deep+`}`), &skip), codec.ErrTooDeep)
	var raw metav1.RawExtension
	require.ErrorIs(t, codec.Unmarshal([]byte(deep), &raw), codec.ErrTooDeep)

	_, err := codec.UnmarshalOptions([]byte(`[[1]]`), &v, codec.DecodeOptions{MaxDepth: 1})
	require.ErrorIs(t, err, codec.ErrTooDeep)
	_, err = codec.UnmarshalOptions([]byte(`[[1]]`), &v, codec.DecodeOptions{MaxDepth: 2, MaxBytes: 5})
	require.NoError(t, err)
	_, err = codec.UnmarshalOptions([]byte(`[[1]] `), &v, codec.DecodeOptions{MaxBytes: 5})
	require.ErrorIs(t, err, codec.ErrTooLarge)
}

func TestDecodeIntoAny(t *testing.T) {
	var v any
	require.NoError(t, codec.Unmarshal([]byte(` {"i":1,"n":-0,"big":9223372036854775807,"over":9223372036854775808,"f":1.0,"e":1e3,"s":"x","b":true,"z":null,"l":[],"o":{}} `), &v))
	require.Equal(t, map[string]any{
		"i": int64(1), "n": int64(0), "big": int64(9223372036854775807), "over": 9223372036854775808.0, "f": 1.0, "e": 1000.0,
		"s": "x", "b": true, "z": nil, "l": []any{}, "o": map[string]any{},
	}, v)
	require.Error(t, codec.Unmarshal([]byte(`1e999`), &v))
}

func TestDecodeKeepsWhatIsNotMentioned(t *testing.T) {
	pod := corev1.Pod{}
	pod.Name, pod.Labels = "kept", map[string]string{"a": "1"}
	pod.Spec.Containers = []corev1.Container{{Name: "old", Image: "old"}}
	require.NoError(t, codec.Unmarshal([]byte(`{"metadata":{"labels":{"b":"2"}},"spec":{"containers":[{"name":"new"}],"nodeSelector":null}}`), &pod))
	require.Equal(t, "kept", pod.Name)
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, pod.Labels)
	require.Equal(t, []corev1.Container{{Name: "new"}}, pod.Spec.Containers, "list elements start afresh")
}

func TestDecodedValuesDoNotAliasInput(t *testing.T) {
	text := []byte(`{"metadata":{"name":"alpha","labels":{"key":"value"},"managedFields":[{"fieldsV1":{"f:a":{}}}]},"data":{"k":"v"}}`)
	var cm corev1.ConfigMap
	require.NoError(t, codec.Unmarshal(text, &cm))
	before := codec.DeepCopy(&cm)
	body, err := codec.MarshalProto(&cm)
	require.NoError(t, err)
	for i := range text {
		text[i] = 'X'
	}
	require.Equal(t, before, &cm)

	var fromProto corev1.ConfigMap
	require.NoError(t, codec.UnmarshalProto(body, &fromProto))
	for i := range body {
		body[i] = 'X'
	}
	require.Equal(t, before, &fromProto)
}

func TestUnstructured(t *testing.T) {
	const text = `{"kind":"Widget","apiVersion":"a.test/v1","metadata":{"name":"w"},"alpha":[1,2.5],"spec":{"size":3},"status":null}`
	var u metav1.Unstructured
	require.Empty(t, issuesOf(t, text, &u))
	require.Equal(t, "Widget", u.Kind)
	require.Equal(t, "w", u.Name)
	require.Equal(t, map[string]any{"alpha": []any{int64(1), 2.5}, "spec": map[string]any{"size": int64(3)}, "status": nil}, u.Fields)
	out, err := codec.Marshal(&u)
	require.NoError(t, err)
	require.Equal(t, text, string(out))
	require.Equal(t, []string{`duplicate field "spec"`}, issuesOf(t, `{"spec":1,"spec":2}`, &metav1.Unstructured{}))

	u.Fields["kind"] = "Other" // a claimed name cannot be smuggled in twice
	out, err = codec.Marshal(&u)
	require.NoError(t, err)
	require.Equal(t, text, string(out))

	c := codec.DeepCopy(&u)
	c.Fields["spec"].(map[string]any)["size"] = int64(4)
	require.Equal(t, int64(3), u.Fields["spec"].(map[string]any)["size"])

	_, err = codec.MarshalProto(&u)
	require.ErrorIs(t, err, codec.ErrNoProto)
	require.ErrorIs(t, codec.UnmarshalProto(nil, &u), codec.ErrNoProto)
}
