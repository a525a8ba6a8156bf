package controlplane

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/registry"
)

// secretTokens checks the tokens in secrets, and records on which day they were last used.
type secretTokens struct {
	access registry.Access
	bound  *boundObjects
	log    *slog.Logger
}

// check implements authn.LegacyLookup. It reads secrets from the cache only: a signed token may be presented
// often after its secret has been deleted.
func (t *secretTokens) check(ctx context.Context, c *authn.LegacyClaims, token string) (authn.TokenUse, error) {
	const unknown = authn.TokenLegacy
	key := types.NamespacedName{Namespace: c.Namespace, Name: c.Secret}
	obj, err := t.access.View(ctx, secretsResource, key)
	switch {
	case apierrors.IsNotFound(err):
		return unknown, errors.New("the token has been invalidated")
	case err != nil:
		return unknown, err
	}
	secret := obj.(*corev1.Secret)
	switch {
	case secret.DeletionTimestamp != nil:
		return unknown, errors.New("the token has been invalidated")
	case subtle.ConstantTimeCompare(secret.Data["token"], []byte(token)) == 0:
		return unknown, fmt.Errorf("the token is not the one in secret %v", key)
	}
	if err := t.bound.check(ctx, &authn.TokenClaims{Namespace: c.Namespace, ServiceAccount: c.ServiceAccount}); err != nil {
		return unknown, err
	}
	t.used(ctx, secret)
	if secret.Labels[corev1.TokenInvalidSinceLabel] != "" {
		return authn.TokenLegacyInvalidated, fmt.Errorf("the token in secret %v for service account %s/%s has been marked invalid: use tokens from the TokenRequest API or manually created secret-based tokens, or remove the label %s from the secret to temporarily allow use of this token",
			key, c.Namespace, c.ServiceAccount.Name, corev1.TokenInvalidSinceLabel)
	}
	return t.useOf(ctx, secret, c), nil
}

// useOf returns the kind of an accepted use. The cluster has made the secrets that service accounts list.
func (t *secretTokens) useOf(ctx context.Context, secret *corev1.Secret, c *authn.LegacyClaims) authn.TokenUse {
	obj, err := t.access.View(ctx, serviceAccounts, types.NamespacedName{Namespace: c.Namespace, Name: c.ServiceAccount.Name})
	if sa, ok := obj.(*corev1.ServiceAccount); err == nil && ok &&
		slices.ContainsFunc(sa.Secrets, func(ref corev1.ObjectReference) bool { return ref.Name == secret.Name }) {
		return authn.TokenLegacyAuto
	}
	return authn.TokenLegacyManual
}

// used labels a secret with the current day. A label of the next one is by a server whose clock is ahead.
func (t *secretTokens) used(ctx context.Context, secret *corev1.Secret) {
	now := time.Now().UTC()
	today, tomorrow := now.Format(time.DateOnly), now.AddDate(0, 0, 1).Format(time.DateOnly)
	known := func(s *corev1.Secret) bool {
		return s.Labels[corev1.TokenLastUsedLabel] == today || s.Labels[corev1.TokenLastUsedLabel] == tomorrow
	}
	if known(secret) {
		return
	}
	_, err := t.access.Update(authn.AsServer(ctx), secretsResource, metav1.KeyOf(secret), func(obj metav1.Object) error {
		current := obj.(*corev1.Secret)
		if current.UID != secret.UID || known(current) {
			return registry.ErrUnchanged
		}
		if current.Labels == nil {
			current.Labels = map[string]string{}
		}
		current.Labels[corev1.TokenLastUsedLabel] = today
		return nil
	}, registry.Write{})
	if err != nil {
		t.log.Error("label secret failed", "namespace", secret.Namespace, "name", secret.Name, "err", err)
	}
}
