package authn_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// provider is an OpenID Connect issuer that serves over TLS, without a network.
type provider struct {
	url  string
	ca   *certs.Authority
	net  *pipenet.Listener
	srv  *http.Server
	asks atomic.Int32 // for the keys

	mu      sync.Mutex // guards what follows
	keys    []jose.JSONWebKey
	claimed string        // the issuer in the discovery document
	stall   chan struct{} // nil: responds at once
	broken  bool
}

func newProvider(t *testing.T, keys ...jose.JSONWebKey) *provider {
	ca, err := certs.NewAuthority("issuer")
	require.NoError(t, err)
	pair, err := ca.Serving("issuer.test", "issuer.test")
	require.NoError(t, err)
	p := &provider{url: "https://issuer.test", claimed: "https://issuer.test", ca: ca, net: pipenet.New(), keys: keys}
	p.srv = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}}
	ended := make(chan error, 1)
	go func() { ended <- p.srv.ServeTLS(p.net, "", "") }()
	t.Cleanup(func() {
		require.NoError(t, p.srv.Close())
		require.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
	return p
}

func (p *provider) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// ServeHTTP implements http.Handler.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	stall, broken, claimed, keys := p.stall, p.broken, p.claimed, p.keys
	p.mu.Unlock()
	if stall != nil {
		<-stall
	}
	if broken {
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	}
	var out any
	switch r.URL.Path {
	case "/.well-known/openid-configuration", "/elsewhere":
		out = map[string]any{"issuer": claimed, "jwks_uri": p.url + "/keys"}
	case "/keys":
		p.asks.Add(1)
		all := []any{map[string]any{"kty": "of-the-future", "kid": "x"}}
		for _, key := range keys {
			all = append(all, key.Public())
		}
		out = map[string]any{"keys": all}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // the client may have gone
}

// config trusts the provider with the audience "cluster", and maps sub to the name.
func (p *provider) config() authn.JWTAuthenticator {
	none := ""
	return authn.JWTAuthenticator{
		Issuer:        authn.Issuer{URL: p.url, CertificateAuthority: string(p.ca.CertPEM()), Audiences: []string{"cluster"}},
		ClaimMappings: authn.ClaimMappings{Username: authn.PrefixedClaimOrExpression{Claim: "sub", Prefix: &none}},
	}
}

func (p *provider) issuers(t *testing.T, a authn.JWTAuthenticator) *authn.Issuers {
	t.Helper()
	s, err := authn.NewIssuers([]authn.JWTAuthenticator{a}, authn.IssuersOptions{Dial: p.net.Dial})
	require.NoError(t, err)
	return s
}

func signingKey(t testing.TB, id string) jose.JSONWebKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return jose.JSONWebKey{Key: key, KeyID: id, Algorithm: "ES256", Use: "sig"}
}

func sign(t testing.TB, key jose.JSONWebKey, algorithm jose.SignatureAlgorithm, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	require.NoError(t, err)
	payload, err := json.Marshal(claims)
	require.NoError(t, err)
	signed, err := signer.Sign(payload)
	require.NoError(t, err)
	token, err := signed.CompactSerialize()
	require.NoError(t, err)
	return token
}

// of returns claims of a good token with changes; nil removes one.
func (p *provider) of(changes map[string]any) map[string]any {
	out := map[string]any{"iss": p.url, "aud": "cluster", "sub": "ann", "exp": time.Now().Add(time.Hour).Unix(), "jti": "7", "groups": []string{"dev", "ops"},
		"email": "ann@test", "nested": map[string]any{"a.b": []any{map[string]any{"c/d": "deep"}}}}
	maps.Copy(out, changes)
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
	return out
}

