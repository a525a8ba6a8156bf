package codec_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/codectest"
)

// TestEveryBuiltinType fills built-in types, each seed another, with random content and
// takes them through all forms.
func TestEveryBuiltinType(t *testing.T) {
	types := codectest.BuiltinTypes()
	for _, typ := range types {
		_, err := codec.PlanOf(typ)
		require.NoError(t, err)
	}
	for _, seed := range codectest.Seeds(t, 8*len(types)) {
		v := reflect.New(types[seed%int64(len(types))])
		codectest.APIFiller(seed).Fuzz(v.Interface())
		everyForm(t, seed, v)
	}
}

func everyForm(t *testing.T, seed int64, v reflect.Value) {
	obj := v.Interface()
	want, err := json.Marshal(obj)
	require.NoError(t, err)
	got, err := codec.Marshal(obj)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "seed %d", seed)

	back := reflect.New(v.Type().Elem()).Interface()
	issues, err := codec.UnmarshalOptions(got, back, codec.DecodeOptions{Strict: true})
	require.NoError(t, err, "seed %d", seed)
	require.Empty(t, issues, "seed %d", seed)
	again, err := codec.Marshal(back)
	require.NoError(t, err)
	require.Equal(t, string(want), string(again), "seed %d", seed)

	c := codec.DeepCopy(obj)
	require.True(t, codec.Equal(obj, c), "seed %d", seed)
	codectest.RequireDisjoint(t, v, reflect.ValueOf(c), "")

	// The first pass normalizes what protobuf does not distinguish (nil and empty
	// bytes in maps, nil items); from then on nothing may change.
	body, err := codec.MarshalProto(obj)
	require.NoError(t, err, "seed %d", seed)
	first, second := reflect.New(v.Type().Elem()).Interface(), reflect.New(v.Type().Elem()).Interface()
	require.NoError(t, codec.UnmarshalProto(body, first), "seed %d", seed)
	body, err = codec.MarshalProto(first)
	require.NoError(t, err)
	require.NoError(t, codec.UnmarshalProto(body, second), "seed %d", seed)
	again, err = codec.MarshalProto(second)
	require.NoError(t, err)
	require.Equal(t, body, again, "seed %d", seed)
	require.True(t, codec.Equal(first, second), "seed %d", seed)
}
