package webhook_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/webhook"
)

// A call reports the resolution of a name for its new connection; one over a connection that is open, and one
// to an address, have none.
func TestLookups(t *testing.T) {
	ca, err := certs.NewAuthority("ca")
	require.NoError(t, err)
	pair, err := ca.Serving("localhost", "localhost", "127.0.0.1")
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}
	s.StartTLS()
	defer s.Close()
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	var seen []webhook.Lookup
	c := webhook.New(webhook.Options{Called: func(c webhook.Call) { seen = c.Lookups }})
	defer c.Close()
	for _, one := range []struct {
		host string
		want []string
	}{{"127.0.0.1", nil}, {"localhost", []string{"localhost"}}, {"localhost", nil}} {
		require.NoError(t, c.Call(t.Context(), webhook.Target{URL: "https://" + one.host + ":" + port, CABundle: ca.CertPEM()}, 0, struct{}{}, &struct{}{}))
		var hosts []string
		for _, l := range seen {
			hosts = append(hosts, l.Host)
			require.Positive(t, l.Elapsed)
		}
		require.Equal(t, one.want, hosts, one.host)
	}
}
