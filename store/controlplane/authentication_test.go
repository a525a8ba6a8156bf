package controlplane_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/audit"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// whoami returns the user that the server authenticates for the connection.
func whoami(t testing.TB, c client.Conn) (authenticationv1.UserInfo, error) {
	t.Helper()
	r, err := client.For[*authenticationv1.SelfSubjectReview](c).Create(t.Context(), &authenticationv1.SelfSubjectReview{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return r.Status.UserInfo, nil
}

func TestWhoIsAsking(t *testing.T) {
	p := planetest.Start(t)
	pair, err := p.CA.Client("carol", "dev", "ops")
	require.NoError(t, err)
	u, err := whoami(t, p.Conn(rest.Config{TLS: rest.TLSConfig{CertData: pair.CertPEM(), KeyData: pair.KeyPEM()}}))
	require.NoError(t, err)
	require.Equal(t, "carol", u.Username)
	require.Equal(t, []string{"dev", "ops", "system:authenticated"}, u.Groups)
	require.Contains(t, u.Extra, "authentication.kubernetes.io/credential-id")

	u, err = whoami(t, p.Token("ann-token"))
	require.NoError(t, err)
	require.Equal(t, "ann", u.Username)
	require.Equal(t, "2", u.UID)
	require.Equal(t, []string{"dev", "ops", "system:authenticated"}, u.Groups)

	for name, token := range map[string]string{"unknown": "nope", "looks signed": "a.b.c", "forged": "eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0."} {
		_, err = whoami(t, p.Token(token))
		require.Truef(t, apierrors.IsUnauthorized(err), "%s: %v", name, err)
	}

	other, err := certs.NewAuthority("other")
	require.NoError(t, err)
	stranger, err := other.Client("admin", "system:masters")
	require.NoError(t, err)
	_, err = whoami(t, p.Conn(rest.Config{TLS: rest.TLSConfig{CertData: stranger.CertPEM(), KeyData: stranger.KeyPEM()}}))
	require.Truef(t, apierrors.IsUnauthorized(err), "a certificate of somebody else's: %v", err)
}

func TestAnonymous(t *testing.T) {
	p := planetest.Start(t)
	nobody := p.Conn(rest.Config{})
	_, err := nobody.Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/livez"})
	require.NoError(t, err)
	_, err = client.For[*corev1.Pod](nobody).List(t.Context(), client.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" at the cluster scope`)

	strict := planetest.Start(t, func(o *controlplane.Options) { o.Anonymous = false })
	_, err = strict.Conn(rest.Config{}).Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/livez"})
	require.True(t, apierrors.IsUnauthorized(err), err)
}

func TestImpersonation(t *testing.T) {
	p := planetest.Start(t)
	u, err := whoami(t, p.As("dave", "night"))
	require.NoError(t, err)
	require.Equal(t, "dave", u.Username)
	require.Equal(t, []string{"night", "system:authenticated"}, u.Groups)

	ann := func(as *client.User) error {
		_, err := whoami(t, p.Conn(rest.Config{BearerToken: "ann-token", Impersonate: as}))
		return err
	}
	err = ann(&client.User{Name: "dave"})
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `selfsubjectreviews.authentication.k8s.io is forbidden: User "ann" cannot impersonate-on:user-info:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope`)
	planetest.Create(t, p.Admin(), &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "as-dave"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{"dave"}, Verbs: []string{"impersonate"}}}})
	bindCluster(t, p.Admin(), "as-dave", "as-dave", user("ann"))
	p.Eventually("ann may act as dave", func() bool { return ann(&client.User{Name: "dave"}) == nil })
	require.True(t, apierrors.IsForbidden(ann(&client.User{Name: "erin"})))
	require.True(t, apierrors.IsForbidden(ann(&client.User{Name: "dave", Groups: []string{"system:masters"}})))
}

func requestToken(t testing.TB, c client.Conn, account string, spec authenticationv1.TokenRequestSpec) (*authenticationv1.TokenRequest, error) {
	t.Helper()
	return client.Subresource[*authenticationv1.TokenRequest](client.For[*corev1.ServiceAccount](c), "token").
		Create(t.Context(), planetest.Key("default", account), &authenticationv1.TokenRequest{Spec: spec})
}

// issued keeps the annotations of audit events that say which credential a request has issued.
type issued struct {
	mu  sync.Mutex
	ids []string
}

func (i *issued) Record(_ context.Context, events ...*auditv1.Event) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, e := range events {
		if id := e.Annotations["authentication.kubernetes.io/issued-credential-id"]; id != "" && e.Stage == auditv1.StageResponseComplete {
			i.ids = append(i.ids, e.ObjectRef.Subresource+" "+id)
		}
	}
	return nil
}

