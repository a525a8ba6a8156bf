package interop

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// Every built-in kind with random values: upstream decodes our CBOR of an object, and we decode upstream's.
func TestCBORParity(t *testing.T) {
	known := upstreamScheme(t).AllKnownTypes()
	tested := 0
	for _, info := range api.Scheme().All() {
		for k, typ := range known {
			if k.Group != info.GVK.Group || k.Version != info.GVK.Version || k.Kind != info.GVK.Kind {
				continue
			}
			tested++
			t.Run(info.GVK.GroupVersion().String()+" "+info.GVK.Kind, func(t *testing.T) {
				t.Parallel()
				for seed := range 10 {
					cborParity(t, uint64(seed), typ, info.New())
				}
			})
		}
	}
	require.Greater(t, tested, 60)
}

func cborParity(t *testing.T, seed uint64, typ reflect.Type, ours any) {
	object := newOf(typ)
	filler(seed).Fuzz(object)
	text, err := codec.Marshal(object)
	require.NoError(t, err)
	theirs := newOf(typ)
	data, err := cbor.Marshal(object)
	require.NoError(t, err)
	require.NoError(t, direct.Unmarshal(data, theirs), "seed %d", seed)
	again, err := codec.Marshal(theirs)
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(again), "seed %d: upstream reads something else", seed)

	data, err = direct.Marshal(object)
	require.NoError(t, err)
	issues, err := cbor.Unmarshal(data, ours, codec.DecodeOptions{Strict: true})
	require.NoError(t, err, "seed %d", seed)
	require.Empty(t, issues)
	again, err = codec.Marshal(ours)
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(again), "seed %d: we read something else", seed)
}
