package deep_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/codectest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func TestDeepCopySharesNothing(t *testing.T) {
	for _, seed := range codectest.Seeds(t, 300) {
		var v codectest.Shape
		codectest.Filler(seed).Fuzz(&v)
		c := codec.DeepCopy(&v)
		require.True(t, codec.Equal(&v, c), "seed %d", seed)
		require.Equal(t, &v, c, "seed %d", seed)
		codectest.RequireDisjoint(t, reflect.ValueOf(&v), reflect.ValueOf(c), fmt.Sprintf("seed %d: ", seed))
		var into codectest.Shape
		codec.DeepCopyInto(&into, &v)
		require.Equal(t, v, into)
		codectest.RequireDisjoint(t, reflect.ValueOf(&v), reflect.ValueOf(&into), fmt.Sprintf("seed %d: ", seed))
	}
}

type cloner interface{ Clone() any }

// object copies itself the way runtime.Object does.
type object struct{ N []int }

func (o *object) DeepCopyObject() any { return &object{N: append([]int{99}, o.N...)} }
func (o *object) Clone() any          { return nil }

// labelled copies itself the way generated code does.
type labelled struct{ Name string }

func (l *labelled) DeepCopyInto(out *labelled) { *out = labelled{Name: l.Name + " copied"} }

func TestCopyOfInterfaces(t *testing.T) {
	v := struct {
		A any
		I cloner
		M map[string]any
	}{A: []int{1}, I: &object{N: []int{2}}, M: map[string]any{"t": &labelled{"x"}, "v": map[string]any{"l": []any{int64(1)}}}}
	c := codec.DeepCopy(v)
	require.Equal(t, []int{99, 2}, c.I.(*object).N)
	require.Equal(t, &labelled{"x copied"}, c.M["t"])
	c.A.([]int)[0] = 5
	require.Equal(t, 1, v.A.([]int)[0])
	require.Equal(t, v.M["v"], c.M["v"])

	var obj metav1.Object = &corev1.Pod{}
	obj.SetName("p")
	got := codec.DeepCopy(obj)
	require.Equal(t, obj, got)
	require.NotSame(t, obj, got)
	require.Nil(t, codec.DeepCopy[*corev1.Pod](nil))
	require.Nil(t, codec.DeepCopy[metav1.Object](nil))
	require.Equal(t, map[string]any{"a": nil}, codec.DeepCopyJSON(map[string]any{"a": nil}))
}