// The audit event of the request for a token names it as the events of its user's requests do.
func TestIssuedCredentialID(t *testing.T) {
	policy, err := audit.ParsePolicy([]byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]"))
	require.NoError(t, err)
	trail := &issued{}
	p := planetest.Start(t, func(o *controlplane.Options) { o.Server.Audit = audit.Options{Policy: policy, Backend: trail} })
	p.Account("default", "bot")
	var want []string
	for range 2 {
		token, err := requestToken(t, p.Admin(), "bot", authenticationv1.TokenRequestSpec{})
		require.NoError(t, err)
		u, err := whoami(t, p.Token(token.Status.Token))
		require.NoError(t, err)
		id := u.Extra["authentication.kubernetes.io/credential-id"]
		require.Len(t, id, 1)
		require.Regexp(t, `^JTI=[0-9a-f-]{36}$`, id[0])
		want = append(want, "token "+id[0])
	}
	require.NotEqual(t, want[0], want[1])
	_, err = requestToken(t, p.Admin(), "bot", authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64)})
	require.True(t, apierrors.IsInvalid(err), err)
	p.Eventually("the events are recorded", func() bool {
		trail.mu.Lock()
		defer trail.mu.Unlock()
		return len(trail.ids) == 2
	})
	require.Equal(t, want, trail.ids)
}

func TestServiceAccountTokens(t *testing.T) {
	p := planetest.Start(t)
	p.Account("default", "bot")
	planetest.Create(t, p.Admin(), planetest.Pod("home", func(p *corev1.Pod) { p.Spec.ServiceAccountName = "bot" }))
	planetest.Create(t, p.Admin(), &corev1.Secret{ObjectMeta: planetest.Meta("default", "mark")})
	planetest.Create(t, p.Admin(), &corev1.Node{ObjectMeta: planetest.Meta("", "n1")})

	plain, err := requestToken(t, p.Admin(), "bot", authenticationv1.TokenRequestSpec{})
	require.NoError(t, err)
	require.Equal(t, int64(3600), *plain.Spec.ExpirationSeconds)
	require.Equal(t, []string{controlplane.DefaultIssuer}, plain.Spec.Audiences)
	u, err := whoami(t, p.Token(plain.Status.Token))
	require.NoError(t, err)
	require.Equal(t, "system:serviceaccount:default:bot", u.Username)
	require.Equal(t, []string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"}, u.Groups)

	remove := map[string]func() error{
		"Pod": func() error {
			return client.For[*corev1.Pod](p.Admin()).Delete(t.Context(), planetest.Key("default", "home"), client.DeleteOptions{GracePeriodSeconds: new(int64)})
		},
		"Secret": func() error {
			return client.For[*corev1.Secret](p.Admin()).Delete(t.Context(), planetest.Key("default", "mark"))
		},
		"Node": func() error { return client.For[*corev1.Node](p.Admin()).Delete(t.Context(), planetest.Key("", "n1")) },
	}
	for kind, name := range map[string]string{"Pod": "home", "Secret": "mark", "Node": "n1"} {
		ref := &authenticationv1.BoundObjectReference{Kind: kind, APIVersion: "v1", Name: name}
		r, err := requestToken(t, p.Admin(), "bot", authenticationv1.TokenRequestSpec{BoundObjectRef: ref})
		require.NoError(t, err, kind)
		c := p.Token(r.Status.Token)
		u, err := whoami(t, c)
		require.NoError(t, err, kind)
		if kind == "Pod" {
			require.Equal(t, []string{"home"}, []string(u.Extra["authentication.kubernetes.io/pod-name"]))
		}
		_, err = requestToken(t, p.Admin(), "bot", authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: kind, APIVersion: "v1", Name: name, UID: "other"}})
		require.True(t, apierrors.IsConflict(err), "%s: %v", kind, err)
		require.NoError(t, remove[kind](), kind)
		p.Eventually("the token died with its "+kind, func() bool { _, err := whoami(t, c); return apierrors.IsUnauthorized(err) })
	}

	for name, spec := range map[string]authenticationv1.TokenRequestSpec{
		"too short": {ExpirationSeconds: new(int64(599))},
		"too long":  {ExpirationSeconds: new(int64(1<<32 + 1))},
	} {
		_, err := requestToken(t, p.Admin(), "bot", spec)
		require.Truef(t, apierrors.IsInvalid(err), "%s: %v", name, err)
	}
	_, err = requestToken(t, p.Admin(), "bot", authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: "gone"}})
	require.True(t, apierrors.IsNotFound(err), err)
	_, err = requestToken(t, p.Admin(), "bot", authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Job", APIVersion: "batch/v1", Name: "x"}})
	require.True(t, apierrors.IsBadRequest(err), err)
	_, err = requestToken(t, p.Admin(), "nobody", authenticationv1.TokenRequestSpec{})
	require.True(t, apierrors.IsNotFound(err), err)

	elsewhere, err := requestToken(t, p.Admin(), "bot", authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}})
	require.NoError(t, err)
	_, err = whoami(t, p.Token(elsewhere.Status.Token))
	require.True(t, apierrors.IsUnauthorized(err), "a token for another audience: %v", err)
	review := func(token string, audiences ...string) authenticationv1.TokenReviewStatus {
		return planetest.Create(t, p.Admin(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}).Status
	}
	status := review(elsewhere.Status.Token, "vault", "other")
	require.True(t, status.Authenticated)
	require.Equal(t, []string{"vault"}, status.Audiences)
	require.False(t, review(elsewhere.Status.Token).Authenticated)
	require.Equal(t, "ann", review("ann-token").User.Username)
	require.False(t, review("nope").Authenticated)

	require.NoError(t, client.For[*corev1.ServiceAccount](p.Admin()).Delete(t.Context(), planetest.Key("default", "bot")))
	p.Eventually("the token died with its account", func() bool {
		_, err := whoami(t, p.Token(plain.Status.Token))
		return apierrors.IsUnauthorized(err)
	})
}

