package codec_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/codectest"
)

func benchPod(b *testing.B) ([]byte, *corev1.Pod) {
	b.ReportAllocs()
	return codectest.Pod(b)
}

func BenchmarkDecodeJSON(b *testing.B) {
	data, _ := benchPod(b)
	for _, strict := range []bool{false, true} {
		b.Run(map[bool]string{false: "lenient", true: "strict"}[strict], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var pod corev1.Pod
				if _, err := codec.UnmarshalOptions(data, &pod, codec.DecodeOptions{Strict: strict}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var pod corev1.Pod
			if err := json.Unmarshal(data, &pod); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncodeJSON(b *testing.B) {
	_, pod := benchPod(b)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			buf, _ = codec.AppendJSON(buf[:0], pod)
		}
	})
	b.Run("marshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			codec.Marshal(pod)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			json.Marshal(pod)
		}
	})
}

func BenchmarkDecodeProtobuf(b *testing.B) {
	_, pod := benchPod(b)
	data, err := codec.MarshalProto(pod)
	require.NoError(b, err)
	for b.Loop() {
		var out corev1.Pod
		if err := codec.UnmarshalProto(data, &out); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeProtobuf(b *testing.B) {
	_, pod := benchPod(b)
	for b.Loop() {
		codec.MarshalEnvelope("v1", "Pod", pod)
	}
}

func BenchmarkDeepCopy(b *testing.B) {
	_, pod := benchPod(b)
	for b.Loop() {
		codec.DeepCopy(pod)
	}
}

func BenchmarkEqual(b *testing.B) {
	_, pod := benchPod(b)
	other := codec.DeepCopy(pod)
	for b.Loop() {
		codec.Equal(pod, other)
	}
}
