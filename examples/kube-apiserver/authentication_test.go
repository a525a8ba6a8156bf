package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

// tokenIssuer is an OpenID Connect issuer on the network, over TLS.
type tokenIssuer struct {
	url, caFile string
	ca          []byte
	key         jose.JSONWebKey
	broken      atomic.Bool
}

func newTokenIssuer(t *testing.T) *tokenIssuer {
	t.Helper()
	ca, err := certs.NewAuthority("issuer")
	require.NoError(t, err)
	pair, err := ca.Serving("issuer", "127.0.0.1")
	require.NoError(t, err)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i := &tokenIssuer{ca: ca.CertPEM(), caFile: filepath.Join(t.TempDir(), "ca.crt"), key: jose.JSONWebKey{Key: private, KeyID: "k"}}
	require.NoError(t, os.WriteFile(i.caFile, i.ca, 0o600))
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.broken.Load() {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/keys" {
			// The client may have gone.
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{i.key.Public()}})
			return
		}
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":"%s/keys"}`, i.url, i.url)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}
	s.StartTLS()
	t.Cleanup(s.Close)
	i.url = s.URL
	return i
}

func (i *tokenIssuer) token(t *testing.T, algorithm jose.SignatureAlgorithm) string {
	t.Helper()
	return signToken(t, algorithm, i.key, map[string]any{"iss": i.url, "aud": "cluster", "sub": "ann", "groups": []string{"dev"}, "tenant": "t", "exp": time.Now().Add(time.Hour).Unix()})
}

// signToken returns a JSON web token.
func signToken(t *testing.T, algorithm jose.SignatureAlgorithm, key any, claims map[string]any) string {
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

// configuration trusts the issuer, and maps its users to NAME of the expression.
func (i *tokenIssuer) configuration(t *testing.T, expression string) string {
	t.Helper()
	ca, err := json.Marshal(string(i.ca))
	require.NoError(t, err)
	return fmt.Sprintf("- issuer: {url: %s, audiences: [cluster], certificateAuthority: %s}\n  claimMappings: {username: {expression: %q}, groups: {claim: groups, prefix: 'g:'}}\n", i.url, ca, expression)
}

const authenticationHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"

// authenticating runs a server that allows everything, with further flags, and returns a function that
// returns the user of a token; the status if there is none.
func authenticating(t *testing.T, flags ...string) (*options, func(token string) string) {
	t.Helper()
	o, err := parse(append([]string{"--storage-backend=memory", "--authorization-mode=AlwaysAllow"}, flags...))
	require.NoError(t, err)
	st := memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- cp.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-cp.Ready()
	return o, func(token string) string { return userOf(t, cp, token) }
}

func userOf(t *testing.T, cp *controlplane.ControlPlane, token string) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", strings.NewReader(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	cp.ServeHTTP(w, r)
	var review authenticationv1.SelfSubjectReview
	if w.Code != http.StatusCreated {
		return http.StatusText(w.Code)
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &review))
	return review.Status.UserInfo.Username + " " + strings.Join(review.Status.UserInfo.Groups, ",")
}

