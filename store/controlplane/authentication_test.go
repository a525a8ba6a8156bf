package controlplane_test

import (
	"crypto/x509"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// whoami asks the server who the connection's user is.
func whoami(t testing.TB, c client.Conn) (authenticationv1.UserInfo, error) {
	t.Helper()
	r, err := client.For[*authenticationv1.SelfSubjectReview](c).Create(t.Context(), &authenticationv1.SelfSubjectReview{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return r.Status.UserInfo, nil
}

func TestWhoIsAsking(t *testing.T) {
	p := start(t)
	pair, err := p.ca.Client("carol", "dev", "ops")
	require.NoError(t, err)
	u, err := whoami(t, p.conn(rest.Config{TLS: rest.TLSConfig{CertData: pair.CertPEM(), KeyData: pair.KeyPEM()}}))
	require.NoError(t, err)
	require.Equal(t, "carol", u.Username)
	require.Equal(t, []string{"dev", "ops", "system:authenticated"}, u.Groups)
	require.Contains(t, u.Extra, "authentication.kubernetes.io/credential-id")

	u, err = whoami(t, p.token("ann-token"))
	require.NoError(t, err)
	require.Equal(t, "ann", u.Username)
	require.Equal(t, "2", u.UID)
	require.Equal(t, []string{"dev", "ops", "system:authenticated"}, u.Groups)

	for name, token := range map[string]string{"unknown": "nope", "looks signed": "a.b.c", "forged": "eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0."} {
		_, err = whoami(t, p.token(token))
		require.Truef(t, apierrors.IsUnauthorized(err), "%s: %v", name, err)
	}

	other, err := certs.NewAuthority("other")
	require.NoError(t, err)
	stranger, err := other.Client("admin", "system:masters")
	require.NoError(t, err)
	_, err = whoami(t, p.conn(rest.Config{TLS: rest.TLSConfig{CertData: stranger.CertPEM(), KeyData: stranger.KeyPEM()}}))
	require.Truef(t, apierrors.IsUnauthorized(err), "a certificate of somebody else's: %v", err)
}

func TestAnonymous(t *testing.T) {
	p := start(t)
	nobody := p.conn(rest.Config{})
	_, err := nobody.Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/livez"})
	require.NoError(t, err)
	_, err = client.For[*corev1.Pod](nobody).List(t.Context(), client.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" at the cluster scope`)

	strict := start(t, func(o *controlplane.Options) { o.Anonymous = false })
	_, err = strict.conn(rest.Config{}).Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/livez"})
	require.True(t, apierrors.IsUnauthorized(err), err)
}

func TestImpersonation(t *testing.T) {
	p := start(t)
	u, err := whoami(t, p.as("dave", "night"))
	require.NoError(t, err)
	require.Equal(t, "dave", u.Username)
	require.Equal(t, []string{"night", "system:authenticated"}, u.Groups)

	ann := func(as *client.User) error {
		_, err := whoami(t, p.conn(rest.Config{BearerToken: "ann-token", Impersonate: as}))
		return err
	}
	err = ann(&client.User{Name: "dave"})
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `users "dave" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope`)
	create(t, p.admin(), &rbacv1.ClusterRole{ObjectMeta: meta("", "as-dave"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{"dave"}, Verbs: []string{"impersonate"}}}})
	bindCluster(t, p.admin(), "as-dave", "as-dave", user("ann"))
	p.eventually("ann may act as dave", func() bool { return ann(&client.User{Name: "dave"}) == nil })
	require.True(t, apierrors.IsForbidden(ann(&client.User{Name: "erin"})))
	require.True(t, apierrors.IsForbidden(ann(&client.User{Name: "dave", Groups: []string{"system:masters"}})))
}

func requestToken(t testing.TB, c client.Conn, account string, spec authenticationv1.TokenRequestSpec) (*authenticationv1.TokenRequest, error) {
	t.Helper()
	return client.Subresource[*authenticationv1.TokenRequest](client.For[*corev1.ServiceAccount](c), "token").
		Create(t.Context(), key("default", account), &authenticationv1.TokenRequest{Spec: spec})
}

func TestServiceAccountTokens(t *testing.T) {
	p := start(t)
	p.account("default", "bot")
	create(t, p.admin(), pod("home", func(p *corev1.Pod) { p.Spec.ServiceAccountName = "bot" }))
	create(t, p.admin(), &corev1.Secret{ObjectMeta: meta("default", "mark")})
	create(t, p.admin(), &corev1.Node{ObjectMeta: meta("", "n1")})

	plain, err := requestToken(t, p.admin(), "bot", authenticationv1.TokenRequestSpec{})
	require.NoError(t, err)
	require.Equal(t, int64(3600), *plain.Spec.ExpirationSeconds)
	require.Equal(t, []string{controlplane.DefaultIssuer}, plain.Spec.Audiences)
	u, err := whoami(t, p.token(plain.Status.Token))
	require.NoError(t, err)
	require.Equal(t, "system:serviceaccount:default:bot", u.Username)
	require.Equal(t, []string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"}, u.Groups)

	remove := map[string]func() error{
		"Pod": func() error {
			return client.For[*corev1.Pod](p.admin()).Delete(t.Context(), key("default", "home"), client.DeleteOptions{GracePeriodSeconds: new(int64)})
		},
		"Secret": func() error { return client.For[*corev1.Secret](p.admin()).Delete(t.Context(), key("default", "mark")) },
		"Node":   func() error { return client.For[*corev1.Node](p.admin()).Delete(t.Context(), key("", "n1")) },
	}
	for kind, name := range map[string]string{"Pod": "home", "Secret": "mark", "Node": "n1"} {
		ref := &authenticationv1.BoundObjectReference{Kind: kind, APIVersion: "v1", Name: name}
		r, err := requestToken(t, p.admin(), "bot", authenticationv1.TokenRequestSpec{BoundObjectRef: ref})
		require.NoError(t, err, kind)
		c := p.token(r.Status.Token)
		u, err := whoami(t, c)
		require.NoError(t, err, kind)
		if kind == "Pod" {
			require.Equal(t, []string{"home"}, []string(u.Extra["authentication.kubernetes.io/pod-name"]))
		}
		_, err = requestToken(t, p.admin(), "bot", authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: kind, APIVersion: "v1", Name: name, UID: "other"}})
		require.True(t, apierrors.IsConflict(err), "%s: %v", kind, err)
		require.NoError(t, remove[kind](), kind)
		p.eventually("the token died with its "+kind, func() bool { _, err := whoami(t, c); return apierrors.IsUnauthorized(err) })
	}

	for name, spec := range map[string]authenticationv1.TokenRequestSpec{
		"too short": {ExpirationSeconds: new(int64(599))},
		"too long":  {ExpirationSeconds: new(int64(1<<32 + 1))},
	} {
		_, err := requestToken(t, p.admin(), "bot", spec)
		require.Truef(t, apierrors.IsInvalid(err), "%s: %v", name, err)
	}
	_, err = requestToken(t, p.admin(), "bot", authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: "gone"}})
	require.True(t, apierrors.IsNotFound(err), err)
	_, err = requestToken(t, p.admin(), "bot", authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Job", APIVersion: "batch/v1", Name: "x"}})
	require.True(t, apierrors.IsBadRequest(err), err)
	_, err = requestToken(t, p.admin(), "nobody", authenticationv1.TokenRequestSpec{})
	require.True(t, apierrors.IsNotFound(err), err)

	elsewhere, err := requestToken(t, p.admin(), "bot", authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}})
	require.NoError(t, err)
	_, err = whoami(t, p.token(elsewhere.Status.Token))
	require.True(t, apierrors.IsUnauthorized(err), "a token for another audience: %v", err)
	review := func(token string, audiences ...string) authenticationv1.TokenReviewStatus {
		return create(t, p.admin(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}).Status
	}
	status := review(elsewhere.Status.Token, "vault", "other")
	require.True(t, status.Authenticated)
	require.Equal(t, []string{"vault"}, status.Audiences)
	require.False(t, review(elsewhere.Status.Token).Authenticated)
	require.Equal(t, "ann", review("ann-token").User.Username)
	require.False(t, review("nope").Authenticated)

	require.NoError(t, client.For[*corev1.ServiceAccount](p.admin()).Delete(t.Context(), key("default", "bot")))
	p.eventually("the token died with its account", func() bool {
		_, err := whoami(t, p.token(plain.Status.Token))
		return apierrors.IsUnauthorized(err)
	})
}

