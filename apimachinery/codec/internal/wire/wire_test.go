package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func configMaps(n int) []*corev1.ConfigMap {
	var out []*corev1.ConfigMap
	for i := range n {
		cm := &corev1.ConfigMap{Data: map[string]string{"k": strings.Repeat("v", i)}}
		cm.Name = "cm" + string(rune('a'+i))
		out = append(out, cm)
	}
	return out
}

// noError turns a sequence into one that may fail.
func noError[T any](s iter.Seq[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		s(func(v T) bool { return yield(v, nil) })
	}
}

func jsonItems(t *testing.T, list []*corev1.ConfigMap) (items []codec.Item) {
	for _, cm := range list {
		body, err := codec.Marshal(cm)
		require.NoError(t, err)
		items = append(items, codec.Item{Body: body})
	}
	return items
}

// The streamed forms of a list equal the forms of the list as one value.
func TestStreamedListEqualsWholeList(t *testing.T) {
	count := int64(7)
	for n := range 4 {
		list := &metav1.List[*corev1.ConfigMap]{Items: configMaps(n)}
		list.Kind, list.APIVersion = "ConfigMapList", "v1"
		list.ResourceVersion, list.Continue, list.RemainingItemCount = "12", "next<", &count
		if n == 0 {
			list.Items = []*corev1.ConfigMap{}
			list.ListMeta = metav1.ListMeta{}
		}
		h := codec.ListHeader{APIVersion: "v1", Kind: "ConfigMapList", ResourceVersion: list.ResourceVersion, Continue: list.Continue, RemainingItemCount: list.RemainingItemCount}

		want, err := codec.Marshal(list)
		require.NoError(t, err)
		var got bytes.Buffer
		require.NoError(t, codec.WriteListJSON(&got, h, noError(slices.Values(jsonItems(t, list.Items)))))
		require.Equal(t, string(want)+"\n", got.String())

		want, err = codec.MarshalEnvelope("v1", "ConfigMapList", list)
		require.NoError(t, err)
		var items []codec.Item
		for _, cm := range list.Items {
			body, err := codec.MarshalProto(cm)
			require.NoError(t, err)
			items = append(items, codec.Item{Head: body[:1], Body: body[1:5], Tail: body[5:]})
		}
		got.Reset()
		require.NoError(t, codec.WriteListProto(&got, h, slices.Values(items)))
		require.Equal(t, want, got.Bytes())
	}
}

