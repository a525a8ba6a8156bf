package wake_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/internal/wake"
)

func TestASignalSetTwiceWakesOnce(t *testing.T) {
	s := wake.New()
	require.Empty(t, s)
	s.Set()
	s.Set()
	<-s
	require.Empty(t, s)
	s.Set()
	<-s
}
