package metav1_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// Any previous value is replaced; nothing is allocated if it is equal already.
func TestSetGroupVersionKind(t *testing.T) {
	kinds := []schema.GroupVersionKind{{}, {Kind: "K"}, {Version: "v1", Kind: "K"}, {Group: "a.test", Version: "v1", Kind: "K"}, {Group: "a.test", Version: "v2"}, {Group: "b.test", Version: "v1"}, {Group: "a.test"}}
	for _, before := range []string{"", "v1", "a.test/v1", "a.test/v2", "a.test/v", "a/b/c", "a.test1v1", "/v1", "a.test/"} {
		for _, gvk := range kinds {
			m := metav1.TypeMeta{APIVersion: before, Kind: "Old"}
			m.SetGroupVersionKind(gvk)
			require.Equal(t, metav1.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}, m, "%q then %v", before, gvk)
			require.Zero(t, testing.AllocsPerRun(10, func() { m.SetGroupVersionKind(gvk) }))
		}
	}
}
