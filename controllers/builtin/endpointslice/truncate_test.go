package endpointslice

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Of more than 1,000 addresses ready ones are kept first, and each subset keeps its share.
func TestTruncate(t *testing.T) {
	for _, c := range []struct{ before, after [][2]int }{
		{[][2]int{{600, 400}}, nil},
		{[][2]int{{800, 400}}, [][2]int{{800, 200}}},
		{[][2]int{{1200, 400}}, [][2]int{{1000, 0}}},
		{[][2]int{{1000, 1}}, [][2]int{{1000, 0}}},
		{[][2]int{{200, 300}, {100, 600}}, [][2]int{{200, 234}, {100, 466}}},
		{[][2]int{{900, 5}, {600, 5}, {0, 3}}, [][2]int{{600, 0}, {400, 0}, {0, 0}}},
	} {
		var subsets []corev1.EndpointSubset
		for _, n := range c.before {
			subsets = append(subsets, corev1.EndpointSubset{Addresses: make([]corev1.EndpointAddress, n[0]), NotReadyAddresses: make([]corev1.EndpointAddress, n[1])})
		}
		require.Equal(t, c.after != nil, truncate(subsets), "%v", c.before)
		var got [][2]int
		for _, s := range subsets {
			got = append(got, [2]int{len(s.Addresses), len(s.NotReadyAddresses)})
		}
		if c.after == nil {
			c.after = c.before
		}
		require.Equal(t, c.after, got, "%v", c.before)
	}
}
