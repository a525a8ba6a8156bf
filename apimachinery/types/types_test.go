package types_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

func TestNamespacedNameOrder(t *testing.T) {
	keys := []types.NamespacedName{{Namespace: "b", Name: "a"}, {Name: "z"}, {Namespace: "a", Name: "b"}, {Namespace: "a", Name: "a"}}
	slices.SortFunc(keys, types.NamespacedName.Compare)
	require.Equal(t, "[/z a/a a/b b/a]", fmt.Sprint(keys))
	require.Zero(t, keys[0].Compare(keys[0]))
}

func TestKeysWithoutNamespaceDoNotCollide(t *testing.T) {
	require.NotEqual(t, types.NamespacedName{Name: "a"}.String(), types.NamespacedName{Namespace: "a"}.String())
}

func ExampleNamespacedName() {
	seen := map[types.NamespacedName]bool{{Namespace: "default", Name: "web"}: true}
	key := types.NamespacedName{Namespace: "default", Name: "web"}
	fmt.Println(key, seen[key])
	// Output: default/web true
}
