package controlplane_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// Aggregated servers can read which authorities this one trusts; what is deleted or unreadable is restored,
// keys of other writers are kept, and so are the authorities of other servers until they have expired.
func TestTrustIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority := func(name string, life time.Duration) string {
			a, err := certs.NewAuthorityFor(name, life)
			require.NoError(t, err)
			return string(a.CertPEM())
		}
		older, newer, others := authority("older", time.Hour), authority("newer", 24*time.Hour), authority("others", 2*time.Hour)
		var mine atomic.Value // a string
		mine.Store("a comment\n" + older)
		p := planetest.Start(t, func(o *controlplane.Options) { o.ClientCAFile = func() []byte { return []byte(mine.Load().(string)) } })
		maps, where := client.For[*corev1.ConfigMap](p.Admin()), planetest.Key("kube-system", "extension-apiserver-authentication")
		published := func(want map[string]string) *corev1.ConfigMap {
			t.Helper()
			time.Sleep(2 * time.Minute)
			m, err := maps.Get(t.Context(), where)
			require.NoError(t, err)
			require.Equal(t, want, m.Data)
			return m
		}
		set := func(m *corev1.ConfigMap, data map[string]string) {
			m.Data = data
			_, err := maps.Update(t.Context(), m)
			require.NoError(t, err)
		}
		m := published(map[string]string{"client-ca-file": older})
		set(m, map[string]string{"client-ca-file": "nonsense", "requestheader-allowed-names": "[]"})
		m = published(map[string]string{"client-ca-file": older, "requestheader-allowed-names": "[]"})
		mine.Store(newer)
		set(m, map[string]string{"client-ca-file": others + older})
		published(map[string]string{"client-ca-file": others + older + newer})
		time.Sleep(time.Hour)
		published(map[string]string{"client-ca-file": others + newer})
		require.NoError(t, maps.Delete(t.Context(), where))
		published(map[string]string{"client-ca-file": newer})
		mine.Store("no certificate")
		time.Sleep(24 * time.Hour)
		published(nil)
	})
}

// Beside it stands how this server, as a proxy, reports its users.
func TestRequestHeadersArePublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		front, err := certs.NewAuthority("front")
		require.NoError(t, err)
		p := planetest.Start(t, func(o *controlplane.Options) {
			o.RequestHeaderCAFile = front.CertPEM
			o.RequestHeader = &authn.RequestHeaderOptions{ClientCAs: front.Pool, AllowedNames: []string{"front-proxy-client"}, UsernameHeaders: []string{"X-Remote-User"},
				GroupHeaders: []string{"X-Remote-Group"}, ExtraPrefixes: []string{"X-Remote-Extra-"}}
		})
		synctest.Wait()
		m, err := client.For[*corev1.ConfigMap](p.Admin()).Get(t.Context(), planetest.Key("kube-system", "extension-apiserver-authentication"))
		require.NoError(t, err)
		want := map[string]string{"requestheader-client-ca-file": string(front.CertPEM()), "requestheader-allowed-names": `["front-proxy-client"]`,
			"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`}
		require.Equal(t, want, m.Data)
		// Another server has further names, and one of its lists cannot be read.
		m.Data["requestheader-allowed-names"], m.Data["requestheader-group-headers"] = `["other"]`, "{"
		_, err = client.For[*corev1.ConfigMap](p.Admin()).Update(t.Context(), m)
		require.NoError(t, err)
		time.Sleep(2 * time.Minute)
		m, err = client.For[*corev1.ConfigMap](p.Admin()).Get(t.Context(), planetest.Key("kube-system", "extension-apiserver-authentication"))
		require.NoError(t, err)
		want["requestheader-allowed-names"] = `["other","front-proxy-client"]`
		require.Equal(t, want, m.Data)

		pair, err := front.Client("front-proxy-client")
		require.NoError(t, err)
		u, err := whoami(t, headers{p.Conn(rest.Config{TLS: rest.TLSConfig{CertData: pair.CertPEM(), KeyData: pair.KeyPEM()}}), map[string]string{"X-Remote-User": "ann", "X-Remote-Group": "dev"}})
		require.NoError(t, err)
		require.Equal(t, "ann", u.Username)
		require.Equal(t, []string{"dev", "system:authenticated"}, u.Groups)
		u, err = whoami(t, headers{p.Token("bob-token"), map[string]string{"X-Remote-User": "ann"}})
		require.NoError(t, err)
		require.Equal(t, "bob", u.Username, "others' headers are ignored")
	})
}

// headers is a connection that sends headers with each request.
type headers struct {
	client.Conn
	add map[string]string
}

func (h headers) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	r.Header = h.add
	return h.Conn.Do(ctx, r)
}
