package authn_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// Whatever a bootstrap token and the secret of its ID say, the bearer is a bootstrapper with groups of
// bootstrappers, and has both parts of the token.
func FuzzBootstrapTokens(f *testing.F) {
	const token = "abc123.0123456789abcdef"
	f.Add(token, "0123456789abcdef", "2999-01-01T00:00:00Z", "system:bootstrappers:workers,system:bootstrappers:a:b-1", "true")
	f.Add(token, "0123456789abcdef", "", "system:masters", "true")
	f.Add(token+"\n", "0123456789abcdef", "tomorrow", "", "false")
	f.Add(".", "", "", ",", "")
	f.Fuzz(func(t *testing.T, token, secret, expiration, groups, usage string) {
		stored := tokenSecret(func(s *corev1.Secret) {
			for key, value := range map[string]string{"token-secret": secret, "expiration": expiration, "auth-extra-groups": groups, "usage-bootstrap-authentication": usage} {
				s.Data[key] = []byte(value)
			}
		})
		resp, ok, err := authn.BootstrapTokens(func(_ context.Context, key types.NamespacedName) (*corev1.Secret, error) {
			if key.Name != stored.Name || key.Namespace != stored.Namespace {
				return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
			}
			return stored, nil
		}).AuthenticateToken(t.Context(), token)
		require.NoError(t, err)
		if !ok {
			return
		}
		require.Equal(t, "abc123."+secret, token)
		require.Equal(t, "true", usage)
		require.Equal(t, "system:bootstrap:abc123", resp.User.Name)
		for _, group := range resp.User.Groups {
			require.True(t, group == authn.GroupBootstrappers || strings.HasPrefix(group, authn.GroupBootstrappers+":"), group)
		}
	})
}

// A certificate is refused, or an authority that the server trusts has signed it for clients; and only such a
// certificate lets a proxy report a user, whose headers no handler sees then.
func FuzzClientCertificates(f *testing.F) {
	ca, err := certs.NewAuthority("ca")
	require.NoError(f, err)
	ann, err := ca.Client("ann", "dev")
	require.NoError(f, err)
	serving, err := ca.Serving("api", "localhost")
	require.NoError(f, err)
	pool := func() *x509.CertPool { return ca.Pool() }
	certificates := authn.ClientCertificates(pool)
	proxies := authn.RequestHeaders(authn.RequestHeaderOptions{ClientCAs: pool, UsernameHeaders: []string{"X-Remote-User"}, UIDHeaders: []string{"X-Remote-Uid"},
		GroupHeaders: []string{"X-Remote-Group"}, ExtraPrefixes: []string{"X-Remote-Extra-"}})
	// An empty one stands for that of a known client, which differs each time.
	f.Add([]byte{}, "X-Remote-Extra-Example.com%2fScopes", "bob")
	f.Add(serving.Cert.Raw, "X-Remote-Group", "system:masters")
	f.Add(ca.Cert.Raw, "X-Remote-Extra-%zz", "")
	f.Add([]byte{0x30, 0x03, 0x30, 0x01, 0x30}, "x-remote-user", " ")
	f.Fuzz(func(t *testing.T, der []byte, header, value string) {
		if len(der) == 0 {
			der = ann.Cert.Raw
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return
		}
		request := func() *http.Request {
			r := &http.Request{Header: http.Header{}, TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}}
			r.Header.Add(header, value)
			return r
		}
		own := bytes.Equal(der, ca.Cert.Raw) // which is its own authority
		trusted := own || bytes.Equal(der, ann.Cert.Raw)
		resp, ok, err := certificates.Authenticate(request())
		require.Equal(t, trusted, ok, "%v", err)
		if ok {
			require.Equal(t, cert.Subject.CommonName, resp.User.Name)
		}
		r := request()
		r.Header.Set("X-Remote-User", "bob")
		resp, ok, err = proxies.Authenticate(r)
		require.Equal(t, trusted, ok, "%v", err)
		if ok {
			require.NotEmpty(t, resp.User.Name)
			for name := range r.Header {
				require.False(t, strings.HasPrefix(strings.ToLower(name), "x-remote-"), name)
			}
		}
	})
}

