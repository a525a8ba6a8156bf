package controlplane_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// Aggregated servers find out whom this one trusts; what is lost comes back, and what others wrote beside it
// stays.
func TestTrustIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := start(t, func(o *controlplane.Options) { o.ClientCAFile = func() []byte { return []byte("the authorities\n") } })
		maps, where := client.For[*corev1.ConfigMap](p.admin()), key("kube-system", "extension-apiserver-authentication")
		synctest.Wait()
		m, err := maps.Get(t.Context(), where)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"client-ca-file": "the authorities\n"}, m.Data)
		m.Data = map[string]string{"client-ca-file": "nonsense", "requestheader-allowed-names": "[]"}
		_, err = maps.Update(t.Context(), m)
		require.NoError(t, err)
		time.Sleep(2 * time.Minute)
		m, err = maps.Get(t.Context(), where)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"client-ca-file": "the authorities\n", "requestheader-allowed-names": "[]"}, m.Data)
		require.NoError(t, maps.Delete(t.Context(), where))
		time.Sleep(2 * time.Minute)
		_, err = maps.Get(t.Context(), where)
		require.NoError(t, err)
	})
}
