package ptr_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/internal/ptr"
)

func TestDeref(t *testing.T) {
	require.Equal(t, "http", ptr.Deref(new("http")))
	require.Empty(t, ptr.Deref[string](nil))
	require.False(t, ptr.Deref[bool](nil))
}
