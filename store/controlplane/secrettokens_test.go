package controlplane_test

import (
	"crypto/ecdsa"
	"encoding/json"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4" // another implementation than the one under test
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// secretToken signs claims as the token controller of kube-controller-manager does.
func secretToken(t *testing.T, key *ecdsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	require.NoError(t, err)
	payload, err := json.Marshal(claims)
	require.NoError(t, err)
	signed, err := signer.Sign(payload)
	require.NoError(t, err)
	token, err := signed.CompactSerialize()
	require.NoError(t, err)
	return token
}

// A token in a secret is good as long as the secret holds it and its account exists, and the day of its use
// is recorded. Wrong claims and signatures are refused.
func TestTokensInSecrets(t *testing.T) {
	key := planetest.SigningKey(t)
	p := planetest.Start(t, func(o *controlplane.Options) { o.ServiceAccountKeys = []any{key} })
	account := p.Account("default", "robot")
	secrets := client.For[*corev1.Secret](p.Admin())
	const claim = "kubernetes.io/serviceaccount/"
	good := map[string]any{
		"iss": "kubernetes/serviceaccount", "sub": "system:serviceaccount:default:robot",
		claim + "namespace": "default", claim + "secret.name": "s", claim + "service-account.name": "robot", claim + "service-account.uid": string(account.UID),
	}
	token := secretToken(t, key, good)
	meta := planetest.Meta("default", "s")
	meta.Annotations = map[string]string{corev1.ServiceAccountNameKey: "robot"}
	planetest.Create(t, p.Admin(), &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeServiceAccountToken, Data: map[string][]byte{"token": []byte(token)}})
	update := func(change func(*corev1.Secret)) {
		t.Helper()
		_, err := client.Update(t.Context(), secrets, planetest.Key("default", "s"), func(s *corev1.Secret) error { change(s); return nil })
		require.NoError(t, err)
	}
	refused := func(token string) bool {
		_, err := whoami(t, p.Token(token))
		return apierrors.IsUnauthorized(err)
	}
	p.Eventually("the secret is known", func() bool { return !refused(token) })
	u, err := whoami(t, p.Token(token))
	require.NoError(t, err)
	require.Equal(t, "system:serviceaccount:default:robot", u.Username)
	require.Equal(t, string(account.UID), u.UID)
	require.Equal(t, []string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"}, u.Groups)
	now, err := secrets.Get(t.Context(), planetest.Key("default", "s"), client.GetOptions{})
	require.NoError(t, err)
	used, err := time.Parse(time.DateOnly, now.Labels["kubernetes.io/legacy-token-last-used"])
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), used, 25*time.Hour)
	review := planetest.Create(t, p.Admin(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{"vault"}}}).Status
	require.False(t, review.Authenticated, "it is for the server only")

	for name, change := range map[string]map[string]any{
		"another issuer":  {"iss": "https://elsewhere"},
		"another subject": {"sub": "system:serviceaccount:default:other"},
		"another account": {"sub": "system:serviceaccount:kube-system:robot", claim + "namespace": "kube-system"},
		"another uid":     {claim + "service-account.uid": "1"},
		"no secret":       {claim + "secret.name": ""},
		"another secret":  {claim + "secret.name": "other"},
	} {
		claims := maps.Clone(good)
		maps.Copy(claims, change)
		bad := secretToken(t, key, claims)
		require.True(t, refused(bad), name)
		change := func(s *corev1.Secret) { s.Data["token"] = []byte(bad) }
		if name != "no secret" && name != "another secret" { // even if the secret holds it
			update(change)
			p.Eventually(name, func() bool { return refused(token) })
			require.True(t, refused(bad), name)
		}
	}
	forged := secretToken(t, planetest.SigningKey(t), good)
	update(func(s *corev1.Secret) { s.Data["token"] = []byte(forged) })
	p.Eventually("the token has been replaced", func() bool { return refused(token) })
	require.True(t, refused(forged), "another key")

	update(func(s *corev1.Secret) { s.Data["token"] = []byte(token) })
	p.Eventually("the token is back", func() bool { return !refused(token) })
	update(func(s *corev1.Secret) { s.Labels["kubernetes.io/legacy-token-invalid-since"] = "2026-01-01" })
	p.Eventually("the token is marked invalid", func() bool { return refused(token) })
	update(func(s *corev1.Secret) { delete(s.Labels, "kubernetes.io/legacy-token-invalid-since") })
	p.Eventually("the token is allowed again", func() bool { return !refused(token) })
	require.NoError(t, secrets.Delete(t.Context(), planetest.Key("default", "s")))
	p.Eventually("the token ended with its secret", func() bool { return refused(token) })
}

