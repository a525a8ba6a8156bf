package job

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func TestIndexesText(t *testing.T) {
	for text, want := range map[string]indexes{
		"": nil, "0": {0}, "0,1": {0, 1}, "0-2": {0, 1, 2}, "1,3-5,7": {1, 3, 4, 5, 7}, "0,1,4-6,8,9": {0, 1, 4, 5, 6, 8, 9},
	} {
		require.Equal(t, want, parseIndexes(text, 100))
		require.Equal(t, text, want.String())
	}
	require.Equal(t, indexes{1, 2}, parseIndexes("1-9", 3))
	require.Equal(t, indexes{4}, parseIndexes("x,4,-,5-3", 100))
}

func TestIndexesRoundTrip(t *testing.T) {
	for _, seed := range seeds.Of(t, 2000) {
		r := seeds.Rand(seed)
		var x indexes
		for i := range int32(40) {
			if r.IntN(2) == 0 {
				x = append(x, i)
			}
		}
		require.True(t, slices.Equal(x, parseIndexes(x.String(), 40)), "seed %d: %v", seed, x)
	}
}

func TestSuccessPolicyRules(t *testing.T) {
	rules := func(r ...batchv1.SuccessPolicyRule) *batchv1.SuccessPolicy {
		return &batchv1.SuccessPolicy{Rules: r}
	}
	_, ok := meets(rules(batchv1.SuccessPolicyRule{SucceededIndexes: new("0-2")}), indexes{0, 1}, 5)
	require.False(t, ok)
	_, ok = meets(rules(batchv1.SuccessPolicyRule{SucceededIndexes: new("0-2")}), indexes{0, 1, 2, 4}, 5)
	require.True(t, ok)
	i, ok := meets(rules(batchv1.SuccessPolicyRule{SucceededIndexes: new("3")}, batchv1.SuccessPolicyRule{SucceededCount: new(int32(2))}), indexes{0, 4}, 5)
	require.True(t, ok)
	require.Equal(t, 1, i)
}
