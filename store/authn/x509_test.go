package authn_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
)

func withCert(pair *certs.Pair) *http.Request {
	r := &http.Request{Header: http.Header{}}
	if pair != nil {
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{pair.Cert}}
	}
	return r
}

func TestClientCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, err := certs.NewAuthority("ca")
		require.NoError(t, err)
		other, err := certs.NewAuthority("other")
		require.NoError(t, err)
		ann, err := ca.Client("ann", "dev")
		require.NoError(t, err)
		serving, err := ca.Serving("api", "localhost")
		require.NoError(t, err)
		pool := ca.Pool()
		a := authn.ClientCertificates(func() *x509.CertPool { return pool })

		_, ok, err := a.Authenticate(withCert(nil))
		require.NoError(t, err)
		require.False(t, ok, "no certificate is nobody's business")
		for range 2 { // the second time from the cache
			resp, ok, err := a.Authenticate(withCert(ann))
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, "ann", resp.User.Name)
			require.Equal(t, []string{"dev"}, resp.User.Groups)
		}
		_, ok, err = a.Authenticate(withCert(serving))
		require.Error(t, err, "a serving certificate identifies nobody")
		require.False(t, ok)

		pool = nil
		_, ok, err = a.Authenticate(withCert(ann))
		require.NoError(t, err, "without roots certificates are not looked at; the system's authorities are not asked")
		require.False(t, ok, "although it was good before")

		pool = other.Pool()
		_, ok, err = a.Authenticate(withCert(ann))
		require.Error(t, err, "new roots count at once")
		require.False(t, ok)

		pool = ca.Pool()
		_, ok, err = a.Authenticate(withCert(ann))
		require.NoError(t, err)
		require.True(t, ok)
		time.Sleep(certs.LeafValidity + time.Second)
		_, ok, err = a.Authenticate(withCert(ann))
		require.Error(t, err, "an expired certificate is refused although it was good before")
		require.False(t, ok)
	})
}
