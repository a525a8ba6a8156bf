package registry_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

// Follow begins after a revision, or with all objects if the changes since then are no longer known.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		r := startOver(t, s)
		a := r.Access()
		add := func(name string) int64 {
			obj, err := a.Create(t.Context(), configMaps, configMap(name), registry.Write{})
			require.NoError(t, err)
			var revision int64
			_, err = fmt.Sscan(obj.GetResourceVersion(), &revision)
			require.NoError(t, err)
			return revision
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		follow := func(a registry.Access, from int64) *[]string {
			var seen []string
			go func() {
				_ = a.Follow(ctx, configMaps, "", from, func(e registry.Event) error {
					switch {
					case e.Expired:
						seen = append(seen, "expired")
					case e.InitialEnd:
						seen = append(seen, "initial end")
					default:
						seen = append(seen, fmt.Sprint(e.Type, " ", metav1.MetaOf(e.Object).Name))
					}
					return nil
				})
			}()
			synctest.Wait()
			return &seen
		}
		from := add("a")
		seen := follow(a, from)
		require.Empty(t, *seen)
		add("b")
		synctest.Wait()
		require.Equal(t, []string{"ADDED b"}, *seen)
		require.Equal(t, *seen, *follow(a, from))

		fork := startOver(t, memory.NewFromSnapshot(s.Snapshot(), memory.Options{})).Access()
		seen = follow(fork, from) // compacted in the fork
		require.Equal(t, []string{"expired", "ADDED a", "ADDED b", "initial end"}, *seen)
		cancel()
	})
}
