package codec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type ring struct {
	Next *ring `json:"next"`
	Any  any   `json:"any"`
}

func TestCyclicValues(t *testing.T) {
	r := &ring{}
	r.Next = r
	_, err := codec.Marshal(r)
	require.ErrorIs(t, err, codec.ErrTooDeep)
	require.Panics(t, func() { codec.DeepCopy(r) })
	m := map[string]any{}
	m["m"], m["n"] = m, m
	_, err = codec.Marshal(m)
	require.ErrorIs(t, err, codec.ErrTooDeep)
	require.False(t, codec.Equal(r, &ring{Next: &ring{}}))
}

func TestEncodeErrorsLeaveNothing(t *testing.T) {
	for _, v := range []any{math.Inf(1), []any{math.NaN()}, metav1.RawExtension{Raw: []byte(`{"a":`)}, json.RawMessage(`1 2`), json.Number("x"),
		failing{}, map[string]any{"a": func() {}}} {
		out, err := codec.AppendJSON([]byte("kept"), v)
		require.Error(t, err, "%T", v)
		require.Equal(t, "kept", string(out))
	}
	_, err := codec.Marshal(failing{})
	require.ErrorIs(t, err, errFailing)
	out, err := codec.Marshal(nil)
	require.NoError(t, err)
	require.Equal(t, "null", string(out))
}

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errFailing }

var errFailing = errors.New("no")

type holdsChannel struct {
	Any any
	C   chan int
}

// TestErrorsAreThoseOfThisPackage: what internal packages report arrives as the exported types, from every
// function that returns an error, and in panics.
func TestErrorsAreThoseOfThisPackage(t *testing.T) {
	bad := holdsChannel{}
	pod := &corev1.Pod{}
	part, err := codec.PartOf(reflect.TypeFor[corev1.Pod](), "metadata.name")
	require.NoError(t, err)
	second := func(_ any, err error) error { return err }
	third := func(_, _ any, err error) error { return err }
	types := map[string]error{
		"Marshal": second(codec.Marshal(bad)), "AppendJSON": second(codec.AppendJSON(nil, &bad)),
		"Marshal of an interface": second(codec.Marshal([]any{bad})), "Unmarshal": codec.Unmarshal([]byte(`{}`), &bad),
		"UnmarshalOptions": second(codec.UnmarshalOptions([]byte(`{}`), &bad, codec.DecodeOptions{})),
		"MarshalYAML":      second(codec.MarshalYAML(bad)), "UnmarshalYAML": second(codec.UnmarshalYAML([]byte(`{}`), &bad, codec.DecodeOptions{})),
		"MarshalProto": second(codec.MarshalProto(bad)), "AppendProto": second(codec.AppendProto(nil, bad)),
		"SizeProto": second(codec.SizeProto(bad)), "UnmarshalProto": codec.UnmarshalProto(nil, &bad),
		"MarshalEnvelope": second(codec.MarshalEnvelope("v1", "Bad", bad)),
		"ProtoToJSON":     second(codec.ProtoToJSON(reflect.TypeFor[holdsChannel]())),
		"PartOf":          second(codec.PartOf(reflect.TypeFor[holdsChannel]())), "PlanOf": second(codec.PlanOf(reflect.TypeFor[holdsChannel]())),
		"DeepCopy": panicOf(func() { codec.DeepCopy(&bad) }), "DeepCopy of a value": panicOf(func() { codec.DeepCopy(bad) }),
		"DeepCopyInto": panicOf(func() { codec.DeepCopyInto(&bad, &bad) }), "DeepCopyJSON": panicOf(func() { codec.DeepCopyJSON([]any{&bad}) }),
		"DeepCopy of an interface": panicOf(func() { codec.DeepCopy[any](bad) }),
		"DeepCopy of a field":      panicOf(func() { codec.DeepCopy(&struct{ Any any }{bad}) }),
		"DeepCopy of a method set": panicOf(func() { codec.DeepCopy(&struct{ S fmt.Stringer }{bad}) }),
	}
	for what, err := range types {
		var typeError *codec.TypeError
		require.ErrorAs(t, err, &typeError, what)
	}
	envelope, err := codec.MarshalEnvelope("v1", "Pod", pod)
	require.NoError(t, err)
	last := func(frames iter.Seq2[codec.YAMLDocument, error]) (last error) {
		for _, err := range frames {
			last = err
		}
		return last
	}
	inputs := map[string]error{
		"Unmarshal": codec.Unmarshal([]byte(`{`), pod), "Unmarshal of a value in an interface": codec.Unmarshal([]byte(`[1`), new(any)),
		"UnmarshalOptions": second(codec.UnmarshalOptions([]byte(`{}`), pod, codec.DecodeOptions{MaxBytes: 1})),
		"UnmarshalProto":   codec.UnmarshalProto([]byte{1}, pod), "Part.UnmarshalProto": part.UnmarshalProto([]byte{1}, pod),
		"Part.UnmarshalEnvelope": part.UnmarshalEnvelope(envelope[1:], pod),
		"DecodeEnvelope":         func() error { _, _, _, err := codec.DecodeEnvelope(nil); return err }(),
		"UnmarshalEnvelope":      third(codec.UnmarshalEnvelope(envelope[:9], pod)),
		"ProtoToJSON":            second(codec.ProtoToJSON(reflect.TypeFor[corev1.Pod](), []byte{1})),
		"DecodeEventJSON":        third(codec.DecodeEventJSON([]byte(`{}`))), "DecodeEventJSON of a list": third(codec.DecodeEventJSON([]byte(`[]`))),
		"DecodeEventProto": third(codec.DecodeEventProto([]byte{1})),
		"YAMLToJSON":       second(codec.YAMLToJSON([]byte("a: ["))), "JSONToYAML": second(codec.JSONToYAML([]byte("{"))),
		"UnmarshalYAML": second(codec.UnmarshalYAML([]byte("a: ["), pod, codec.DecodeOptions{})),
		"SplitYAML":     last(codec.SplitYAML(strings.NewReader(strings.Repeat("a", codec.MaxYAMLBytes+1)))),
	}
	for what, err := range inputs {
		var decodeError *codec.DecodeError
		require.ErrorAs(t, err, &decodeError, what)
	}
}

func (holdsChannel) String() string { return "" }

func panicOf(call func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	call()
	return nil
}
