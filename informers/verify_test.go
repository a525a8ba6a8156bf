package informers

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
)

func TestVerify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		set := NewSet(s.Conn(t, rest.Options{}), SetOptions{})
		inf := For(set, Options[*corev1.ConfigMap]{Namespaces: []string{"default"}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = set.Run(ctx) }()
		defer func() { cancel(); <-done }()
		cms := client.For[*corev1.ConfigMap](set.Conn())
		for _, name := range []string{"a", "b", "c"} {
			cm := &corev1.ConfigMap{}
			cm.Namespace, cm.Name = "default", name
			_, err := cms.Create(ctx, cm)
			require.NoError(t, err)
			require.NoError(t, inf.Verify(ctx))
		}
		synctest.Wait()
		k := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "default", Name: name} }
		inf.core.mu.Lock()
		other := *newObject[*corev1.ConfigMap](inf.core.base(k("b")).encoded())
		other.version = "1"
		inf.core.putBase(&other)
		extra := *newObject[*corev1.ConfigMap](inf.core.base(k("a")).encoded())
		extra.key.Name = "z"
		inf.core.putBase(&extra)
		inf.core.deleteBase(k("a"))
		inf.core.mu.Unlock()
		var bad *InconsistentError
		require.ErrorAs(t, inf.Verify(ctx), &bad)
		require.Equal(t, []types.NamespacedName{k("a")}, bad.Missing)
		require.Equal(t, []types.NamespacedName{k("b")}, bad.Different)
		require.Equal(t, []types.NamespacedName{k("z")}, bad.Extra)
	})
}
