package authn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// LegacyIssuer is the issuer of the tokens in secrets of type kubernetes.io/service-account-token.
const LegacyIssuer = "kubernetes/serviceaccount"

// LegacyClaims are what the token in a secret says.
type LegacyClaims struct {
	Namespace, Secret string
	ServiceAccount    ObjectRef
}

// LegacyLookup checks that the secret that a token names holds it, and that its service account exists with
// the same UID. Its error says why the token is refused.
type LegacyLookup func(ctx context.Context, c *LegacyClaims, token string) error

// legacyWire is the encoding of LegacyClaims. Such a token has no audience and does not expire.
type legacyWire struct {
	Issuer    string `json:"iss"`
	Subject   string `json:"sub"`
	Name      string `json:"kubernetes.io/serviceaccount/service-account.name"`
	UID       string `json:"kubernetes.io/serviceaccount/service-account.uid"`
	Secret    string `json:"kubernetes.io/serviceaccount/secret.name"`
	Namespace string `json:"kubernetes.io/serviceaccount/namespace"`
}

// Legacy authenticates the tokens in secrets, which are signed by one of the keys of t and are for the
// audiences of the server. Tokens of other issuers are not its business.
func (t *Tokens) Legacy(lookup LegacyLookup) TokenAuthenticator {
	return TokenFunc(func(ctx context.Context, token string) (*Response, bool, error) {
		h, body, signed, sig, ok := splitJWT(token)
		var w legacyWire
		if !ok || json.Unmarshal(body, &w) != nil || w.Issuer != LegacyIssuer {
			return nil, false, nil
		}
		if err := t.verify(h, signed, sig); err != nil {
			return nil, false, err
		}
		if w.Namespace == "" || w.Secret == "" || w.Name == "" || w.UID == "" || w.Subject != UserName(w.Namespace, w.Name) {
			return nil, false, errors.New("authn: service account token: a claim is missing or differs from the subject")
		}
		t.used(TokenLegacy)
		audiences, err := t.accepted(ctx, t.opts.Audiences)
		if err != nil {
			return nil, false, err
		}
		c := &LegacyClaims{Namespace: w.Namespace, Secret: w.Secret, ServiceAccount: ObjectRef{Name: w.Name, UID: w.UID}}
		if err := lookup(ctx, c, token); err != nil {
			return nil, false, fmt.Errorf("authn: service account token: %w", err)
		}
		claims := TokenClaims{Namespace: c.Namespace, ServiceAccount: c.ServiceAccount}
		return &Response{User: claims.user(), Audiences: audiences}, true, nil
	})
}
