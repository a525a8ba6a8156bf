package interop

import (
	"bytes"
	stdjson "encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// Every built-in kind and its list with random values: we decode what upstream encodes and encode it to the
// same bytes, in JSON and in protobuf, and our codec treats upstream's own types as upstream's codec does.
func TestCodecParity(t *testing.T) {
	up := upstreamScheme(t)
	known := up.AllKnownTypes()
	all := seeds.PerKind(t, 200)
	tested := 0
	kinds := api.Scheme().Clone()
	for _, g := range api.AllGated() {
		require.NoError(t, g.AddToScheme(kinds))
	}
	for _, info := range kinds.All() {
		for _, gvk := range []struct {
			kind string
			ours func() any
		}{
			{info.GVK.Kind, func() any { return info.New() }},
			{info.GVK.Kind + "List", info.NewList},
		} {
			var typ reflect.Type
			for k, kt := range known {
				if k.Group == info.GVK.Group && k.Version == info.GVK.Version && k.Kind == gvk.kind {
					typ = kt
				}
			}
			if typ == nil {
				continue // kinds upstream keeps in modules of their own, and lists that do not exist
			}
			tested++
			t.Run(info.GVK.GroupVersion().String()+" "+gvk.kind, func(t *testing.T) {
				t.Parallel()
				rounds := all
				if gvk.kind != info.GVK.Kind {
					// A list has three objects of a type that is also tested alone.
					rounds = all[:max(1, len(all)/10)]
				}
				for _, seed := range rounds {
					parity(t, seed, typ, gvk.ours)
					if t.Failed() {
						t.Fatalf("seed %d", seed)
					}
				}
			})
		}
	}
	require.Greater(t, tested, 120)
}

func parity(t *testing.T, seed uint64, typ reflect.Type, newOurs func() any) {
	up := newOf(typ)
	filler(seed).Fuzz(up)
	inJSON := func(v any) []byte {
		b, err := stdjson.Marshal(v)
		require.NoError(t, err)
		return b
	}
	// Upstream's protobuf is also what values are compared by. Like its semantic equality it makes no
	// difference between nil and empty; it takes a twentieth of the time, without which ten thousand objects
	// of each kind would be too many.
	inProto := func(v any) []byte {
		b, err := v.(protoMessage).Marshal()
		require.NoError(t, err)
		return b
	}
	upJSON, upProto := inJSON(up), inProto(up)
	// What upstream decodes from these bytes; nil and empty are not always distinguished on the wire.
	fromJSON, fromProto := newOf(typ), newOf(typ)
	require.NoError(t, stdjson.Unmarshal(upJSON, fromJSON))
	require.NoError(t, fromProto.(protoMessage).Unmarshal(upProto))
	againProto := inProto(fromProto)

	check := func(ok bool, what string) {
		t.Helper()
		if !ok {
			t.Errorf("%s\n%.300s", what, upJSON)
		}
	}
	// Our codec on upstream's types.
	b, err := codec.Marshal(up)
	check(err == nil && bytes.Equal(b, upJSON), "JSON of an upstream type differs")
	b, err = codec.MarshalProto(up)
	check(err == nil && bytes.Equal(b, upProto), "protobuf of an upstream type differs")
	back := newOf(typ)
	err = codec.Unmarshal(upJSON, back)
	check(err == nil && bytes.Equal(inProto(back), inProto(fromJSON)), "JSON decoded into an upstream type differs")
	back = newOf(typ)
	err = codec.UnmarshalProto(upProto, back)
	check(err == nil && bytes.Equal(inProto(back), againProto), "protobuf decoded into an upstream type differs")
	c := codec.DeepCopy(up)
	check(bytes.Equal(inProto(c), upProto) && codec.Equal(c, up), "the copy of an upstream type differs")
	if seed%16 == 0 {
		check(equality.Semantic.DeepEqual(back, fromProto) && equality.Semantic.DeepEqual(c, up), "values of an upstream type differ")
	}

	// Our types: JSON in, JSON and protobuf out.
	ours := newOurs()
	issues, err := codec.UnmarshalOptions(upJSON, ours, codec.DecodeOptions{Strict: true})
	require.NoError(t, err)
	require.Empty(t, issues, "fields our type does not know")
	b, err = codec.Marshal(ours)
	check(err == nil && bytes.Equal(b, upJSON), "JSON through our type differs: "+string(b))
	b, err = codec.MarshalProto(ours)
	check(err == nil && bytes.Equal(b, inProto(fromJSON)), "protobuf from JSON differs")
	// Protobuf in, protobuf and JSON out.
	ours = newOurs()
	require.NoError(t, codec.UnmarshalProto(upProto, ours))
	b, err = codec.MarshalProto(ours)
	check(err == nil && bytes.Equal(b, againProto), "protobuf through our type differs")
	b, err = codec.Marshal(ours)
	check(err == nil && bytes.Equal(b, inJSON(fromProto)), "JSON from protobuf differs: "+string(b))
	other := codec.DeepCopy(ours)
	check(codec.Equal(ours, other), "the copy of our type differs")
}
