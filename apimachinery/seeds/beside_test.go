package seeds_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// A program gets each world as a line, and its answers come back; without programs the test is skipped.
func TestBeside(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("this system has no /bin/sh, in which the program of this test is written")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "doubles"), []byte("#!/bin/sh\nwhile read -r n; do echo $((n * 2)); done\n"), 0o700))
	t.Setenv("KEELSON_PEERS", dir)
	t.Run("answers", func(t *testing.T) {
		double := seeds.Beside[int, int](t, "doubles")
		for n := range 3 {
			require.Equal(t, 2*n, double(n))
		}
	})
	t.Setenv("KEELSON_PEERS", "")
	skipped := false
	t.Run("skipped", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		seeds.Beside[int, int](t, "doubles")
	})
	require.True(t, skipped)
}