// Every algorithm is accepted if it is allowed and the key is of its kind.
func TestIssuersAlgorithms(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	keys := map[string]any{"R": rsaKey, "P": rsaKey}
	for name, c := range map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()} {
		keys[name], err = ecdsa.GenerateKey(c, rand.Reader)
		require.NoError(t, err)
	}
	synctest.Test(t, func(t *testing.T) {
		var all []jose.JSONWebKey
		for _, name := range authn.SigningAlgorithms() {
			key := keys[name]
			if key == nil {
				key = keys[name[:1]]
			}
			all = append(all, jose.JSONWebKey{Key: key, KeyID: name})
		}
		require.Len(t, all, 9)
		p := newProvider(t, all...)
		s := p.issuers(t, p.config())
		only, err := authn.NewIssuers([]authn.JWTAuthenticator{p.config()}, authn.IssuersOptions{Dial: p.net.Dial, Algorithms: []string{"RS256"}})
		require.NoError(t, err)
		for _, key := range all {
			token := sign(t, key, jose.SignatureAlgorithm(key.KeyID), p.of(nil))
			resp, ok, err := s.AuthenticateToken(t.Context(), token)
			require.NoError(t, err, key.KeyID)
			require.True(t, ok)
			require.Equal(t, "ann", resp.User.Name)
			_, ok, err = only.AuthenticateToken(t.Context(), token)
			require.Equal(t, key.KeyID == "RS256", ok, err)
			if !ok {
				require.ErrorContains(t, err, "unexpected signature algorithm")
			}
		}
		secret := jose.JSONWebKey{Key: []byte(strings.Repeat("k", 32)), KeyID: "RS256"}
		_, ok, err := s.AuthenticateToken(t.Context(), sign(t, secret, jose.HS256, p.of(nil)))
		require.False(t, ok)
		require.ErrorContains(t, err, "unexpected signature algorithm")
	})
	_, err = authn.NewIssuers(nil, authn.IssuersOptions{Algorithms: []string{"HS256"}})
	require.ErrorContains(t, err, `unsupported signing algorithm "HS256"; supported are ES256, `)
}

// claimCase is an authenticator, what a token says, and what becomes of it.
type claimCase struct {
	config func(*authn.JWTAuthenticator)
	claims map[string]any
	want   *authn.User // the name ann if nil
	err    string
}

