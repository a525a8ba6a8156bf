package authn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/authn"
)

func tokenSecret(change func(*corev1.Secret)) *corev1.Secret {
	s := &corev1.Secret{Type: authn.BootstrapSecretType, Data: map[string][]byte{
		"token-id": []byte("abc123"), "token-secret": []byte("0123456789abcdef"), "usage-bootstrap-authentication": []byte("true"),
	}}
	s.Namespace, s.Name = "kube-system", "bootstrap-token-abc123"
	change(s)
	return s
}

func TestBootstrapTokens(t *testing.T) {
	const token = "abc123.0123456789abcdef"
	set := func(key, value string) func(*corev1.Secret) {
		return func(s *corev1.Secret) { s.Data[key] = []byte(value) }
	}
	nobody := []string(nil)
	plain := []string{"system:bootstrappers"}
	synctest.Test(t, func(t *testing.T) { // it is 2000-01-01T00:00:00Z
		for name, tc := range map[string]struct {
			token  string
			change func(*corev1.Secret)
			want   []string
		}{
			"good":                     {token, func(*corev1.Secret) {}, plain},
			"not yet expired":          {token, set("expiration", "2000-01-01T00:00:01Z"), plain},
			"expired in another zone":  {token, set("expiration", "2000-01-01T01:00:00+02:00"), nobody},
			"expires now":              {token, set("expiration", "2000-01-01T00:00:00Z"), nobody},
			"unreadable expiration":    {token, set("expiration", "tomorrow"), nobody},
			"empty expiration":         {token, set("expiration", ""), plain},
			"more groups":              {token, set("auth-extra-groups", "system:bootstrappers:workers,system:bootstrappers:a:b-1"), []string{"system:bootstrappers", "system:bootstrappers:a:b-1", "system:bootstrappers:workers"}},
			"a group twice":            {token, set("auth-extra-groups", "system:bootstrappers:w,system:bootstrappers:w"), []string{"system:bootstrappers", "system:bootstrappers:w"}},
			"the masters' group":       {token, set("auth-extra-groups", "system:bootstrappers:w,system:masters"), nobody},
			"a group without a name":   {token, set("auth-extra-groups", "system:bootstrappers:"), nobody},
			"a group with a space":     {token, set("auth-extra-groups", "system:bootstrappers:a, system:bootstrappers:b"), nobody},
			"a group too long":         {token, set("auth-extra-groups", "system:bootstrappers:"+strings.Repeat("a", 257)), nobody},
			"wrong secret":             {"abc123.0123456789abcdeg", func(*corev1.Secret) {}, nobody},
			"no secret stored":         {token, set("token-secret", ""), nobody},
			"another id in the secret": {token, set("token-id", "abc124"), nobody},
			"no such token":            {"zzz999.0123456789abcdef", func(*corev1.Secret) {}, nobody},
			"upper case":               {"ABC123.0123456789ABCDEF", func(*corev1.Secret) {}, nobody},
			"too short":                {"abc123.0123456789abcde", func(*corev1.Secret) {}, nobody},
			"too long":                 {"abc123.0123456789abcdef0", func(*corev1.Secret) {}, nobody},
			"with a line after it":     {token + "\n", func(*corev1.Secret) {}, nobody},
			"not for authentication":   {token, set("usage-bootstrap-authentication", "false"), nobody},
			"use not told":             {token, func(s *corev1.Secret) { delete(s.Data, "usage-bootstrap-authentication") }, nobody},
			"wrong type":               {token, func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }, nobody},
			"being deleted":            {token, func(s *corev1.Secret) { s.DeletionTimestamp = new(metav1.Now()) }, nobody},
		} {
			stored := tokenSecret(tc.change)
			resp, ok, err := authn.BootstrapTokens(func(_ context.Context, key types.NamespacedName) (*corev1.Secret, error) {
				if key != metav1.KeyOf(stored) {
					return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
				}
				return stored, nil
			}).AuthenticateToken(t.Context(), tc.token)
			require.NoError(t, err, name)
			require.Equal(t, tc.want != nil, ok, name)
			if ok {
				require.Equal(t, &authn.User{Name: "system:bootstrap:abc123", Groups: tc.want}, resp.User, name)
			}
		}
		down := errors.New("store is down")
		_, ok, err := authn.BootstrapTokens(func(context.Context, types.NamespacedName) (*corev1.Secret, error) { return nil, down }).AuthenticateToken(t.Context(), token)
		require.False(t, ok)
		require.ErrorIs(t, err, down)
	})
}