func TestListWritersReportErrors(t *testing.T) {
	broken := errors.New("broken")
	failAfterOne := func(yield func(codec.Item, error) bool) {
		_ = yield(codec.Item{Body: []byte("{}")}, nil) && yield(codec.Item{}, broken)
	}
	require.ErrorIs(t, codec.WriteListJSON(io.Discard, codec.ListHeader{}, failAfterOne), broken)
	big := []codec.Item{{Body: make([]byte, 100<<10)}}
	require.ErrorIs(t, codec.WriteListJSON(brokenWriter{broken}, codec.ListHeader{}, noError(slices.Values(big))), broken)
	require.ErrorIs(t, codec.WriteListProto(brokenWriter{broken}, codec.ListHeader{}, slices.Values(big)), broken)
	calls := 0
	shrinking := func(yield func(codec.Item) bool) {
		if calls++; calls == 1 {
			yield(big[0])
		}
	}
	require.ErrorContains(t, codec.WriteListProto(io.Discard, codec.ListHeader{}, shrinking), "changed")
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// A second metadata segment that carries only a version overrides just that.
func TestAppendedSegmentMerges(t *testing.T) {
	cm := configMaps(1)[0]
	cm.Labels = map[string]string{"a": "b"}
	body, err := codec.MarshalProto(cm)
	require.NoError(t, err)
	body = append(body, 0x0a, 4, 0x32, 2, '4', '2')
	var back corev1.ConfigMap
	require.NoError(t, codec.UnmarshalProto(body, &back))
	require.Equal(t, "42", back.ResourceVersion)
	cm.ResourceVersion = "42"
	require.True(t, codec.Equal(cm, &back))
}

type watchSample struct {
	Case   string            `json:"case"`
	Accept string            `json:"contentType"`
	Lines  []json.RawMessage `json:"lines"`
	Frames json.RawMessage   `json:"framesBase64"`
}

func (s watchSample) stream(t *testing.T) []byte {
	var whole string
	if json.Unmarshal(s.Frames, &whole) != nil {
		var parts []string
		require.NoError(t, json.Unmarshal(s.Frames, &parts))
		var out []byte
		for _, p := range parts {
			b, err := base64.StdEncoding.DecodeString(p)
			require.NoError(t, err)
			out = append(out, b...)
		}
		return out
	}
	b, err := base64.StdEncoding.DecodeString(whole)
	require.NoError(t, err)
	return b
}

// The watch streams a kube-apiserver sent are read, decoded and written again byte for byte.
func TestWatchSamples(t *testing.T) {
	raw, err := os.ReadFile("testdata/watch_samples.json")
	require.NoError(t, err)
	var samples []watchSample
	require.NoError(t, json.Unmarshal(raw, &samples))
	protos, lines := 0, 0
	for _, s := range samples {
		if len(s.Frames) > 0 {
			stream := s.stream(t)
			var again []byte
			frames := codec.NewProtoFrames(iotest.OneByteReader(bytes.NewReader(stream)), 0)
			for {
				frame, err := frames.Next()
				if err == io.EOF {
					break
				}
				require.NoError(t, err, s.Case)
				typ, object, err := codec.DecodeEventProto(frame)
				require.NoError(t, err, s.Case)
				apiVersion, kind, body, err := codec.DecodeEnvelope(object)
				require.NoError(t, err)
				again = codec.AppendEventProto(again, typ, codec.AppendEnvelope(nil, apiVersion, kind, body))
				protos++
			}
			require.Equal(t, stream, again, s.Case)
			continue
		}
		var stream []byte
		for _, l := range s.Lines {
			stream = append(append(stream, l...), '\n')
		}
		var again []byte
		frames := codec.NewJSONFrames(iotest.HalfReader(bytes.NewReader(stream)), 0)
		for {
			frame, err := frames.Next()
			if err == io.EOF {
				break
			}
			require.NoError(t, err, s.Case)
			typ, object, err := codec.DecodeEventJSON(frame)
			if err != nil {
				again = append(append(again, frame...), '\n')
				continue // a sample of a list, not of a watch
			}
			again = codec.AppendEventJSON(again, typ, object)
			lines++
		}
		require.Equal(t, string(stream), string(again), s.Case)
	}
	require.Greater(t, protos, 2)
	require.Greater(t, lines, 4)
}

func TestFrameReaderLimits(t *testing.T) {
	line := `{"type":"ADDED","object":{"a":"}\"{"}}`
	for _, sep := range []string{"\n", " \r\n\n", "\n\t"} {
		r := codec.NewJSONFrames(strings.NewReader(line+sep+strings.ReplaceAll(line, ":", ":\n")+sep), 0)
		got, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, line, string(got))
		got, err = r.Next()
		require.NoError(t, err)
		_, object, err := codec.DecodeEventJSON(got)
		require.NoError(t, err)
		require.JSONEq(t, `{"a":"}\"{"}`, string(object))
		_, err = r.Next()
		require.ErrorIs(t, err, io.EOF)
	}
	_, err := codec.NewJSONFrames(strings.NewReader(line[:20]), 0).Next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = codec.NewJSONFrames(strings.NewReader(line), 10).Next()
	require.ErrorIs(t, err, codec.ErrTooLarge)
	_, err = codec.NewProtoFrames(strings.NewReader("\xff\xff\xff\xff"), 0).Next()
	require.ErrorIs(t, err, codec.ErrTooLarge)
	_, err = codec.NewProtoFrames(strings.NewReader("\x00\x00\x00\x05ab"), 0).Next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = codec.NewProtoFrames(strings.NewReader("\x00\x00"), 0).Next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	// A prefix that claims much is not believed before the bytes arrive.
	_, err = codec.NewProtoFrames(strings.NewReader("\x00\xff\xff\xff"), 0).Next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	for _, bad := range []string{`{}`, `{"type":"ADDED"}`, `{"object":{}}`, `[]`, `{"type":1,"object":{}}`, `{"type":"A","object":{}`, ``} {
		_, _, err := codec.DecodeEventJSON([]byte(bad))
		require.Error(t, err, bad)
	}
	_, _, err = codec.DecodeEventProto([]byte{1})
	require.Error(t, err)
}

func TestEnvelope(t *testing.T) {
	obj := configMaps(2)[1]
	data, err := codec.MarshalEnvelope("v1", "ConfigMap", obj)
	require.NoError(t, err)
	require.True(t, codec.IsEnvelope(data))
	body, err := codec.MarshalProto(obj)
	require.NoError(t, err)
	require.Equal(t, "x"+string(data), string(codec.AppendEnvelope([]byte("x"), "v1", "ConfigMap", body)))
	require.Len(t, data, codec.SizeEnvelope("v1", "ConfigMap", len(body)))
	var back corev1.ConfigMap
	_, _, err = codec.UnmarshalEnvelope(data, &back)
	require.NoError(t, err)
	require.Equal(t, metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, back.TypeMeta)

	for _, bad := range []string{"", "k8s", "{}", "k8s\x00\x0a", "k8s\x00\x0a\xff", "k8s\x00\x00", "k8s\x00\x1a\x04gzip", "k8s\x00\x22\x01x"} {
		_, _, _, err := codec.DecodeEnvelope([]byte(bad))
		var de *codec.DecodeError
		require.ErrorAs(t, err, &de, "%q", bad)
	}
	// Fields of later versions are skipped.
	_, _, _, err = codec.DecodeEnvelope([]byte("k8s\x00\x0a\x06\x12\x01K\x18\x05\x20\x01\x12\x01z\x28\x01"))
	require.Error(t, err)
	_, kind, raw, err := codec.DecodeEnvelope([]byte("k8s\x00\x0a\x05\x12\x01K\x18\x05\x12\x01z\x28\x01"))
	require.NoError(t, err)
	require.Equal(t, "K", kind)
	require.Equal(t, "z", string(raw))
}