func claimCases() map[string]claimCase {
	prefix, none := "oidc:", ""
	text := func(s string) authn.PrefixedClaimOrExpression { return authn.PrefixedClaimOrExpression{Expression: s} }
	type config = authn.JWTAuthenticator
	return map[string]claimCase{
		"good":                    {},
		"no expiry":               {claims: map[string]any{"exp": nil}, err: "parse claim exp: claim not present"},
		"expired":                 {claims: map[string]any{"exp": 946684799}, err: "token is expired (Token Expiry: 1999-12-31"},
		"expiry of another case":  {claims: map[string]any{"exp": 1, "EXP": 1e10}, err: "token is expired"},
		"expiry of a fraction":    {claims: map[string]any{"exp": 946684801.5}},
		"a far expiry":            {claims: map[string]any{"exp": 1e300}},
		"an expiry that is text":  {claims: map[string]any{"exp": "later"}, err: "parse claim exp"},
		"a clock a minute behind": {claims: map[string]any{"nbf": 946684860}},
		"a clock more behind":     {claims: map[string]any{"nbf": 946684861}, err: "before the nbf (not before) time"},
		"another audience":        {claims: map[string]any{"aud": []string{"else"}}, err: `expected audience in ["cluster"] got ["else"]`},
		"no audience":             {claims: map[string]any{"aud": nil}, err: "parse claim aud"},
		"one audience of many":    {config: func(c *config) { c.Issuer.Audiences, c.Issuer.AudienceMatchPolicy = []string{"a", "b"}, "MatchAny" }, claims: map[string]any{"aud": []string{"x", "b"}}},
		"prefixes": {config: func(c *config) {
			c.ClaimMappings.Username.Prefix = &prefix
			c.ClaimMappings.Groups = authn.PrefixedClaimOrExpression{Claim: "groups", Prefix: &prefix}
			c.ClaimMappings.UID.Claim = "email"
		}, want: &authn.User{Name: "oidc:ann", UID: "ann@test", Groups: []string{"oidc:dev", "oidc:ops"}}},
		"one group": {config: func(c *config) {
			c.ClaimMappings.Groups = authn.PrefixedClaimOrExpression{Claim: "groups", Prefix: &none}
		}, claims: map[string]any{"groups": "dev"}, want: &authn.User{Name: "ann", Groups: []string{"dev"}}},
		"groups that are null": {config: func(c *config) {
			c.ClaimMappings.Groups = authn.PrefixedClaimOrExpression{Claim: "groups", Prefix: &prefix}
		}, claims: map[string]any{"groups": json.RawMessage("null")}, want: &authn.User{Name: "ann"}},
		"distributed groups": {config: func(c *config) {
			c.ClaimMappings.Groups = authn.PrefixedClaimOrExpression{Claim: "groups", Prefix: &prefix}
		}, claims: map[string]any{"groups": nil, "_claim_names": map[string]any{"groups": "s"}}, err: `the claim "groups" is distributed, which is not supported`},
		"expressions": {config: func(c *config) {
			c.ClaimMappings = authn.ClaimMappings{Username: text("claims.sub + '@' + claims.iss"), Groups: text("dyn(claims.groups).filter(g, g != 'ops')"), UID: authn.ClaimOrExpression{Expression: "claims.jti"},
				Extra: []authn.ExtraMapping{{Key: "e.test/deep", ValueExpression: "claims.nested.a__dot__b[0].c__slash__d"}, {Key: "e.test/none", ValueExpression: "''"}, {Key: "e.test/list", ValueExpression: "['a', '', 'b']"}}}
		}, want: &authn.User{Name: "ann@https://issuer.test", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"e.test/deep": {"deep"}, "e.test/list": {"a", "b"}}}},
		"a name that is a number": {config: func(c *config) { c.ClaimMappings.Username = text("claims.exp") }, err: "username claim expression must return a string"},
		"a name that is empty":    {config: func(c *config) { c.ClaimMappings.Username = text("''") }, err: "empty username"},
		"a claim that is missing": {config: func(c *config) { c.ClaimMappings.Username = text("claims.what") }, err: "no such key: what"},
		"groups that are numbers": {config: func(c *config) { c.ClaimMappings.Groups = text("[1]") }, err: "expression must return a string or a list of strings"},
		"a name without claim":    {claims: map[string]any{"sub": nil}, err: `parse username claims "sub": claim not present`},
		"an address not verified": {config: func(c *config) { c.ClaimMappings.Username.Claim = "email" }, claims: map[string]any{"email_verified": false}, err: "email not verified"},
		"an address":              {config: func(c *config) { c.ClaimMappings.Username.Claim = "email" }, want: &authn.User{Name: "ann@test"}},
		"a required claim": {config: func(c *config) {
			c.ClaimValidationRules = []authn.ClaimValidationRule{{Claim: "email", RequiredValue: "ann@test"}}
		}},
		"a wrong claim": {config: func(c *config) {
			c.ClaimValidationRules = []authn.ClaimValidationRule{{Claim: "email", RequiredValue: "bob@test"}}
		}, err: "required claim email value does not match. Got = ann@test, want = bob@test"},
		"a required claim, missing": {config: func(c *config) {
			c.ClaimValidationRules = []authn.ClaimValidationRule{{Claim: "hd", RequiredValue: "x"}}
		}, err: "required claim hd not present"},
		"a rule": {config: func(c *config) {
			c.ClaimValidationRules = []authn.ClaimValidationRule{{Expression: "claims.exp <= 946688400", Message: "at most an hour"}}
		}},
		"a broken rule": {config: func(c *config) {
			c.ClaimValidationRules = []authn.ClaimValidationRule{{Expression: "claims.exp <= 946684860", Message: "at most a minute"}}
		}, err: "failed: at most a minute"},
		"a rule about users": {config: func(c *config) {
			c.UserValidationRules = []authn.UserValidationRule{{Expression: "user.username != 'bob' && size(user.groups) == 0 && user.extra.authentication__dot__kubernetes__dot__io__slash__credential__dash__id[0] == 'JTI=7'"}}
		}},
		"a broken rule about users": {config: func(c *config) {
			c.UserValidationRules = []authn.UserValidationRule{{Expression: "!user.username.startsWith('a')", Message: "no a"}}
		}, err: "failed: no a"},
		"an endless rule": {config: func(c *config) {
			c.ClaimValidationRules = []authn.ClaimValidationRule{{Expression: "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, [1,2,3,4,5,6,7,8,9].all(f, claims.sub.size() > 0))))))"}}
		}, err: "cost"},
	}
}

// What a token says decides who its bearer is, and whether it is accepted. The time is 946684800.
func TestIssuersClaims(t *testing.T) {
	for name, c := range claimCases() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				key := signingKey(t, "k")
				p := newProvider(t, key)
				config := p.config()
				if c.config != nil {
					c.config(&config)
				}
				resp, ok, err := p.issuers(t, config).AuthenticateToken(t.Context(), sign(t, key, jose.ES256, p.of(c.claims)))
				if c.err != "" {
					require.ErrorContains(t, err, c.err)
					require.False(t, ok)
					return
				}
				require.NoError(t, err)
				require.True(t, ok)
				want := c.want
				if want == nil {
					want = &authn.User{Name: "ann"}
				}
				if want.Extra == nil {
					want.Extra = map[string][]string{}
				}
				want.Extra[authn.ExtraCredentialID] = []string{"JTI=7"}
				require.Equal(t, want.Name, resp.User.Name)
				require.Equal(t, want.UID, resp.User.UID)
				require.ElementsMatch(t, want.Groups, resp.User.Groups)
				require.Equal(t, want.Extra, resp.User.Extra)
			})
		})
	}
}