// The token in the subprotocols of a WebSocket is the one that was encoded there, and is not passed on.
func FuzzWebSocketToken(f *testing.F) {
	const prefix = "base64url.bearer.authorization.k8s.io."
	f.Add(prefix+base64.RawURLEncoding.EncodeToString([]byte("secret"))+", v5.channel.k8s.io", "")
	f.Add("v5.channel.k8s.io", prefix+"!")
	f.Add(prefix, prefix+"c2VjcmV0,"+prefix+"b3RoZXI")
	f.Fuzz(func(t *testing.T, first, second string) {
		var seen []string
		r := &http.Request{Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Protocol": {first, second}}}
		_, ok, _ := authn.Bearer(authn.TokenFunc(func(_ context.Context, token string) (*authn.Response, bool, error) {
			seen = append(seen, token)
			return &authn.Response{User: &authn.User{Name: "ann"}}, true, nil
		})).Authenticate(r)
		require.Equal(t, ok, len(seen) == 1)
		if !ok {
			return
		}
		encoded := slices.IndexFunc(strings.Split(first+","+second, ","), func(protocol string) bool {
			text, ok := strings.CutPrefix(strings.TrimSpace(protocol), prefix)
			token, err := base64.RawURLEncoding.DecodeString(text)
			return ok && err == nil && string(token) == seen[0]
		})
		require.GreaterOrEqual(t, encoded, 0)
		left := strings.Join(r.Header["Sec-Websocket-Protocol"], ",")
		require.Equal(t, strings.Count(first+","+second, ",")-1, strings.Count(left, ","), "one less, and not none")
	})
}

// No documents of an issuer make a server accept a token that its key has not signed, or fail.
func FuzzIssuerDocuments(f *testing.F) {
	key := signingKey(f, "k")
	of := key.Public()
	public, err := of.MarshalJSON()
	require.NoError(f, err)
	x := base64.RawURLEncoding.EncodeToString(key.Key.(*ecdsa.PrivateKey).X.FillBytes(make([]byte, 32)))
	ca, err := certs.NewAuthority("issuer")
	require.NoError(f, err)
	pair, err := ca.Serving("issuer.test", "issuer.test")
	require.NoError(f, err)
	p := &documents{provider: provider{url: "https://issuer.test", ca: ca}}
	p.net = pipenet.New()
	p.srv = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}}
	go func() { _ = p.srv.ServeTLS(p.net, "", "") }() // ends with the process
	good := sign(f, key, jose.ES256, p.of(nil))
	const discovery = `{"issuer":"https://issuer.test","jwks_uri":"https://issuer.test/keys"}`
	const placeholder = "PUBLIC" // of the key, which differs each time
	f.Add(discovery, `{"keys":[`+placeholder+`]}`)
	f.Add(discovery, `{"keys":[{"kty":"oct","k":"c2VjcmV0"},{},null]}`)
	f.Add(`{"issuer":"https://issuer.test","jwks_uri":"http://issuer.test/keys"}`, `{"keys":null}`)
	f.Add(`[]`, `{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`)
	f.Fuzz(func(t *testing.T, discovery, keys string) {
		keys = strings.ReplaceAll(keys, placeholder, string(public))
		p.change(func() { p.discovery, p.keySet = discovery, keys })
		s, err := authn.NewIssuers([]authn.JWTAuthenticator{p.config()}, authn.IssuersOptions{Dial: p.net.Dial})
		require.NoError(t, err)
		if _, ok, _ := s.AuthenticateToken(t.Context(), good); !ok {
			return
		}
		var set struct{ Keys []struct{ X string } }
		require.NoError(t, json.Unmarshal([]byte(keys), &set))
		require.True(t, slices.ContainsFunc(set.Keys, func(k struct{ X string }) bool {
			return strings.NewReplacer("\r", "", "\n", "").Replace(k.X) == x // which base64 ignores
		}), "a key that is not there was used")
	})
}

// documents is an issuer whose documents are given.
type documents struct {
	provider
	discovery, keySet string
}

// ServeHTTP implements http.Handler.
func (p *documents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.URL.Path == "/keys" {
		_, _ = io.WriteString(w, p.keySet) // the client may have gone
	} else {
		_, _ = io.WriteString(w, p.discovery)
	}
}
