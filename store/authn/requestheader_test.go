package authn_test

import (
	"crypto/x509"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
)

func TestRequestHeaders(t *testing.T) {
	ca, err := certs.NewAuthority("front")
	require.NoError(t, err)
	other, err := certs.NewAuthority("other")
	require.NoError(t, err)
	front, err := ca.Client("front-proxy-client")
	require.NoError(t, err)
	stranger, err := ca.Client("someone")
	require.NoError(t, err)
	foreign, err := other.Client("front-proxy-client")
	require.NoError(t, err)
	serving, err := ca.Serving("front-proxy-client", "localhost")
	require.NoError(t, err)
	pool := ca.Pool()
	o := authn.RequestHeaderOptions{ClientCAs: func() *x509.CertPool { return pool }, AllowedNames: []string{"front-proxy-client"},
		UsernameHeaders: []string{"X-Remote-User", "X-Other-User"}, UIDHeaders: []string{"X-Remote-Uid"}, GroupHeaders: []string{"X-Remote-Group"}, ExtraPrefixes: []string{"x-remote-extra-"}}
	try := func(pair *certs.Pair, headers ...string) (*authn.User, error) {
		r := withCert(pair)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Add(headers[i], headers[i+1])
		}
		resp, ok, err := authn.RequestHeaders(o).Authenticate(r)
		require.Equal(t, ok, resp != nil)
		if !ok {
			return nil, err
		}
		require.Empty(t, r.Header, "no handler sees the headers")
		return resp.User, err
	}
	u, err := try(front, "X-Remote-User", "ann", "X-Remote-Uid", "7", "X-Remote-Group", "dev", "X-Remote-Group", " ", "X-Remote-Group", "ops", "X-Remote-Extra-Example.com%2fScopes", "a", "X-Remote-Extra-Example.com%2fScopes", "b")
	require.NoError(t, err)
	require.Equal(t, &authn.User{Name: "ann", UID: "7", Groups: []string{"dev", "ops"}, Extra: map[string][]string{"example.com/scopes": {"a", "b"}}}, u)
	u, err = try(front, "X-Other-User", "bob")
	require.NoError(t, err)
	require.Equal(t, &authn.User{Name: "bob"}, u)
	for name, pair := range map[string]*certs.Pair{"no certificate": nil, "no header": front} {
		headers := []string{"X-Remote-User", "ann"}
		if pair != nil {
			headers = []string{"X-Remote-Group", "system:masters"}
		}
		u, err = try(pair, headers...)
		require.NoError(t, err, name)
		require.Nil(t, u, name)
	}
	for want, pair := range map[string]*certs.Pair{
		"subject with cn=someone is not in the allowed list": stranger, "signed by unknown authority": foreign, "incompatible key usage": serving,
	} {
		u, err = try(pair, "X-Remote-User", "ann")
		require.ErrorContains(t, err, want)
		require.Nil(t, u)
	}
	o.AllowedNames = nil
	u, err = try(stranger, "X-Remote-User", "ann")
	require.NoError(t, err)
	require.NotNil(t, u, "without names any certificate of the authority will do")
	pool = nil
	_, err = try(stranger, "X-Remote-User", "ann")
	require.ErrorContains(t, err, "no authorities", "the system's are not used")
}
