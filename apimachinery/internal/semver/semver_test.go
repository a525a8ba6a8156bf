package semver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/internal/semver"
)

func TestCompare(t *testing.T) {
	ordered := []string{"0.0.0", "0.0.1-1", "0.0.1-2", "0.0.1-a", "0.0.1-a.1", "0.0.1-b", "0.0.1", "0.1.0", "1.2.3", "1.10.0", "2.0.0"}
	for i, a := range ordered {
		for j, b := range ordered {
			v, err := semver.Parse(a)
			require.NoError(t, err)
			w, err := semver.Parse(b + "+build.1")
			require.NoError(t, err)
			switch c := v.Compare(w); {
			case i < j:
				require.Negative(t, c, "%s, %s", a, b)
			case i > j:
				require.Positive(t, c, "%s, %s", a, b)
			default:
				require.Zero(t, c)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	for _, s := range []string{"", "1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.x", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+", "1.2.3+a_b", "1.2.99999999999999999999", "-1.2.3"} {
		_, err := semver.Parse(s)
		require.Error(t, err, s)
	}
}
