package cel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/cel"
)

func TestNames(t *testing.T) {
	for name, identifier := range map[string]string{
		"": "", "plain": "plain", "a.b": "a__dot__b", "a-b/c": "a__dash__b__slash__c", "in": "__in__", "a__b": "a__underscores__b", "__": "__underscores__", "inner": "inner", "a_b": "a_b",
	} {
		require.Equal(t, identifier, cel.Escape(name))
		back, ok := cel.Unescape(identifier)
		require.True(t, ok, identifier)
		require.Equal(t, name, back)
	}
	for _, identifier := range []string{"a__b", "__", "a__dot_"} {
		name, ok := cel.Unescape(identifier)
		require.True(t, ok)
		require.Equal(t, identifier, name)
	}
	for _, identifier := range []string{"__what__", "a__in__"} {
		_, ok := cel.Unescape(identifier)
		require.False(t, ok, identifier)
	}
}

// A name that is written with escapes is read as it was.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"", "a.b", "in", "__", "a_b", "-/"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		back, ok := cel.Unescape(cel.Escape(name))
		if strings.Contains(name, "_") {
			return // beside an escape one is ambiguous
		}
		require.True(t, ok)
		require.Equal(t, name, back)
	})
}