// A request for a token may have the UID of the account, and is refused when the account of the name is
// another one meanwhile.
func TestTokenOfANamesake(t *testing.T) {
	p := planetest.Start(t)
	accounts := client.For[*corev1.ServiceAccount](p.Admin())
	create := func() types.UID {
		return planetest.Create(t, p.Admin(), &corev1.ServiceAccount{ObjectMeta: planetest.Meta("default", "bot")}).UID
	}
	request := func(uid types.UID) (*authenticationv1.TokenRequest, error) {
		return client.Subresource[*authenticationv1.TokenRequest](accounts, "token").Create(t.Context(), planetest.Key("default", "bot"),
			&authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{UID: uid}})
	}
	uid := create()
	for _, given := range []types.UID{"", uid} {
		r, err := request(given)
		require.NoError(t, err)
		require.Equal(t, uid, r.UID)
	}
	require.NoError(t, accounts.Delete(t.Context(), planetest.Key("default", "bot")))
	create()
	_, err := request(uid)
	require.True(t, apierrors.IsConflict(err), err)
}

func TestOpenIDDiscovery(t *testing.T) {
	p := planetest.Start(t)
	p.Account("default", "bot")
	r, err := requestToken(t, p.Admin(), "bot", authenticationv1.TokenRequestSpec{})
	require.NoError(t, err)
	get := func(c client.Conn, path string) (*client.Response, error) {
		return c.Do(t.Context(), &client.Request{Method: http.MethodGet, Path: path})
	}
	bot := p.Token(r.Status.Token)
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
		_, err = get(p.Token("ann-token"), path)
		require.True(t, apierrors.IsForbidden(err), "not bound: %v", err)
		_, err = get(p.Conn(rest.Config{}), path)
		require.True(t, apierrors.IsForbidden(err), "anonymous: %v", err)
		_, err = bot.Do(t.Context(), &client.Request{Method: http.MethodPost, Path: path})
		require.Error(t, err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := func() controlplane.Options {
		return controlplane.Options{ServiceAccountKeys: []any{planetest.SigningKey(t)}}
	}
	for name, c := range map[string]struct {
		change func(*controlplane.Options)
		want   string
	}{
		"no keys":         {func(o *controlplane.Options) { o.ServiceAccountKeys = nil }, "key"},
		"bad key":         {func(o *controlplane.Options) { o.ServiceAccountKeys = []any{"x"} }, "key"},
		"unknown mode":    {func(o *controlplane.Options) { o.AuthorizationModes = []string{"Magic"} }, `unknown authorization mode "Magic"`},
		"mode twice":      {func(o *controlplane.Options) { o.AuthorizationModes = []string{"RBAC", "RBAC"} }, "given twice"},
		"unknown plugin":  {func(o *controlplane.Options) { o.EnableAdmission = []string{"Magic"} }, `unknown admission plugin "Magic"; known are AlwaysAdmit,`},
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
	secret := &corev1.Secret{ObjectMeta: planetest.Meta("kube-system", "bootstrap-token-abc123"), Type: "bootstrap.kubernetes.io/token", StringData: map[string]string{
		"token-id": "abc123", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:workers",
	}}
	off := planetest.Start(t)
	planetest.Create(t, off.Admin(), codec.DeepCopy(secret))
	_, err := whoami(t, off.Token(token))
	require.True(t, apierrors.IsUnauthorized(err), "unless it is turned on: %v", err)

	p := planetest.Start(t, func(o *controlplane.Options) { o.BootstrapTokens = true })
	bearer := p.Token(token)
	_, err = whoami(t, bearer)
	require.True(t, apierrors.IsUnauthorized(err), "before there is a secret: %v", err)
	planetest.Create(t, p.Admin(), secret)
	var u authenticationv1.UserInfo
	p.Eventually("the token counts", func() bool {
		u, err = whoami(t, bearer)
		return err == nil
	})
	require.Equal(t, "system:bootstrap:abc123", u.Username)
	require.Equal(t, []string{"system:bootstrappers", "system:bootstrappers:workers", "system:authenticated"}, u.Groups)
	_, err = client.For[*corev1.Secret](bearer).List(t.Context(), client.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "it has no rights of its own: %v", err)
	review, err := client.For[*authenticationv1.TokenReview](p.Admin()).Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}})
	require.NoError(t, err)
	require.True(t, review.Status.Authenticated)
	_, err = whoami(t, p.Token("abc123.0123456789abcdeX"))
	require.True(t, apierrors.IsUnauthorized(err), err)

	require.NoError(t, client.For[*corev1.Secret](p.Admin()).Delete(t.Context(), planetest.Key("kube-system", "bootstrap-token-abc123"), client.DeleteOptions{}))
	p.Eventually("it no longer counts", func() bool {
		_, err = whoami(t, bearer)
		return apierrors.IsUnauthorized(err)
	})
}

