package cache_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/cache"
)

func TestDecodedIsShared(t *testing.T) {
	o := &cache.Object{}
	made := 0
	decode := func(*cache.Object) (metav1.Object, error) {
		made++
		if made == 1 {
			return nil, errors.New("not yet")
		}
		return &corev1.Pod{}, nil
	}
	_, err := o.Decoded("v1", decode)
	require.EqualError(t, err, "not yet")
	first, err := o.Decoded("v1", decode) // an error is not kept
	require.NoError(t, err)
	again, err := o.Decoded("v1", decode)
	require.NoError(t, err)
	require.Same(t, first, again)
	require.Equal(t, 2, made)
	other, err := o.Decoded("v2", decode)
	require.NoError(t, err)
	require.NotSame(t, first, other)
}
