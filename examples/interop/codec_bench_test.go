package interop

import (
	stdjson "encoding/json"
	"io"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	upcorev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

func benchPod(b *testing.B) (raw, proto []byte, ours *corev1.Pod, theirs *upcorev1.Pod) {
	raw, err := os.ReadFile("testdata/pod.json")
	require.NoError(b, err)
	ours, theirs = &corev1.Pod{}, &upcorev1.Pod{}
	require.NoError(b, codec.Unmarshal(raw, ours))
	require.NoError(b, kjson.UnmarshalCaseSensitivePreserveInts(raw, theirs))
	proto, err = theirs.Marshal()
	require.NoError(b, err)
	return raw, proto, ours, theirs
}

// cpu returns the processor time of the process, in nanoseconds, which is more reliable than wall time on a
// busy machine.
func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}

func loop(b *testing.B, name string, f func() error) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		began := cpu(b)
		for b.Loop() {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(cpu(b)-began)/float64(b.N), "cpu-ns/op")
	})
}

// kept holds the last result of a benchmark, as a program that decodes or copies an object does: without it
// the compiler would allocate parts of upstream's result, whose code it can inline, on the stack.
var kept struct {
	ours   *corev1.Pod
	theirs *upcorev1.Pod
}

func BenchmarkDecodeJSON(b *testing.B) {
	raw, _, _, _ := benchPod(b)
	loop(b, "keelson", func() error { kept.ours = new(corev1.Pod); return codec.Unmarshal(raw, kept.ours) })
	loop(b, "upstream", func() error {
		kept.theirs = new(upcorev1.Pod)
		return kjson.UnmarshalCaseSensitivePreserveInts(raw, kept.theirs)
	})
}

func BenchmarkEncodeJSON(b *testing.B) {
	_, _, ours, theirs := benchPod(b)
	loop(b, "keelson", func() error { _, err := codec.Marshal(ours); return err })
	loop(b, "upstream", func() error { _, err := stdjson.Marshal(theirs); return err })
}

func BenchmarkDecodeProtobuf(b *testing.B) {
	_, proto, _, _ := benchPod(b)
	loop(b, "keelson", func() error { kept.ours = new(corev1.Pod); return codec.UnmarshalProto(proto, kept.ours) })
	loop(b, "upstream", func() error { kept.theirs = new(upcorev1.Pod); return kept.theirs.Unmarshal(proto) })
}

func BenchmarkEncodeProtobuf(b *testing.B) {
	_, _, ours, theirs := benchPod(b)
	loop(b, "keelson", func() error { _, err := codec.MarshalProto(ours); return err })
	loop(b, "upstream", func() error { _, err := theirs.Marshal(); return err })
}

func BenchmarkDeepCopy(b *testing.B) {
	_, _, ours, theirs := benchPod(b)
	loop(b, "keelson", func() error { kept.ours = codec.DeepCopy(ours); return nil })
	loop(b, "upstream", func() error { kept.theirs = theirs.DeepCopy(); return nil })
}

// benchList is the Pod of the other benchmarks 10,000 times, each with a name of its own.
func benchList(b *testing.B) (ours *corev1.PodList, theirs *upcorev1.PodList) {
	const pods = 10_000
	_, _, pod, upPod := benchPod(b)
	ours, theirs = &corev1.PodList{}, &upcorev1.PodList{}
	ours.Kind, ours.APIVersion = "PodList", "v1"
	theirs.Kind, theirs.APIVersion = "PodList", "v1"
	for i := range pods {
		p, q := codec.DeepCopy(pod), upPod.DeepCopy()
		p.Name = "web-" + strconv.Itoa(100_000+i)
		q.Name = p.Name
		ours.Items, theirs.Items = append(ours.Items, p), append(theirs.Items, *q)
	}
	return ours, theirs
}

func BenchmarkDecodeListJSON(b *testing.B) {
	list, _ := benchList(b)
	raw, err := codec.Marshal(list)
	require.NoError(b, err)
	loop(b, "keelson", func() error { return codec.Unmarshal(raw, new(corev1.PodList)) })
	loop(b, "upstream", func() error { return kjson.UnmarshalCaseSensitivePreserveInts(raw, new(upcorev1.PodList)) })
}

func BenchmarkDecodeListProtobuf(b *testing.B) {
	list, _ := benchList(b)
	raw, err := codec.MarshalProto(list)
	require.NoError(b, err)
	loop(b, "keelson", func() error { return codec.UnmarshalProto(raw, new(corev1.PodList)) })
	loop(b, "upstream", func() error { return new(upcorev1.PodList).Unmarshal(raw) })
}

func BenchmarkEncodeListJSON(b *testing.B) {
	ours, theirs := benchList(b)
	loop(b, "keelson", func() error { _, err := codec.Marshal(ours); return err })
	loop(b, "upstream", func() error { _, err := stdjson.Marshal(theirs); return err })
}

func BenchmarkEncodeListProtobuf(b *testing.B) {
	ours, theirs := benchList(b)
	loop(b, "keelson", func() error { _, err := codec.MarshalProto(ours); return err })
	loop(b, "upstream", func() error { _, err := theirs.Marshal(); return err })
}

// The streaming encoder compared with upstream's encoding of the whole list in memory.
func BenchmarkStreamListJSON(b *testing.B) {
	ours, theirs := benchList(b)
	loop(b, "keelson", func() error {
		var buf []byte
		items := func(yield func(codec.Item, error) bool) {
			for _, p := range ours.Items {
				var err error
				buf, err = codec.AppendJSON(buf[:0], p)
				if !yield(codec.Item{Body: buf}, err) {
					return
				}
			}
		}
		return codec.WriteListJSON(io.Discard, codec.ListHeader{APIVersion: "v1", Kind: "PodList"}, items)
	})
	loop(b, "upstream", func() error { return stdjson.NewEncoder(io.Discard).Encode(theirs) })
}
