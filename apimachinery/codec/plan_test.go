package codec_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func TestPlanHasTags(t *testing.T) {
	p, err := codec.PlanOf(reflect.TypeFor[*corev1.Pod]())
	require.NoError(t, err)
	require.Equal(t, codec.Struct, p.Kind)
	containers := p.Field("spec").Plan().Field("containers")
	require.Equal(t, "merge", containers.PatchStrategy)
	require.Equal(t, "name", containers.PatchMergeKey)
	require.Equal(t, 2, containers.Proto)
	require.Equal(t, codec.List, containers.Plan().Kind)
	require.NotNil(t, containers.Plan().Elem().Field("image"))
	require.Equal(t, codec.Map, p.Field("metadata").Plan().Field("labels").Plan().Kind)
	require.Nil(t, p.Field("Spec"))
	again, err := codec.PlanOf(reflect.TypeFor[corev1.Pod]())
	require.NoError(t, err)
	require.Same(t, p, again)
	_, err = codec.MarshalProto(&metav1.Unstructured{})
	require.ErrorIs(t, err, codec.ErrNoProto)
}
