package builtin_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/builtin"
)

// TestKindsDocument: docs/kinds.md has every kind that is served, and names the controllers there are.
func TestKindsDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/kinds.md")
	require.NoError(t, err)
	documented, named := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for kind := range strings.SplitSeq(cells[1], ",") {
			kind = strings.TrimPrefix(strings.TrimSpace(kind), "events.k8s.io ")
			documented[kind] = true
		}
		for _, m := range regexp.MustCompile("`([a-z-]+-controller)`").FindAllStringSubmatch(cells[2], -1) {
			named[m[1]] = true
		}
	}
	for _, info := range gatedSchemes().known.All() {
		require.True(t, documented[info.GVK.Kind], "docs/kinds.md lacks %s", info.GVK.Kind)
	}
	for name := range named {
		require.True(t, slices.Contains(builtin.Names(), name), "docs/kinds.md names %s, which does not exist", name)
	}
	for _, name := range builtin.Names() {
		require.True(t, named[name], "docs/kinds.md says nowhere what %s is for", name)
	}
}