// A user whose credential is in the group system:unauthenticated is not in system:authenticated: discovery is
// refused.
func TestUnauthenticatedByGroup(t *testing.T) {
	p := planetest.Start(t)
	pair, err := p.CA.Client("eve", "system:unauthenticated")
	require.NoError(t, err)
	eve := p.Conn(rest.Config{TLS: rest.TLSConfig{CertData: pair.CertPEM(), KeyData: pair.KeyPEM()}})
	_, err = eve.Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/version"})
	require.NoError(t, err, "anonymous requests may, too")
	_, err = eve.Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/api"})
	require.True(t, apierrors.IsForbidden(err), err)
}

// With paths, only these are served to callers without credentials.
func TestAnonymousPaths(t *testing.T) {
	p := planetest.Start(t, func(o *controlplane.Options) { o.AnonymousPaths = []string{"/livez"} })
	get := func(path string) error {
		_, err := p.Token("").Do(t.Context(), &client.Request{Method: http.MethodGet, Path: path})
		return err
	}
	require.NoError(t, get("/livez"))
	for _, path := range []string{"/healthz", "/livez/ping", "/api"} {
		require.True(t, apierrors.IsUnauthorized(get(path)), path)
	}
}

// Tokens live no longer than the server allows, and pods' tokens no longer than requested if it extends none.
func TestTokenLife(t *testing.T) {
	life := func(change func(*controlplane.Options), seconds int64) time.Duration {
		p := planetest.Start(t, change)
		p.Account("default", "default")
		bound := planetest.Create(t, p.Admin(), planetest.Pod("p"))
		r, err := requestToken(t, p.Admin(), "default", authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds,
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: "p", UID: bound.UID}})
		require.NoError(t, err)
		_, body, _ := strings.Cut(r.Status.Token, ".")
		body, _, _ = strings.Cut(body, ".")
		raw, err := base64.RawURLEncoding.DecodeString(body)
		require.NoError(t, err)
		var claims struct{ Exp, Iat int64 }
		require.NoError(t, json.Unmarshal(raw, &claims))
		return time.Duration(claims.Exp-claims.Iat) * time.Second
	}
	bounded := func(o *controlplane.Options) { o.MaxTokenExpiration = 48 * time.Hour }
	near := func(want time.Duration, got time.Duration) { require.InDelta(t, want.Seconds(), got.Seconds(), 5) }
	near(365*24*time.Hour, life(func(*controlplane.Options) {}, 3607))
	near(3607*time.Second, life(func(o *controlplane.Options) { o.NoExtendedTokens = true }, 3607))
	near(48*time.Hour, life(bounded, 3607))
	near(48*time.Hour, life(bounded, 1_000_000))
	_, err := controlplane.New(controlplane.Options{ServiceAccountKeys: []any{planetest.SigningKey(t)}, MaxTokenExpiration: time.Minute})
	require.ErrorContains(t, err, "MaxTokenExpiration must be between an hour and 2^32 seconds")
}
