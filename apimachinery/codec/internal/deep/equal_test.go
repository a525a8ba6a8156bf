package deep_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

func TestEqualOfJSONValues(t *testing.T) {
	values := []any{nil, true, false, int64(1), int64(2), 1.0, 1.5, "", "1", []any{}, []any{int64(1)}, []any{int64(1), nil}, []any{[]any{int64(1)}},
		map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": []any{map[string]any{"b": 1.5}}}, map[string]any{"a": []any{map[string]any{"b": true}}}}
	for i, a := range values {
		for k, b := range values {
			require.Equal(t, i == k, codec.Equal(a, codec.DeepCopy(b)), "%v and %v", a, b)
			require.Equal(t, i == k, codec.Equal([]any{a}, []any{b}), "%v and %v in lists", a, b)
		}
	}
	require.True(t, codec.Equal([]any(nil), []any{}))
	deep := []any{}
	for range 20_000 {
		deep = []any{deep}
	}
	require.False(t, codec.Equal(deep, deep), "nested too deeply to compare")
}

func TestEqualIsSemantic(t *testing.T) {
	a := &corev1.Pod{}
	a.CreationTimestamp = metav1.Time{Time: time.Unix(100, 0).UTC()}
	a.Labels = map[string]string{}
	a.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1000m")}}}}
	b := codec.DeepCopy(a)
	b.CreationTimestamp = metav1.Time{Time: time.Unix(100, 0).In(time.FixedZone("x", 3600))}
	b.Labels, b.Finalizers = nil, []string{}
	b.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("1")
	require.True(t, codec.Equal(a, b))
	require.True(t, codec.Equal(*a, *b))
	require.False(t, codec.Equal(a, *b))
	b.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("2")
	require.False(t, codec.Equal(a, b))
	require.False(t, codec.Equal(a, nil))
	require.True(t, codec.Equal(nil, nil))
	require.False(t, codec.Equal(&labelled{}, (*labelled)(nil)))
	require.False(t, codec.Equal(map[string]any{"a": nil}, map[string]any{"b": nil}))
}
