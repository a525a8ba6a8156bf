package registry_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
	"github.com/keelson-dev/keelson/store/storetest"
)

// The watches of the server's own loops restart with the objects of the backup and continue from there.
func TestAccessWatchOfARestoredStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := memory.New(memory.Options{})
		s := storetest.NewReplaceable(first)
		a := startOver(t, s).Access()
		add := func(name string) {
			_, err := a.Create(t.Context(), configMaps, configMap(name), registry.Write{})
			require.NoError(t, err)
		}
		add("kept")
		backup := memory.NewFromSnapshot(first.Snapshot(), memory.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var seen []string
		done := make(chan error, 1)
		go func() {
			done <- a.Watch(ctx, configMaps, "", func(e registry.Event) error {
				switch {
				case e.InitialEnd:
					seen = append(seen, "initial end")
				case e.Expired:
					seen = append(seen, "expired")
				default:
					seen = append(seen, fmt.Sprint(e.Type, " ", metav1.MetaOf(e.Object).Name))
				}
				return nil
			})
		}()
		add("lost-1")
		add("lost-2")
		synctest.Wait()
		s.Replace(backup)
		_, err := a.GetLatest(t.Context(), configMaps, key("lost-1"))
		require.Error(t, err)
		time.Sleep(10 * time.Minute) // a comparison with the store
		synctest.Wait()
		seen = seen[len(seen)-3:]
		require.Equal(t, []string{"expired", fmt.Sprint(cache.Added, " kept"), "initial end"}, seen)
		add("new")
		synctest.Wait()
		require.Equal(t, fmt.Sprint(cache.Added, " new"), seen[len(seen)-1])
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}