func TestOpenIDDiscovery(t *testing.T) {
	p := start(t)
	p.account("default", "bot")
	r, err := requestToken(t, p.admin(), "bot", authenticationv1.TokenRequestSpec{})
	require.NoError(t, err)
	get := func(c client.Conn, path string) (*client.Response, error) {
		return c.Do(t.Context(), &client.Request{Method: http.MethodGet, Path: path})
	}
	bot := p.token(r.Status.Token)
	resp, err := get(bot, "/.well-known/openid-configuration")
	require.NoError(t, err)
	require.Equal(t, "application/json", resp.ContentType)
	var doc struct {
		Issuer string   `json:"issuer"`
		JWKS   string   `json:"jwks_uri"`
		Algs   []string `json:"id_token_signing_alg_values_supported"`
	}
	require.NoError(t, json.Unmarshal(resp.Body, &doc))
	require.Equal(t, controlplane.DefaultIssuer, doc.Issuer)
	require.Equal(t, "https://pipe/openid/v1/jwks", doc.JWKS)
	require.Equal(t, []string{"ES256"}, doc.Algs)
	resp, err = get(bot, "/openid/v1/jwks")
	require.NoError(t, err)
	require.Equal(t, "application/jwk-set+json", resp.ContentType)
	require.Equal(t, 1, strings.Count(string(resp.Body), `"kty":"EC"`))
	for _, path := range []string{"/.well-known/openid-configuration", "/openid/v1/jwks"} {
		_, err = get(p.token("ann-token"), path)
		require.True(t, apierrors.IsForbidden(err), "not bound: %v", err)
		_, err = get(p.conn(rest.Config{}), path)
		require.True(t, apierrors.IsForbidden(err), "anonymous: %v", err)
		_, err = bot.Do(t.Context(), &client.Request{Method: http.MethodPost, Path: path})
		require.Error(t, err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := func() controlplane.Options { return controlplane.Options{ServiceAccountKeys: []any{signingKey(t)}} }
	for name, c := range map[string]struct {
		change func(*controlplane.Options)
		want   string
	}{
		"no keys":         {func(o *controlplane.Options) { o.ServiceAccountKeys = nil }, "key"},
		"bad key":         {func(o *controlplane.Options) { o.ServiceAccountKeys = []any{"x"} }, "key"},
		"unknown mode":    {func(o *controlplane.Options) { o.AuthorizationModes = []string{"Magic"} }, `unknown authorization mode "Magic"`},
		"mode twice":      {func(o *controlplane.Options) { o.AuthorizationModes = []string{"RBAC", "RBAC"} }, "given twice"},
		"unknown plugin":  {func(o *controlplane.Options) { o.EnableAdmission = []string{"Magic"} }, `unknown admission plugin "Magic"; known are AlwaysPullImages,`},
		"unknown disable": {func(o *controlplane.Options) { o.DisableAdmission = []string{"magic"} }, `unknown admission plugin "magic"`},
		"both": {func(o *controlplane.Options) {
			o.EnableAdmission, o.DisableAdmission = []string{"Priority"}, []string{"Priority"}
		}, "both enabled and disabled"},
	} {
		o := good()
		c.change(&o)
		_, err := controlplane.New(o)
		require.ErrorContains(t, err, c.want, name)
	}
	o := good()
	o.ClientCAs = func() *x509.CertPool { return nil }
	_, err := controlplane.New(o)
	require.NoError(t, err)
}

var tokenSpec authenticationv1.TokenRequestSpec

func TestBootstrapTokens(t *testing.T) {
	const token = "abc123.0123456789abcdef"
	secret := &corev1.Secret{ObjectMeta: meta("kube-system", "bootstrap-token-abc123"), Type: "bootstrap.kubernetes.io/token", StringData: map[string]string{
		"token-id": "abc123", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:workers",
	}}
	off := start(t)
	create(t, off.admin(), codec.DeepCopy(secret))
	_, err := whoami(t, off.token(token))
	require.True(t, apierrors.IsUnauthorized(err), "unless it is turned on: %v", err)

	p := start(t, func(o *controlplane.Options) { o.BootstrapTokens = true })
	bearer := p.token(token)
	_, err = whoami(t, bearer)
	require.True(t, apierrors.IsUnauthorized(err), "before there is a secret: %v", err)
	create(t, p.admin(), secret)
	var u authenticationv1.UserInfo
	p.eventually("the token counts", func() bool {
		u, err = whoami(t, bearer)
		return err == nil
	})
	require.Equal(t, "system:bootstrap:abc123", u.Username)
	require.Equal(t, []string{"system:bootstrappers", "system:bootstrappers:workers", "system:authenticated"}, u.Groups)
	_, err = client.For[*corev1.Secret](bearer).List(t.Context(), client.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "it has no rights of its own: %v", err)
	review, err := client.For[*authenticationv1.TokenReview](p.admin()).Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}})
	require.NoError(t, err)
	require.True(t, review.Status.Authenticated)
	_, err = whoami(t, p.token("abc123.0123456789abcdeX"))
	require.True(t, apierrors.IsUnauthorized(err), err)

	require.NoError(t, client.For[*corev1.Secret](p.admin()).Delete(t.Context(), key("kube-system", "bootstrap-token-abc123"), client.DeleteOptions{}))
	p.eventually("it no longer counts", func() bool {
		_, err = whoami(t, bearer)
		return apierrors.IsUnauthorized(err)
	})
}

// A credential that puts its bearer in system:unauthenticated does not make them authenticated: discovery
// stays closed to them.
func TestUnauthenticatedByGroup(t *testing.T) {
	p := start(t)
	pair, err := p.ca.Client("eve", "system:unauthenticated")
	require.NoError(t, err)
	eve := p.conn(rest.Config{TLS: rest.TLSConfig{CertData: pair.CertPEM(), KeyData: pair.KeyPEM()}})
	_, err = eve.Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/version"})
	require.NoError(t, err, "anonymous requests may, too")
	_, err = eve.Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/api"})
	require.True(t, apierrors.IsForbidden(err), err)
}
