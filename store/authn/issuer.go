package authn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4" // see issuerkeys.go
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// issuer authenticates the tokens of one issuer.
type issuer struct {
	config      JWTAuthenticator
	expressions *claimExpressions
	algorithms  []jose.SignatureAlgorithm
	keys        *issuerKeys
}

// issuerSkew is how far an issuer's clock may be ahead.
const issuerSkew = time.Minute

// untrustedIssuer is the issuer that a token claims to be of; empty if it is no JSON web token.
func untrustedIssuer(token string) string {
	_, body, _, _, ok := splitJWT(token)
	if !ok {
		return ""
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(body, &claims) != nil {
		return ""
	}
	return canonicalIssuer(claims.Issuer)
}

// canonicalIssuer is the URL of an issuer. Google's tokens name theirs without a scheme.
func canonicalIssuer(claim string) string {
	if claim == "accounts.google.com" {
		return "https://accounts.google.com"
	}
	return claim
}

// claimSet are the claims of a token.
type claimSet map[string]json.RawMessage

// read decodes a claim.
func (c claimSet) read(name string, out any) error {
	text, ok := c[name]
	if !ok {
		return errors.New("claim not present")
	}
	return json.Unmarshal(text, out)
}

// authenticate returns the user of a token.
func (i *issuer) authenticate(ctx context.Context, token string) (*User, error) {
	signed, err := jose.ParseSignedCompact(token, i.algorithms)
	if err != nil {
		return nil, fmt.Errorf("malformed jwt: %w", err)
	}
	payload, err := i.keys.verify(ctx, signed)
	if err != nil {
		return nil, fmt.Errorf("verify token: %w", err)
	}
	var claims claimSet
	if err := json.Unmarshal(payload, &claims); err != nil {
		return nil, fmt.Errorf("parse claims: %w", err)
	}
	if err := i.valid(claims, time.Now()); err != nil {
		return nil, fmt.Errorf("verify token: %w", err)
	}
	var value ref.Val
	if i.expressions.aboutClaims() {
		var plain map[string]any
		if err := json.Unmarshal(payload, &plain); err != nil {
			return nil, fmt.Errorf("parse claims: %w", err)
		}
		value = escapedValue(types.DefaultTypeAdapter.NativeToValue(plain))
	}
	u, err := i.user(ctx, claims, value)
	if err != nil {
		return nil, err
	}
	return u, i.obeyRules(ctx, claims, value, u)
}

// claimTime is a number of seconds, which may have a fraction.
type claimTime float64

// time returns the point in time, at the limits of what can be compared if it is beyond them.
func (t claimTime) time() time.Time {
	const limit = 1 << 50
	return time.Unix(int64(math.Floor(max(-limit, min(limit, float64(t))))), 0).UTC()
}

// valid checks the claims that limit a token.
func (i *issuer) valid(claims claimSet, now time.Time) error {
	var name string
	var audiences audience
	var expires, notBefore claimTime
	if err := claims.read("iss", &name); err != nil {
		return fmt.Errorf("parse claim iss: %w", err)
	}
	if canonicalIssuer(name) != i.config.Issuer.URL {
		return fmt.Errorf("the token is issued by a different provider, expected %q got %q", i.config.Issuer.URL, name)
	}
	if err := claims.read("aud", &audiences); err != nil {
		return fmt.Errorf("parse claim aud: %w", err)
	}
	if !slices.ContainsFunc(i.config.Issuer.Audiences, func(a string) bool { return slices.Contains(audiences, a) }) {
		return fmt.Errorf("expected audience in %q got %q", i.config.Issuer.Audiences, []string(audiences))
	}
	if err := claims.read("exp", &expires); err != nil {
		return fmt.Errorf("parse claim exp: %w", err)
	}
	if expires.time().Before(now) {
		return fmt.Errorf("token is expired (Token Expiry: %v)", expires.time())
	}
	if _, has := claims["nbf"]; !has {
		return nil
	}
	if err := claims.read("nbf", &notBefore); err != nil {
		return fmt.Errorf("parse claim nbf: %w", err)
	}
	if now.Add(issuerSkew).Before(notBefore.time()) {
		return fmt.Errorf("current time %v before the nbf (not before) time: %v", now, notBefore.time())
	}
	return nil
}

// user maps claims, which value is too, to a user.
func (i *issuer) user(ctx context.Context, claims claimSet, value ref.Val) (*User, error) {
	u, x := &User{}, i.expressions
	var err error
	if x.username != nil {
		u.Name, err = x.username.evalText(ctx, value, "username")
	} else {
		u.Name, err = i.username(claims)
	}
	if err != nil {
		return nil, err
	}
	if u.Name == "" {
		return nil, errors.New("empty username is not allowed")
	}
	if u.Groups, err = i.groups(ctx, claims, value); err != nil {
		return nil, err
	}
	if name := i.config.ClaimMappings.UID.Claim; name != "" {
		if err := claims.read(name, &u.UID); err != nil {
			return nil, fmt.Errorf("parse uid claim %q: %w", name, err)
		}
	} else if x.uid != nil {
		if u.UID, err = x.uid.evalText(ctx, value, "uid"); err != nil {
			return nil, err
		}
	}
	u.Extra = map[string][]string{}
	var id string
	if claims.read("jti", &id) == nil && id != "" {
		u.Extra[ExtraCredentialID] = []string{CredentialID(id)}
	}
	for _, e := range x.extra {
		texts, err := e.evalTexts(ctx, value, "extra")
		if err != nil {
			return nil, err
		}
		if len(texts) > 0 {
			u.Extra[e.key] = texts
		}
	}
	return u, nil
}

// username maps the claim of the name. An address that is known not to be verified is refused.
func (i *issuer) username(claims claimSet) (name string, err error) {
	m := &i.config.ClaimMappings.Username
	if err := claims.read(m.Claim, &name); err != nil {
		return "", fmt.Errorf("parse username claims %q: %w", m.Claim, err)
	}
	if _, has := claims["email_verified"]; has && m.Claim == "email" {
		var verified bool
		if err := claims.read("email_verified", &verified); err != nil {
			return "", fmt.Errorf("parse 'email_verified' claim: %w", err)
		}
		if !verified {
			return "", errors.New("email not verified")
		}
	}
	return *m.Prefix + name, nil
}

func (i *issuer) groups(ctx context.Context, claims claimSet, value ref.Val) ([]string, error) {
	m := &i.config.ClaimMappings.Groups
	if m.Claim == "" {
		if i.expressions.groups == nil {
			return nil, nil
		}
		return i.expressions.groups.evalTexts(ctx, value, "group")
	}
	if _, has := claims[m.Claim]; !has {
		return nil, distributed(claims, m.Claim)
	}
	var groups audience // a string or a list of strings too
	if err := claims.read(m.Claim, &groups); err != nil {
		return nil, fmt.Errorf("parse groups claim %q: %w", m.Claim, err)
	}
	for n := range groups {
		groups[n] = *m.Prefix + groups[n]
	}
	return groups, nil
}

// distributed returns an error if a claim is said to be found elsewhere: a user without the groups they are
// in might not be denied what a group is.
func distributed(claims claimSet, claim string) error {
	var names map[string]string
	if claims.read("_claim_names", &names) == nil && names[claim] != "" {
		return fmt.Errorf("the claim %q is distributed, which is not supported: let the issuer put it into the token", claim)
	}
	return nil
}

// obeyRules checks the rules about claims and about the user.
func (i *issuer) obeyRules(ctx context.Context, claims claimSet, value ref.Val, u *User) error {
	for _, rule := range i.config.ClaimValidationRules {
		if rule.Claim == "" {
			continue
		}
		if _, has := claims[rule.Claim]; !has {
			return fmt.Errorf("required claim %s not present in ID token", rule.Claim)
		}
		var got string
		if err := claims.read(rule.Claim, &got); err != nil {
			return fmt.Errorf("parse claim %s: %w", rule.Claim, err)
		}
		if got != rule.RequiredValue {
			return fmt.Errorf("required claim %s value does not match. Got = %s, want = %s", rule.Claim, got, rule.RequiredValue)
		}
	}
	if err := holdAll(ctx, i.expressions.claimRules, "claims", value); err != nil {
		return fmt.Errorf("error evaluating claim validation expression: %w", err)
	}
	if len(i.expressions.userRules) > 0 {
		if err := holdAll(ctx, i.expressions.userRules, "user", userValue(u)); err != nil {
			return fmt.Errorf("error evaluating user info validation rule: %w", err)
		}
	}
	return nil
}
