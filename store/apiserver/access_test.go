package apiserver_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/registry"
	"github.com/stretchr/testify/require"
)

func TestAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, apiserver.Options{})
		gvr := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
		s.do("POST", configMaps, configMap("a", "k", "0")).ok(201)
		ctx, cancel := context.WithCancel(t.Context())
		var seen []string
		done := make(chan error, 1)
		go func() {
			done <- s.Access().Watch(ctx, gvr, "default", func(e registry.Event) error {
				name := ""
				if e.Object != nil {
					name = e.Object.GetName()
				}
				seen = append(seen, e.Type.String()+" "+name)
				return nil
			})
		}()
		synctest.Wait()
		key := types.NamespacedName{Namespace: "default", Name: "a"}
		_, err := s.Access().Update(t.Context(), gvr, key, func(obj metav1.Object) error {
			obj.SetLabels(map[string]string{"x": "y"})
			return nil
		}, registry.Write{})
		require.NoError(t, err)
		synctest.Wait()
		list, err := s.Access().List(t.Context(), gvr, "default", labels.MustParse("x=y"))
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.NoError(t, s.Access().Delete(t.Context(), gvr, key, nil, registry.Write{}))
		_, err = s.Access().GetLatest(t.Context(), gvr, key)
		require.True(t, apierrors.IsNotFound(err))
		synctest.Wait()
		require.Equal(t, []string{"ADDED a", "BOOKMARK ", "MODIFIED a", "DELETED a"}, seen)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		s.stop()
	})
}
