package defaults_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/defaults"
)

func TestDefaults(t *testing.T) {
	var s struct {
		Policy  *string
		Zero    *int
		Count   int
		Chosen  int
		Allowed *bool
	}
	s.Zero, s.Chosen = new(0), 7
	defaults.IfNil(&s.Policy, "Always")
	defaults.IfNil(&s.Zero, 5)
	defaults.IfZero(&s.Count, 5)
	defaults.IfZero(&s.Chosen, 5)
	require.Equal(t, "Always", *s.Policy)
	require.Equal(t, 0, *s.Zero, "set, to the zero value")
	require.Equal(t, 5, s.Count)
	require.Equal(t, 7, s.Chosen)
	// Two fields do not share the value.
	var other *string
	defaults.IfNil(&other, *s.Policy)
	*other = "Never"
	require.Equal(t, "Always", *s.Policy)
	require.Nil(t, s.Allowed)
}