// A token is one of its issuer's only if its signature is by a key of the issuer.
func TestIssuersForeignTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := signingKey(t, "k")
		p := newProvider(t, key)
		s := p.issuers(t, p.config())
		good := sign(t, key, jose.ES256, p.of(nil))
		for _, token := range []string{"", "a.b.c", "secret", sign(t, key, jose.ES256, p.of(map[string]any{"iss": "https://other.test"}))} {
			_, ok, err := s.AuthenticateToken(t.Context(), token)
			require.NoError(t, err, "not its business")
			require.False(t, ok)
		}
		_, ok, err := s.AuthenticateToken(t.Context(), sign(t, signingKey(t, "k"), jose.ES256, p.of(nil)))
		require.ErrorContains(t, err, "failed to verify id token signature")
		require.False(t, ok)
		for i := 0; i < len(good); i += 5 {
			changed := []byte(good)
			if changed[i] = 'A'; string(changed) == good || i == len(good)-1 {
				continue // the last character has bits that do not count
			}
			_, ok, _ := s.AuthenticateToken(t.Context(), string(changed))
			require.False(t, ok, i)
		}
	})
}

// Keys are fetched when a token has an unknown one, but an issuer is not asked more than every ten seconds;
// a key that it has withdrawn is not accepted for long, except while it cannot be reached.
func TestIssuersRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := signingKey(t, "1"), signingKey(t, "2")
		p := newProvider(t, first)
		s := p.issuers(t, p.config())
		accepts := func(key jose.JSONWebKey) bool {
			_, ok, _ := s.AuthenticateToken(t.Context(), sign(t, key, jose.ES256, p.of(nil)))
			synctest.Wait() // for a fetch in the background
			return ok
		}
		require.True(t, accepts(first))
		require.EqualValues(t, 1, p.asks.Load())
		for range 100 {
			require.False(t, accepts(signingKey(t, "unknown")))
		}
		require.EqualValues(t, 1, p.asks.Load(), "unknown keys are no reason to ask again at once")

		p.change(func() { p.keys = []jose.JSONWebKey{second} })
		require.False(t, accepts(second), "the keys have just been fetched")
		time.Sleep(10 * time.Second)
		require.True(t, accepts(second))
		require.EqualValues(t, 2, p.asks.Load())
		require.False(t, accepts(first), "it is withdrawn")

		p.change(func() { p.keys = []jose.JSONWebKey{first} })
		time.Sleep(10*time.Minute - time.Second)
		require.True(t, accepts(second))
		time.Sleep(2 * time.Second)
		require.True(t, accepts(second), "the fetch is in the background")
		require.False(t, accepts(second), "it is withdrawn")
		require.True(t, accepts(first))

		p.change(func() { p.broken = true })
		time.Sleep(24 * time.Hour)
		for range 3 {
			require.True(t, accepts(first), "the issuer cannot be reached")
		}
	})
}

// An issuer that does not respond, or lies, costs its own tokens: they are refused within seconds, and at
// once while it has just failed.
func TestIssuersUnreachable(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(p *provider)
		err  string
		wait time.Duration
	}{
		"stalls":          {func(p *provider) { p.stall = make(chan struct{}) }, "have not arrived within 2s", 2 * time.Second},
		"is broken":       {func(p *provider) { p.broken = true }, "the status is 500", 0},
		"lies":            {func(p *provider) { p.claimed = "https://other.test" }, `the document is of issuer "https://other.test"`, 0},
		"has no key":      {func(p *provider) { p.keys = nil }, "none of the 1 at https://issuer.test/keys can be used", 0},
		"is of other CAs": {func(p *provider) { p.ca = nil }, "certificate", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				key := signingKey(t, "k")
				p := newProvider(t, key)
				config := p.config()
				p.change(func() { c.fail(p) })
				if p.ca == nil {
					other, err := certs.NewAuthority("other")
					require.NoError(t, err)
					config.Issuer.CertificateAuthority = string(other.CertPEM())
				}
				var fetched []error
				s, err := authn.NewIssuers([]authn.JWTAuthenticator{config}, authn.IssuersOptions{Dial: p.net.Dial, Fetched: func(_ string, keySet []byte, err error) {
					require.Equal(t, err == nil, strings.Contains(string(keySet), `"kid":"k"`), "%s", keySet)
					fetched = append(fetched, err)
				}})
				require.NoError(t, err, "the server starts without the issuer")
				token := sign(t, key, jose.ES256, p.of(nil))
				began := time.Now()
				_, ok, err := s.AuthenticateToken(t.Context(), token)
				require.ErrorContains(t, err, c.err)
				require.False(t, ok)
				require.Equal(t, c.wait, time.Since(began))
				_, _, err = s.AuthenticateToken(t.Context(), token)
				require.Error(t, err)
				require.Equal(t, c.wait, time.Since(began), "the second one does not wait")
				_, ok, err = s.AuthenticateToken(t.Context(), "of another kind")
				require.False(t, ok)
				require.NoError(t, err)
				if c.wait > 0 {
					close(p.stall)
					p.change(func() { p.stall = nil })
					synctest.Wait()
					_, ok, err = s.AuthenticateToken(t.Context(), token)
					require.NoError(t, err)
					require.True(t, ok, "it responds again")
					require.Equal(t, []error{nil}, fetched)
					return
				}
				require.Len(t, fetched, 1)
				require.ErrorContains(t, fetched[0], c.err)
			})
		})
	}
}