// Uses of tokens are reported by what makes them worth replacing.
func TestTokenUses(t *testing.T) {
	key := planetest.SigningKey(t)
	var mu sync.Mutex
	seen := map[authn.TokenUse]int{}
	p := planetest.Start(t, func(o *controlplane.Options) {
		o.ServiceAccountKeys = []any{key}
		o.TokenUsed = func(u authn.TokenUse) {
			mu.Lock()
			defer mu.Unlock()
			seen[u]++
		}
	})
	uses := func(token string) (out map[authn.TokenUse]int, err error) {
		mu.Lock()
		clear(seen)
		mu.Unlock()
		_, err = whoami(t, p.Token(token))
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(seen), err
	}
	account := p.Account("default", "robot")
	ref := authn.ObjectRef{Name: "robot", UID: string(account.UID)}
	for use, warn := range map[authn.TokenUse]time.Time{authn.TokenFresh: time.Now().Add(time.Hour), authn.TokenStale: time.Now().Add(-time.Hour)} {
		token, err := p.Tokens().Sign(authn.TokenClaims{Namespace: "default", ServiceAccount: ref, Expires: time.Now().Add(2 * time.Hour), WarnAfter: warn})
		require.NoError(t, err)
		got, err := uses(token)
		require.NoError(t, err)
		require.Equal(t, map[authn.TokenUse]int{use: 1}, got)
	}
	plain, err := p.Tokens().Sign(authn.TokenClaims{Namespace: "default", ServiceAccount: ref, Expires: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	got, err := uses(plain)
	require.NoError(t, err)
	require.Empty(t, got)

	const claim = "kubernetes.io/serviceaccount/"
	token := secretToken(t, key, map[string]any{
		"iss": authn.LegacyIssuer, "sub": "system:serviceaccount:default:robot",
		claim + "namespace": "default", claim + "secret.name": "s", claim + "service-account.name": "robot", claim + "service-account.uid": string(account.UID),
	})
	got, err = uses(token)
	require.True(t, apierrors.IsUnauthorized(err), err)
	require.Equal(t, map[authn.TokenUse]int{authn.TokenLegacy: 1}, got, "a token without its secret")
	meta := planetest.Meta("default", "s")
	meta.Annotations = map[string]string{corev1.ServiceAccountNameKey: "robot"}
	planetest.Create(t, p.Admin(), &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeServiceAccountToken, Data: map[string][]byte{"token": []byte(token)}})
	becomes := func(use authn.TokenUse) {
		t.Helper()
		p.Eventually("the change is known", func() bool {
			got, _ := uses(token)
			return maps.Equal(got, map[authn.TokenUse]int{authn.TokenLegacy: 1, use: 1})
		})
	}
	becomes(authn.TokenLegacyManual)
	_, err = client.Update(t.Context(), client.For[*corev1.ServiceAccount](p.Admin()), planetest.Key("default", "robot"), func(a *corev1.ServiceAccount) error {
		a.Secrets = append(a.Secrets, corev1.ObjectReference{Name: "s"})
		return nil
	})
	require.NoError(t, err)
	becomes(authn.TokenLegacyAuto)
	_, err = client.Update(t.Context(), client.For[*corev1.Secret](p.Admin()), planetest.Key("default", "s"), func(s *corev1.Secret) error {
		s.Labels["kubernetes.io/legacy-token-invalid-since"] = "2026-01-01"
		return nil
	})
	require.NoError(t, err)
	becomes(authn.TokenLegacyInvalidated)
}
