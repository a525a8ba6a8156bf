// Package flagtest tests that a program has every flag of the Kubernetes program of its name.
package flagtest

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/component"
)

// Check fails unless f has every flag in testdata/flags-1.36.txt, one a line, and docs/NAME-flags.md, where
// NAME is that of f, says what becomes of each. With KEELSON_UPDATE set it writes the page.
func Check(t *testing.T, f *pflag.FlagSet) {
	t.Helper()
	upstream, err := os.ReadFile("testdata/flags-1.36.txt")
	require.NoError(t, err)
	page, unknown := component.FlagTable(f, strings.Fields(string(upstream)), "KEELSON_UPDATE=1 go test ./examples/"+f.Name()+" -run "+t.Name())
	require.Empty(t, unknown)
	file := "../../docs/" + f.Name() + "-flags.md"
	if os.Getenv("KEELSON_UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, page, string(have))
}