// Other authenticators are in force when the keys of their issuers are there. What cannot be used changes
// nothing, and keys of issuers that stay are not fetched again.
func TestIssuersReplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := signingKey(t, "k")
		p := newProvider(t, key)
		var removed []string
		s, err := authn.NewIssuers([]authn.JWTAuthenticator{p.config()}, authn.IssuersOptions{Dial: p.net.Dial, Removed: func(issuer string) { removed = append(removed, issuer) }})
		require.NoError(t, err)
		name := func() string {
			resp, ok, err := s.AuthenticateToken(t.Context(), sign(t, key, jose.ES256, p.of(nil)))
			require.NoError(t, err)
			if !ok {
				return ""
			}
			return resp.User.Name
		}
		require.Equal(t, "ann", name())
		prefixed, prefix := p.config(), "x:"
		prefixed.ClaimMappings.Username.Prefix = &prefix
		p.change(func() { p.broken = true })
		require.ErrorContains(t, s.Replace(t.Context(), []authn.JWTAuthenticator{prefixed}), "authn: issuer https://issuer.test: discovery: ")
		require.ErrorContains(t, s.Replace(t.Context(), []authn.JWTAuthenticator{{}}), "jwt[0].issuer.url: Required value")
		require.Equal(t, "ann", name())
		require.NoError(t, s.Replace(t.Context(), []authn.JWTAuthenticator{p.config()}), "it has the keys")
		p.change(func() { p.broken = false })
		require.NoError(t, s.Replace(t.Context(), []authn.JWTAuthenticator{prefixed}))
		require.Equal(t, "x:ann", name())

		other := prefixed
		other.Issuer.DiscoveryURL = p.url + "/elsewhere"
		require.NoError(t, s.Replace(t.Context(), []authn.JWTAuthenticator{other}))
		require.Equal(t, "x:ann", name())
		p.change(func() { p.stall = make(chan struct{}) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, s.Replace(ctx, []authn.JWTAuthenticator{p.config()}), context.DeadlineExceeded)
		close(p.stall)
		require.Empty(t, removed)
		require.NoError(t, s.Replace(t.Context(), nil))
		require.Empty(t, name())
		require.Equal(t, []string{"https://issuer.test"}, removed)
	})
}

// A token that was not signed is not accepted, and no text makes the parser fail.
func FuzzIssuers(f *testing.F) {
	key := signingKey(f, "k")
	p := &provider{url: "https://issuer.test", claimed: "https://issuer.test", keys: []jose.JSONWebKey{key}}
	ca, err := certs.NewAuthority("issuer")
	require.NoError(f, err)
	pair, err := ca.Serving("issuer.test", "issuer.test")
	require.NoError(f, err)
	p.ca, p.net = ca, pipenet.New()
	p.srv = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}}
	go func() { _ = p.srv.ServeTLS(p.net, "", "") }() // ends with the process
	s, err := authn.NewIssuers([]authn.JWTAuthenticator{p.config()}, authn.IssuersOptions{Dial: p.net.Dial})
	require.NoError(f, err)
	good := sign(f, key, jose.ES256, p.of(nil))
	_, ok, err := s.AuthenticateToken(f.Context(), good)
	require.NoError(f, err)
	require.True(f, ok)
	part := strings.Split(good, ".")
	for _, seed := range []string{good, "..", "e30.e30.", part[0] + "." + part[1] + ".", "e30." + part[1] + "." + part[2], fmt.Sprintf(`{"payload":%q,"protected":%q,"signature":%q}`, part[1], part[0], part[2])} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		_, ok, _ := s.AuthenticateToken(t.Context(), token)
		require.True(t, !ok || token == good, "a token that was never signed was accepted")
	})
}
