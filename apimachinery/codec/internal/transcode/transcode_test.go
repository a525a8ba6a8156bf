package transcode_test

import (
	"encoding/base64"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/codectest"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/transcode"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// sameByBothWays brings a message to JSON directly and by a Go value.
func sameByBothWays(t testing.TB, typ reflect.Type, pieces ...[]byte) error {
	t.Helper()
	v := reflect.New(typ).Interface()
	wantErr := codec.UnmarshalProto(slices.Concat(pieces...), v)
	var want []byte
	if wantErr == nil {
		want, wantErr = codec.Marshal(v)
	}
	got, err := codec.ProtoToJSON(typ, pieces...)
	require.Equal(t, wantErr, err, "%v", typ)
	require.Equal(t, string(want), string(got), "%v", typ)
	return err
}

// Of every kind, filled at random: the JSON is that of the decoded object, and nearly always made directly.
func TestProtoToJSONOfEveryType(t *testing.T) {
	types := codectest.BuiltinTypes()
	direct, all := 0, 0
	for _, seed := range codectest.Seeds(t, 8*len(types)) {
		typ := types[seed%int64(len(types))]
		v := reflect.New(typ)
		codectest.APIFiller(seed).Fuzz(v.Interface())
		body, err := codec.MarshalProto(v.Interface())
		require.NoError(t, err)
		require.NoError(t, sameByBothWays(t, typ, body), "seed %d", seed)
		version := protowire.AppendString([]byte{6<<3 | 2}, "12345")
		if typ.NumField() > 1 && typ.Field(1).Type == reflect.TypeFor[metav1.ObjectMeta]() {
			require.NoError(t, sameByBothWays(t, typ, body, protowire.AppendBytes([]byte{1<<3 | 2}, version)), "seed %d", seed)
		}
		if all++; transcode.Direct(typ, body) {
			direct++
		}
	}
	require.Greater(t, direct*10, all*9, "of %d went the short way", all)
}

// Recorded objects of every kind, whole and damaged at random: the same JSON or the same error.
func TestProtoToJSONOfDamagedObjects(t *testing.T) {
	golden := codectest.Golden(t)
	broken, sound := 0, 0
	for _, seed := range seeds.Of(t, 20000) {
		rnd := seeds.Stream(seed, 2)
		g := golden[rnd.IntN(len(golden))]
		data, err := base64.StdEncoding.DecodeString(g.Base64)
		require.NoError(t, err)
		apiVersion, kind, body, err := codec.DecodeEnvelope(data)
		require.NoError(t, err)
		typ := reflect.TypeOf(codectest.NewObject(t, apiVersion, kind)).Elem()
		if !transcode.Direct(typ, body) {
			require.Failf(t, "goes the long way", "%s %s", apiVersion, kind)
		}
		body = slices.Clone(body)
		for range rnd.IntN(4) {
			switch i := rnd.IntN(len(body)); rnd.IntN(5) {
			case 0:
				body = slices.Delete(body, i, min(len(body), i+1+rnd.IntN(3)))
			case 1:
				body = slices.Insert(body, i, byte(rnd.IntN(256)))
			case 2:
				body = append(body, body...) // lists add up, messages merge
			default:
				body[i] ^= 1 << rnd.IntN(8)
			}
			if len(body) == 0 {
				body = []byte{0}
			}
		}
		if sameByBothWays(t, typ, body) == nil {
			sound++
		} else {
			broken++
		}
	}
	require.Positive(t, broken)
	require.Positive(t, sound)
}

// What encoders do not write but decoders read.
func TestProtoToJSONOfUnusualMessages(t *testing.T) {
	field := func(num protowire.Number, content ...byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), content)
	}
	entry := func(key, value string) []byte {
		return slices.Concat(field(1, []byte(key)...), field(2, []byte(value)...))
	}
	pod := reflect.TypeFor[corev1.Pod]()
	meta := func(fields ...[]byte) []byte { return field(1, slices.Concat(fields...)...) }
	for name, body := range map[string][]byte{
		"nothing":                  {},
		"metadata in three pieces": slices.Concat(meta(field(1, 'a'), field(11, entry("x", "1")...)), meta(field(1, 'b')), meta(field(11, entry("y", "2")...))),
		"metadata cut in two":      slices.Concat(meta(field(1, 'a'), []byte{5<<3 | 2, 2}), meta([]byte("xy"))),
		"a spec in two pieces":     slices.Concat(field(2, field(10, 'n')...), field(2, field(1, field(1, 'v')...)...), field(2, field(1, field(1, 'w')...)...)),
		"labels out of order":      meta(field(11, entry("b", "1")...), field(11, entry("a", "2")...)),
		"a label twice":            meta(field(11, entry("a", "1")...), field(11, entry("a", "2")...)),
		"a label apart":            meta(field(11, entry("a", "1")...), field(1, 'n'), field(11, entry("b", "2")...)),
		"a label without a value":  meta(field(11, field(1, 'a')...)),
		"a label without a key":    meta(field(11, field(2, 'a')...)),
		"an empty label":           meta(field(11)),
		"value before key":         meta(field(11, slices.Concat(field(2, 'v'), field(1, 'k'))...)),
		"an unknown field":         slices.Concat(field(99, 1, 2, 3), meta(field(98, 1), field(1, 'n')), []byte{97<<3&0x7f | 0x80, 97 >> 4, 5}),
		"an unknown group":         {100<<3&0x7f | 3 | 0x80, 100 >> 4, 100<<3&0x7f | 4 | 0x80, 100 >> 4},
		"a long tag":               {1<<3 | 2 | 0x80, 0, 0},
		"a longer tag":             {1<<3 | 2 | 0x80, 0x80, 0, 0},
		"long tags in a list":      field(2, slices.Concat(field(2, field(1, 'a')...), []byte{2<<3 | 2 | 0x80, 0, 3}, field(1, 'b'))...),
		"a string of bad text":     meta(field(1, 0xff, '<', 0xe2, 0x80, 0xa8)),
		"a generation below zero":  meta([]byte{7 << 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}),
		"a bool of two":            field(2, 11<<3, 2, 11<<3&0x7f, 0x80, 1),
		"another wire type":        field(2, 4<<3|2, 1, 1),
		"a time in pieces":         meta(field(8, 1<<3, 9), field(8, 1<<3, 10)),
		"an empty time":            meta(field(8)),
		"a pointer to nothing":     field(2, 4<<3, 0),
		"an inlined message twice": field(2, slices.Concat(field(1, field(2, field(1, field(1, '/')...)...)...), field(1, field(2, field(2)...)...))...),
	} {
		t.Run(name, func(t *testing.T) { _ = sameByBothWays(t, pod, body) })
	}
	// Lists in lists, and kinds in which others are.
	set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {}}}}
	body, err := codec.MarshalProto(set)
	require.NoError(t, err)
	require.NoError(t, sameByBothWays(t, reflect.TypeFor[appsv1.StatefulSet](), body))
	// Nested deeper than can be.
	schema := reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()
	var deep []byte
	for i := range 11000 {
		if i%500 == 0 || i > 9990 && i < 10010 || i > 4990 && i < 5010 {
			_ = sameByBothWays(t, schema, deep)
		}
		deep = field(33, deep...)
	}
}

// FuzzProtoToJSON compares with decoding and encoding on any bytes.
func FuzzProtoToJSON(f *testing.F) {
	for _, g := range codectest.Golden(f) {
		data, err := base64.StdEncoding.DecodeString(g.Base64)
		require.NoError(f, err)
		_, _, body, err := codec.DecodeEnvelope(data)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, typ := range []reflect.Type{reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.Secret](), reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()} {
			_ = sameByBothWays(t, typ, data)
			_ = sameByBothWays(t, typ, data[:len(data)/2], data[len(data)/2:])
		}
	})
}

func BenchmarkProtoToJSON(b *testing.B) {
	_, pod := codectest.Pod(b)
	body, err := codec.MarshalProto(pod)
	require.NoError(b, err)
	typ := reflect.TypeFor[corev1.Pod]()
	b.Run("direct", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := codec.ProtoToJSON(typ, body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by-value", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v := &corev1.Pod{}
			if err := codec.UnmarshalProto(body, v); err != nil {
				b.Fatal(err)
			}
			if _, err := codec.Marshal(v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
