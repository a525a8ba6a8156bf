package component

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// --gogc is applied to the process unless its environment has GOGC.
func TestGOGC(t *testing.T) {
	before := debug.SetGCPercent(77)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	set := func(args ...string) int {
		g := GOGC(150)
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		g.Flags(f)
		require.NoError(t, f.Parse(args))
		require.NoError(t, g.Validate())
		g.Apply()
		return debug.SetGCPercent(77)
	}
	t.Setenv("GOGC", "")
	require.NoError(t, os.Unsetenv("GOGC"))
	require.Equal(t, 150, set())
	require.Equal(t, 30, set("--gogc=30"))
	t.Setenv("GOGC", "77")
	require.Equal(t, 77, set("--gogc=30"))
	require.ErrorContains(t, GOGC(0).Validate(), "--gogc=0: want 1 or more")
}
