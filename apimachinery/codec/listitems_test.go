package codec_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// One bad item is one error; those before and after it are decoded.
func TestOneBadItem(t *testing.T) {
	text := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
		{"metadata":{"name":"a"}}, {"metadata":{"name":5}}, {"metadata":{"name":"c"}}]}`
	fromJSON, err := codec.SplitListJSON([]byte(text))
	require.NoError(t, err)

	name := func(s string) []byte {
		b, err := codec.MarshalProto(&corev1.ConfigMap{Data: map[string]string{"name": s}})
		require.NoError(t, err)
		return b
	}
	bodies := [][]byte{name("a"), []byte("\x0a\x7f"), name("c")}
	var list []byte
	for _, b := range bodies {
		list = append(append(list, 2<<3|2, byte(len(b))), b...)
	}
	fromProto, err := codec.SplitListProto(codec.EncodeEnvelope(nil, "v1", "ConfigMapList", list))
	require.NoError(t, err)

	var got []string
	for pod, err := range codec.DecodeItems[*corev1.Pod](fromJSON) {
		var bad *codec.ItemError
		if errors.As(err, &bad) {
			require.Nil(t, pod)
			require.Equal(t, 1, bad.Index)
			require.ErrorContains(t, err, "items[1]: metadata.name: cannot decode number 5 into string")
			continue
		}
		require.NoError(t, err)
		got = append(got, pod.Name)
	}
	for cm, err := range codec.DecodeItems[*corev1.ConfigMap](fromProto) {
		if err != nil {
			require.ErrorContains(t, err, "items[1]: ")
			continue
		}
		got = append(got, cm.Data["name"])
	}
	require.Equal(t, []string{"a", "c", "a", "c"}, got)

	steps := 0
	for _, err := range codec.DecodeItems[*map[string]int](fromProto) {
		require.ErrorIs(t, err, codec.ErrNoProto)
		steps++
	}
	for _, err := range codec.DecodeItems[corev1.Pod](fromJSON) {
		var bad *codec.TypeError
		require.ErrorAs(t, err, &bad)
		steps++
	}
	require.Equal(t, 2, steps)
}

func ExampleDecodeItems() {
	list, err := codec.SplitListJSON([]byte(`{"items":[{"metadata":{"name":"good"}},{"metadata":{"name":[]}},{"metadata":{"name":"too"}}]}`))
	if err != nil {
		panic(err)
	}
	for pod, err := range codec.DecodeItems[*corev1.Pod](list) {
		if err != nil {
			fmt.Println("left out:", err)
			continue
		}
		fmt.Println(pod.Name)
	}
	// Output:
	// good
	// left out: items[1]: metadata.name: cannot decode array into string (at byte 20)
	// too
}
