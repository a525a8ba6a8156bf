package controlplane_test

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// The Host header of one client must not reach other clients through a cache: they would accept the keys of
// that host as the issuer's.
func TestDiscoveryIsNotPoisoned(t *testing.T) {
	for _, c := range []struct {
		change func(*controlplane.Options)
		keys   string
		shared bool
	}{
		{func(o *controlplane.Options) { o.Server.AdvertiseAddress = "192.0.2.7" }, "https://192.0.2.7:6443/openid/v1/jwks", true},
		{func(o *controlplane.Options) { o.Server.AdvertiseAddress, o.Server.AdvertisePort = "fd00::7", 443 }, "https://[fd00::7]:443/openid/v1/jwks", true},
		{func(o *controlplane.Options) {
			o.Server.AdvertiseAddress, o.JWKSURI = "192.0.2.7", "https://keys.test/jwks"
		}, "https://keys.test/jwks", true},
		{func(*controlplane.Options) {}, "https://evil.test/openid/v1/jwks", false},
	} {
		p := planetest.Start(t, c.change)
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "https://evil.test/.well-known/openid-configuration", nil)
		r.Header.Set("Authorization", "Bearer masters-token")
		p.ServeHTTP(w, r)
		require.Equal(t, 200, w.Code, w.Body)
		var doc struct {
			JWKS string `json:"jwks_uri"`
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &doc))
		require.Equal(t, c.keys, doc.JWKS)
		if c.shared {
			require.Equal(t, "public, max-age=3600", w.Header().Get("Cache-Control"))
		} else {
			require.Equal(t, "no-cache, private", w.Header().Get("Cache-Control"))
		}
	}
}
