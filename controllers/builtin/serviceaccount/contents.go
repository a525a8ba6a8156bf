package serviceaccount

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	// Signatures of every kind of key.
	"github.com/go-jose/go-jose/v4"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// tokenIssuer is the issuer of the tokens in secrets.
const tokenIssuer = "kubernetes/serviceaccount"

// contents are what the secrets of tokens have.
type contents struct {
	signer jose.Signer
	rootCA []byte
}

// newSigner returns a signer whose key has the id that API servers know it by.
func newSigner(key crypto.Signer) (jose.Signer, error) {
	if key == nil {
		return nil, errors.New("serviceaccount: TokenOptions.Key is required")
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("serviceaccount: the key of tokens: %w", err)
	}
	id := sha256.Sum256(der)
	algorithm := jose.ES256
	if _, ok := key.Public().(*rsa.PublicKey); ok {
		algorithm = jose.RS256
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm,
		Key: jose.JSONWebKey{Key: key, KeyID: base64.RawURLEncoding.EncodeToString(id[:])}}, nil)
	if err != nil {
		return nil, fmt.Errorf("serviceaccount: the key of tokens: %w", err)
	}
	return signer, nil
}

// fill completes a secret, in memory, and reports whether something was missing.
func (c *contents) fill(secret *corev1.Secret, account *corev1.ServiceAccount) (bool, error) {
	changed := false
	set := func(key string, value []byte) {
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key], changed = value, true
	}
	if len(c.rootCA) > 0 && !bytes.Equal(secret.Data[corev1.ServiceAccountRootCAKey], c.rootCA) {
		set(corev1.ServiceAccountRootCAKey, c.rootCA)
	}
	if len(secret.Data[corev1.ServiceAccountNamespaceKey]) == 0 {
		set(corev1.ServiceAccountNamespaceKey, []byte(secret.Namespace))
	}
	if len(secret.Data[corev1.ServiceAccountTokenKey]) == 0 {
		token, err := c.sign(secret, account)
		if err != nil {
			return false, err
		}
		set(corev1.ServiceAccountTokenKey, []byte(token))
	}
	if secret.Annotations[corev1.ServiceAccountUIDKey] == "" {
		secret.Annotations[corev1.ServiceAccountUIDKey], changed = string(account.UID), true
	}
	return changed, nil
}

// sign returns the token of an account in a secret.
func (c *contents) sign(secret *corev1.Secret, account *corev1.ServiceAccount) (string, error) {
	claims, err := json.Marshal(map[string]string{
		"iss":                                    tokenIssuer,
		"sub":                                    "system:serviceaccount:" + account.Namespace + ":" + account.Name,
		"kubernetes.io/serviceaccount/namespace": account.Namespace,
		"kubernetes.io/serviceaccount/secret.name":          secret.Name,
		"kubernetes.io/serviceaccount/service-account.name": account.Name,
		"kubernetes.io/serviceaccount/service-account.uid":  string(account.UID),
	})
	if err != nil {
		return "", err
	}
	signed, err := c.signer.Sign(claims)
	if err != nil {
		return "", fmt.Errorf("serviceaccount: sign the token in %s: %w", secret.Key(), err)
	}
	return signed.CompactSerialize()
}
