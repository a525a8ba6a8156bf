package webhook

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/patch"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func TestPatchFor(t *testing.T) {
	for name, v := range map[string]struct{ raw, before, after, want string }{
		"nothing":                             {`{"a":1,"x":2}`, `{"a":1}`, `{"a":1}`, ``},
		"a zero value that raw lacks":         {`{}`, `{"a":0}`, `{"a":3}`, `[{"op":"add","path":"/a","value":3}]`},
		"a zero value that stays":             {`{}`, `{"a":0,"b":0}`, `{"a":0,"b":1}`, `[{"op":"add","path":"/b","value":1}]`},
		"removed":                             {`{"a":1,"x":2}`, `{"a":1}`, `{}`, `[{"op":"remove","path":"/a"}]`},
		"made null":                           {`{"a":1}`, `{"a":1}`, `{"a":null}`, `[{"op":"replace","path":"/a","value":null}]`},
		"keys are escaped":                    {`{"m":{}}`, `{"m":{}}`, `{"m":{"a/b~c":1}}`, `[{"op":"add","path":"/m/a~1b~0c","value":1}]`},
		"another way to write the same":       {`{"q":"1000m","a":1}`, `{"q":"1","a":1}`, `{"q":"1","a":2}`, `[{"op":"replace","path":"/a","value":2}]`},
		"an element changes, its rest stays":  {`{"l":[{"a":1,"x":1},{"a":2}]}`, `{"l":[{"a":1},{"a":2}]}`, `{"l":[{"a":9},{"a":2}]}`, `[{"op":"replace","path":"/l/0/a","value":9}]`},
		"an element is put in, the rest stay": {`{"l":[{"a":1,"x":1}]}`, `{"l":[{"a":1}]}`, `{"l":[{"a":0},{"a":1}]}`, `[{"op":"replace","path":"/l","value":[{"a":0},{"a":1,"x":1}]}]`},
	} {
		got, err := patchFor([]byte(v.raw), []byte(v.before), []byte(v.after))
		require.NoError(t, err, name)
		if v.want == "" {
			require.Nil(t, got, name)
			continue
		}
		require.JSONEq(t, v.want, string(got), name)
	}
}

// randomValue is a tree of maps, lists and numbers.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(6); {
	case depth > 0 && n < 3:
		m := map[string]any{}
		for range r.IntN(4) {
			m[string(rune('a'+r.IntN(4)))] = randomValue(r, depth-1)
		}
		return m
	case depth > 0 && n == 3:
		l := make([]any, r.IntN(4))
		for i := range l {
			l[i] = randomValue(r, depth-1)
		}
		return l
	case n == 4:
		return nil
	}
	return float64(r.IntN(3))
}

// The changes to a type with all fields are applied exactly.
func TestPatchesOfRandomChanges(t *testing.T) {
	for _, seed := range seeds.Of(t, 2000) {
		r := seeds.Rand(seed)
		text := func() []byte {
			data, err := json.Marshal(map[string]any{"a": randomValue(r, 3), "b": randomValue(r, 3)})
			require.NoError(t, err)
			return data
		}
		before, after := text(), text()
		steps, err := patchFor(before, before, after)
		require.NoError(t, err, "seed %d", seed)
		got := before
		if steps != nil {
			got, err = patch.JSON(before, steps)
			require.NoError(t, err, "seed %d: %s on %s", seed, steps, before)
		}
		require.JSONEq(t, string(after), string(got), "seed %d: %s on %s", seed, steps, before)
	}
}

func FuzzPatchFor(f *testing.F) {
	f.Add(`{"a":[1,{"b":2}]}`, `{"a":[1,{"b":3}],"c":null}`)
	f.Add(`[]`, `{}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		if !json.Valid([]byte(before)) || !json.Valid([]byte(after)) {
			return
		}
		steps, err := patchFor([]byte(before), []byte(before), []byte(after))
		if err == nil && steps != nil && !json.Valid(steps) {
			t.Fatalf("%s", steps)
		}
	})
}
