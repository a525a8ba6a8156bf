package interop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	uplabels "k8s.io/apimachinery/pkg/labels"

	"github.com/keelson-dev/keelson/apimachinery/labels"
)

// BenchmarkHugeSelector parses selectors of about 100 kB, as a request may hold, and matches 100 objects,
// with this library and with upstream's.
func BenchmarkHugeSelector(b *testing.B) {
	numbered := func(format string, n int) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, ",")
	}
	object := map[string]string{"app": "v20000", "tier": "front", "release": "stable"}
	for _, c := range []struct{ name, text string }{
		{"values", "app notin (" + numbered("v%d", 12000) + ")"},
		{"requirements on one key", numbered("app!=v%d", 9000)},
		{"requirements on many keys", numbered("!k%d", 12000)},
	} {
		b.Run(c.name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := labels.Parse(c.text)
				require.NoError(b, err)
				for range 100 {
					if !s.Matches(object) {
						b.Fatal("no match")
					}
				}
			}
		})
		b.Run(c.name+"/upstream", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := uplabels.Parse(c.text)
				require.NoError(b, err)
				for range 100 {
					if !s.Matches(uplabels.Set(object)) {
						b.Fatal("no match")
					}
				}
			}
		})
	}
}
