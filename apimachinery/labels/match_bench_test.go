package labels_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/labels"
)

// Selectors of 100 kB, as a URL may hold, of the shapes that cost most: values of one requirement, and
// requirements on one key.
var hugeSelectors = map[string]string{
	"in":        "app in (" + numbered("v%d", ",", 12000) + ")",
	"notin":     "app notin (" + numbered("v%d", ",", 12000) + ")",
	"one-key":   numbered("app!=v%d", ",", 9000),
	"many-keys": numbered("!k%d", ",", 12000),
}

func numbered(format, between string, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, between)
}

// BenchmarkParseHuge parses a selector of 100 kB.
func BenchmarkParseHuge(b *testing.B) {
	for name, text := range hugeSelectors {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				labels.MustParse(text)
			}
		})
	}
}

// BenchmarkMatchHuge matches an object that such a selector selects, or whose mismatch is found last.
func BenchmarkMatchHuge(b *testing.B) {
	object := map[string]string{"app": "v20000", "tier": "front", "release": "stable"}
	for name, text := range hugeSelectors {
		s := labels.MustParse(text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Matches(object)
			}
		})
	}
}
