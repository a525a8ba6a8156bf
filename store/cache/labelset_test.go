package cache_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
)

func TestLabelSets(t *testing.T) {
	for _, seed := range seeds.Of(t, 3) {
		random := seeds.Stream(seed, 1)
		s := memory.New(memory.Options{})
		for i := range 200 {
			text := fmt.Sprintf("uid-%d;", i)
			for k := range random.IntN(5) {
				text += fmt.Sprintf("k%d=v%d,", k, random.IntN(20))
			}
			_, err := s.Create(t.Context(), fmt.Sprintf("/pods/ns/p%d", i), []byte(text+";"), none)
			require.NoError(t, err)
		}
		f := start(t, s, cache.Options{})
		<-f.c.Ready()
		looked, needless := 0, 0
		for o := range f.c.Snapshot().Range("", "") {
			var all cache.LabelSet
			for k, v := range o.Attrs.Labels {
				all = all.With(k, v)
				require.True(t, o.MayHave(cache.LabelSet(0).With(k, v)), "seed %d", seed)
			}
			require.True(t, o.MayHave(all), "seed %d", seed)
			if len(o.Attrs.Labels) > 0 {
				looked++
				if o.MayHave(cache.LabelSet(0).With("k0", "other")) {
					needless++
				}
			}
		}
		require.Less(t, needless, looked/4, "seed %d: most objects are ruled out", seed)
	}
}
