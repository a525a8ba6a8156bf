package labels_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/labels"
)

// A selector comes from a URL: its valid parts cost no memory besides their own.
func TestParseOfManyValuesAllocatesLittle(t *testing.T) {
	var b strings.Builder
	b.WriteString("k in (")
	for i := range 20000 {
		fmt.Fprintf(&b, "v%d,", i)
	}
	b.WriteString("z)")
	text := b.String()
	var s labels.Selector
	allocs := testing.AllocsPerRun(5, func() { s = labels.MustParse(text) })
	require.Less(t, allocs, 100.0)
	require.True(t, s.Matches(map[string]string{"k": "v19999"}))
	require.False(t, s.Matches(map[string]string{"k": "v20000"}))
}
