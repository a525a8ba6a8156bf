package metav1_test

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func TestCompareResourceVersions(t *testing.T) {
	for _, seed := range seeds.Of(t, 2000) {
		r := seeds.Rand(seed)
		number := func() *big.Int {
			n := new(big.Int).SetUint64(r.Uint64()>>r.IntN(64) + 1)
			return n.Exp(n, big.NewInt(int64(1+r.IntN(3))), nil)
		}
		a, b := number(), number()
		if r.IntN(3) == 0 {
			b = new(big.Int).Add(a, big.NewInt(int64(r.IntN(2))))
		}
		got, err := metav1.CompareResourceVersions(a.String(), b.String())
		require.Equal(t, got < 0, metav1.IsOlder(a.String(), b.String()))
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, a.Cmp(b), got, "seed %d: %s and %s", seed, a, b)
	}
	for _, bad := range []string{"", "0", "01", "-1", "+1", "1a", " 1", "1.0", "١"} {
		require.False(t, metav1.IsOlder(bad, "1"))
		_, err := metav1.CompareResourceVersions(bad, "1")
		require.Error(t, err, bad)
		_, err = metav1.CompareResourceVersions("1", bad)
		require.Error(t, err, bad)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = metav1.CompareResourceVersions("123456", "123457") }))
}

func ExampleCompareResourceVersions() {
	c, err := metav1.CompareResourceVersions("999", "1000")
	fmt.Println(c < 0, err)
	// Output: true <nil>
}
