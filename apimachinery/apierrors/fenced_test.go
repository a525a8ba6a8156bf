package apierrors_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

func TestFencedIsNoConflict(t *testing.T) {
	err := fmt.Errorf("write: %w", apierrors.New(409, apierrors.ReasonFenced, "replaced"))
	require.True(t, apierrors.IsFenced(err))
	require.False(t, apierrors.IsConflict(err), "or it would be tried again")
	require.False(t, apierrors.IsFenced(nil))
}