// The flags describe one issuer.
func TestOIDCFlags(t *testing.T) {
	i := newTokenIssuer(t)
	trusted := []string{"--oidc-issuer-url=" + i.url, "--oidc-client-id=cluster", "--oidc-ca-file=" + i.caFile}
	for flags, want := range map[string]string{
		"": i.url + "#ann system:authenticated",
		"--oidc-username-prefix=- --oidc-groups-claim=groups":                          "ann dev,system:authenticated",
		"--oidc-username-prefix=u: --oidc-groups-claim=groups --oidc-groups-prefix=g:": "u:ann g:dev,system:authenticated",
		"--oidc-username-claim=tenant":                                                 i.url + "#t system:authenticated",
		"--oidc-required-claim=tenant=t":                                               i.url + "#ann system:authenticated",
		"--oidc-required-claim=tenant=t,x=y":                                           "Unauthorized",
		"--oidc-signing-algs=RS256":                                                    "Unauthorized",
		"--oidc-required-claim=aud=x":                                                  "Unauthorized",
	} {
		if !strings.Contains(flags, "algs") {
			flags += " --oidc-signing-algs=ES256"
		}
		_, user := authenticating(t, append(strings.Fields(flags), trusted...)...)
		require.Equal(t, want, user(i.token(t, jose.ES256)), flags)
		require.Equal(t, "Unauthorized", user("another"))
	}
	for flags, want := range map[string]string{
		"--oidc-client-id=x": "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
		"--oidc-issuer-url=https://a --oidc-client-id=x --oidc-required-claim=y": "--oidc-required-claim=y: want CLAIM=VALUE",
		"--oidc-issuer-url=https://a --authentication-config=x":                  "authentication-config file and oidc-* flags are mutually exclusive",
	} {
		_, err := parse(append([]string{"--storage-backend=memory"}, strings.Fields(flags)...))
		require.ErrorContains(t, err, want)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for flags, want := range map[string]string{
		"--oidc-issuer-url=http://a":                            "--oidc-*: authn: jwt[0].issuer.url: Invalid value: \"http://a\": URL scheme must be https",
		"--oidc-issuer-url=" + controlplane.DefaultIssuer:       "URL must not overlap with disallowed issuers",
		"--oidc-issuer-url=https://a --oidc-ca-file=" + empty:   "data does not contain any valid",
		"--oidc-issuer-url=https://a --oidc-signing-algs=HS256": `unsupported signing algorithm "HS256"`,
	} {
		o, err := parse(append([]string{"--storage-backend=memory", "--oidc-client-id=x"}, strings.Fields(flags)...))
		require.NoError(t, err)
		st := memory.New(memory.Options{})
		_, err = o.controlPlane(st, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, want)
		require.NoError(t, st.Close())
	}
}

// A changed file is in force when the keys of its issuers are there; one that cannot be used is reported, and
// the last good one stays.
func TestAuthenticationReload(t *testing.T) {
	first, second := newTokenIssuer(t), newTokenIssuer(t)
	file := filepath.Join(t.TempDir(), "authentication.yaml")
	write := func(text string) {
		require.NoError(t, os.WriteFile(file+".new", []byte(authenticationHead+text), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	const anonymous = "anonymous: {enabled: true, conditions: [{path: /livez}]}\n"
	mapped := "jwt:\n" + first.configuration(t, "'first:' + claims.sub")
	write(anonymous + mapped)
	o, user := authenticating(t, "--authentication-config="+file)
	var outcomes atomic.Pointer[[]string]
	outcomes.Store(&[]string{})
	o.authentication.changed = func(err error) {
		all := append(append([]string(nil), *outcomes.Load()...), fmt.Sprint(err))
		outcomes.Store(&all)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); o.authentication.follow(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	reports := func(n int, want string) {
		t.Helper()
		require.Eventually(t, func() bool { return len(*outcomes.Load()) >= n }, time.Minute, 10*time.Millisecond)
		require.Contains(t, (*outcomes.Load())[n-1], want)
	}
	const ann = "first:ann g:dev,system:authenticated"
	require.Equal(t, ann, user(first.token(t, jose.ES256)))
	require.Equal(t, "Unauthorized", user(second.token(t, jose.ES256)))

	write(anonymous + mapped + "  nonsense: 1\n")
	reports(1, `unknown field "jwt[0].nonsense"`)
	require.Equal(t, ann, user(first.token(t, jose.ES256)))
	write(mapped)
	reports(2, "anonymous: Forbidden: changed from initial configuration file")
	write(anonymous + mapped + second.configuration(t, "'second:' + claims.sub"))
	reports(3, "<nil>")
	require.Equal(t, ann, user(first.token(t, jose.ES256)))
	require.Equal(t, "second:ann g:dev,system:authenticated", user(second.token(t, jose.ES256)))

	third := newTokenIssuer(t)
	third.broken.Store(true)
	write(anonymous + "jwt:\n" + third.configuration(t, "claims.sub"))
	reports(4, "the status is 500")
	require.Equal(t, ann, user(first.token(t, jose.ES256)), "the last good one stays")
}

// Requests without credentials are accepted for the paths that the file names.
func TestAnonymousPaths(t *testing.T) {
	file := filepath.Join(t.TempDir(), "authentication.yaml")
	require.NoError(t, os.WriteFile(file, []byte(authenticationHead+"anonymous: {enabled: true, conditions: [{path: /version}]}"), 0o600))
	o, err := parse([]string{"--storage-backend=memory", "--authentication-config=" + file})
	require.NoError(t, err)
	st := memory.New(memory.Options{})
	defer func() { require.NoError(t, st.Close()) }()
	cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for path, want := range map[string]int{"/version": http.StatusForbidden, "/version/": http.StatusUnauthorized, "/livez": http.StatusUnauthorized, "/apis": http.StatusUnauthorized} {
		w := httptest.NewRecorder()
		cp.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, want, w.Code, "%s: without a policy the one that is known is forbidden", path)
	}
	o, err = parse([]string{"--storage-backend=memory", "--anonymous-auth=true", "--authentication-config=" + file})
	require.NoError(t, err)
	_, err = o.controlPlane(st, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "--anonymous-auth flag cannot be set when anonymous field is configured")
}
