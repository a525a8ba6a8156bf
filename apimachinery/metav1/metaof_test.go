package metav1_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func TestMetaOf(t *testing.T) {
	u := &metav1.Unstructured{}
	metav1.MetaOf(u).Name = "x"
	require.Equal(t, "x", u.Name)
	require.PanicsWithValue(t, "metav1: a nil Object has no ObjectMeta", func() { metav1.MetaOf(nil) })
}
