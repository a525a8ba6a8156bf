package jsonpath_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/jsonpath"
)

func object() any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app.kubernetes.io/name": "web"}},
		"spec":     map[string]any{"replicas": int64(3), "items": []any{"a", "b", "c", "d"}},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "weight": int64(2)},
			map[string]any{"type": "Synced", "status": "False", "weight": 0.5},
		}},
	}
}

func TestFind(t *testing.T) {
	for path, want := range map[string][]any{
		".spec.replicas":     {int64(3)},
		"{.spec.replicas}":   {int64(3)},
		"$.spec['replicas']": {int64(3)},
		"spec.replicas":      {int64(3)},
		".metadata.labels['app.kubernetes.io/name']":      {"web"},
		`.metadata.labels.app\.kubernetes\.io/name`:       {"web"},
		`.status.conditions[?(@.type=="Ready")].status`:   {"True"},
		`.status.conditions[?(@.type != 'Ready')].status`: {"False"},
		`.status.conditions[?(@.weight > 1)].type`:        {"Ready"},
		`.status.conditions[?(@.weight <= 0.5)].type`:     {"Synced"},
		`.status.conditions[?(@.weight)].type`:            {"Ready", "Synced"},
		`.status.conditions[?(@.none)].type`:              nil,
		".status.conditions[*].type":                      {"Ready", "Synced"},
		".status.conditions[-1].type":                     {"Synced"},
		".spec.items[1:3]":                                {"b", "c"},
		".spec.items[::2]":                                {"a", "c"},
		".spec.items[-2:]":                                {"c", "d"},
		".spec.items[0,3]":                                {"a", "d"},
		"..type":                                          {"Ready", "Synced"},
		".spec.items[9]":                                  nil,
		".spec.none.deeper":                               nil,
		".spec.replicas.deeper":                           nil,
		".status.conditions[0]['type','status']":          {"Ready", "True"},
	} {
		t.Run(path, func(t *testing.T) {
			p, err := jsonpath.Parse(path)
			require.NoError(t, err)
			require.Equal(t, want, p.Find(object()))
			first, ok := p.First(object())
			require.Equal(t, len(want) > 0, ok)
			if ok {
				require.Equal(t, want[0], first)
			}
		})
	}
}

func TestSyntaxErrorsNameThePlace(t *testing.T) {
	for _, path := range []string{"[", ".a[", ".a[b]", ".a['b", ".a[?(@.x==1]", ".a[?(@.x==)]", ".a b", "..", ".a[0:2:-1]", ".a[1 2]"} {
		_, err := jsonpath.Parse(path)
		var syntax *jsonpath.SyntaxError
		require.ErrorAs(t, err, &syntax, path)
		require.LessOrEqual(t, syntax.Offset, len(path))
	}
}

func TestFields(t *testing.T) {
	p, err := jsonpath.Parse(".spec.x['y']")
	require.NoError(t, err)
	names, ok := p.Fields()
	require.True(t, ok)
	require.Equal(t, []string{"spec", "x", "y"}, names)
	p, err = jsonpath.Parse(".spec.x[0]")
	require.NoError(t, err)
	_, ok = p.Fields()
	require.False(t, ok)
}

func FuzzParse(f *testing.F) {
	f.Add(`.status.conditions[?(@.type=="Ready")].status`)
	f.Add("{..a[0:2:1]['x','y']}")
	f.Fuzz(func(_ *testing.T, path string) {
		if p, err := jsonpath.Parse(path); err == nil {
			p.Find(object())
			p.First(object())
		}
	})
}

func ExampleParse() {
	p, _ := jsonpath.Parse(`.status.conditions[?(@.type=="Ready")].status`)
	fmt.Println(p.First(object()))
	// Output: True true
}
