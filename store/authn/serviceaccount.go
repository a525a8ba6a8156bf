package authn

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
)

// Extra keys that a service account token adds to its user.
const (
	ExtraPodName      = "authentication.kubernetes.io/pod-name"
	ExtraPodUID       = "authentication.kubernetes.io/pod-uid"
	ExtraNodeName     = "authentication.kubernetes.io/node-name"
	ExtraNodeUID      = "authentication.kubernetes.io/node-uid"
	ExtraCredentialID = authenticationv1.ExtraCredentialID
)

// ObjectRef names an object a token is bound to.
type ObjectRef struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
}

// TokenClaims are the claims of a service account token.
type TokenClaims struct {
	Namespace      string
	ServiceAccount ObjectRef
	// Pod, Secret and Node the token is bound to; it is valid while they exist. Only Pod and Node can be
	// combined.
	Pod, Secret, Node *ObjectRef
	Audiences         []string
	IssuedAt, Expires time.Time
	ID                string
	// WarnAfter, if set, is the time after which use of the token is reported.
	WarnAfter time.Time
}

// UserName is the user name of a service account.
func UserName(namespace, name string) string { return ServiceAccountPrefix + namespace + ":" + name }

// SplitUserName is the reverse of UserName; ok is false for other users.
func SplitUserName(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, ServiceAccountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, ":")
}

// Lookup checks that what a token is bound to still exists with the same uid. It returns an error
// that names the deleted object.
type Lookup func(ctx context.Context, c *TokenClaims) error

// TokensOptions configure Tokens.
type TokensOptions struct {
	// Issuers: new tokens carry the first, tokens of all are accepted. Required.
	Issuers []string
	// Keys: the first signs, all verify. RSA or ECDSA, see ParseKeys. Required.
	Keys []any
	// Audiences the server itself accepts; empty means Issuers.
	Audiences []string
	// Lookup; nil skips the check.
	Lookup Lookup
	// Used is called when a token has been accepted, or a legacy one verified, and must be fast and safe for
	// concurrent use. Nil means none.
	Used func(TokenUse)
}

// TokenUse is a use of a service account token.
type TokenUse int

// The uses. Those of tokens that are not extended are not reported.
const (
	// TokenFresh and TokenStale are uses of extended tokens, before and after the time at which a client
	// should have requested another one.
	TokenFresh TokenUse = iota
	TokenStale
	// TokenLegacy is a use of a token without an audience, of a secret, whose signature is valid.
	TokenLegacy
	// TokenLegacyManual and TokenLegacyAuto are accepted ones, of secrets that users and that the cluster has
	// made; TokenLegacyInvalidated is one that is refused because it has been marked as invalid.
	TokenLegacyManual
	TokenLegacyAuto
	TokenLegacyInvalidated
)

// Tokens signs and verifies service account tokens. Safe for concurrent use.
type Tokens struct {
	opts TokensOptions
	keys atomic.Pointer[[]*jwtKey]
}

// NewTokens checks the options.
func NewTokens(o TokensOptions) (*Tokens, error) {
	if len(o.Issuers) == 0 || o.Issuers[0] == "" {
		return nil, errors.New("authn: a service account issuer is required")
	}
	if len(o.Audiences) == 0 {
		o.Audiences = o.Issuers
	}
	t := &Tokens{opts: o}
	if err := t.SetKeys(o.Keys); err != nil {
		return nil, err
	}
	return t, nil
}

// SetKeys replaces TokensOptions.Keys: tokens signed by a removed key are rejected from now on. After an
// error the keys are as before.
func (t *Tokens) SetKeys(keys []any) error {
	if len(keys) == 0 {
		return errors.New("authn: a service account key is required")
	}
	next := make([]*jwtKey, len(keys))
	for i, key := range keys {
		var err error
		if next[i], err = newJWTKey(key); err != nil {
			return err
		}
	}
	t.keys.Store(&next)
	return nil
}

// Issuer returns the issuer of new tokens.
func (t *Tokens) Issuer() string { return t.opts.Issuers[0] }

// Audiences returns the audiences that the server accepts.
func (t *Tokens) Audiences() []string { return t.opts.Audiences }

type wireClaims struct {
	Audience   audience    `json:"aud"`
	Expires    int64       `json:"exp"`
	IssuedAt   int64       `json:"iat"`
	Issuer     string      `json:"iss"`
	ID         string      `json:"jti,omitempty"`
	Kubernetes *kubeClaims `json:"kubernetes.io,omitempty"`
	NotBefore  int64       `json:"nbf"`
	Subject    string      `json:"sub"`
}

type kubeClaims struct {
	Namespace      string     `json:"namespace"`
	Node           *ObjectRef `json:"node,omitempty"`
	Pod            *ObjectRef `json:"pod,omitempty"`
	Secret         *ObjectRef `json:"secret,omitempty"`
	ServiceAccount ObjectRef  `json:"serviceaccount"`
	WarnAfter      int64      `json:"warnafter,omitempty"`
}

// audience is encoded as a string or a list of strings.
type audience []string

func (a *audience) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*[]string)(a)) == nil { // also null
		return nil
	}
	var one string
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*a = audience{one}
	return nil
}

// CredentialID is the credential id of the user of a token with an ID, for TokenClaims.ID.
func CredentialID(tokenID string) string { return "JTI=" + tokenID }

// Sign returns a signed token. Empty Audiences mean the server's own; ID and IssuedAt are set.
func (t *Tokens) Sign(c TokenClaims) (string, error) {
	if len(c.Audiences) == 0 {
		c.Audiences = t.opts.Audiences
	}
	if c.ID == "" {
		c.ID = newUUID()
	}
	now := time.Now().Unix()
	k := &kubeClaims{Namespace: c.Namespace, ServiceAccount: c.ServiceAccount, Pod: c.Pod, Secret: c.Secret, Node: c.Node}
	if !c.WarnAfter.IsZero() {
		k.WarnAfter = c.WarnAfter.Unix()
	}
	return (*t.keys.Load())[0].sign(wireClaims{
		Audience: c.Audiences, Expires: c.Expires.Unix(), IssuedAt: now, NotBefore: now,
		Issuer: t.Issuer(), ID: c.ID, Subject: UserName(c.Namespace, c.ServiceAccount.Name), Kubernetes: k,
	})
}

// AuthenticateToken implements TokenAuthenticator: tokens of other issuers are not its business, its own must
// verify, be within their period of validity, be valid for one of the wanted audiences and be bound to
// existing objects.
func (t *Tokens) AuthenticateToken(ctx context.Context, token string) (*Response, bool, error) {
	h, body, signed, sig, ok := splitJWT(token)
	if !ok {
		return nil, false, nil
	}
	var w wireClaims
	if json.Unmarshal(body, &w) != nil || !slices.Contains(t.opts.Issuers, w.Issuer) {
		return nil, false, nil
	}
	if err := t.verify(h, signed, sig); err != nil {
		return nil, false, err
	}
	now := time.Now()
	switch {
	case w.Kubernetes == nil:
		return nil, false, errors.New("authn: service account token: no kubernetes.io claims")
	case now.After(time.Unix(w.Expires, 0)):
		return nil, false, errors.New("authn: service account token has expired")
	case now.Add(clockSkew).Before(time.Unix(w.NotBefore, 0)):
		return nil, false, errors.New("authn: service account token is not valid yet")
	}
	auds, err := t.accepted(ctx, w.Audience)
	if err != nil {
		return nil, false, err
	}
	k := w.Kubernetes
	if w.Subject != UserName(k.Namespace, k.ServiceAccount.Name) {
		return nil, false, errors.New("authn: service account token: subject and claims differ")
	}
	c := &TokenClaims{Namespace: k.Namespace, ServiceAccount: k.ServiceAccount, Pod: k.Pod, Secret: k.Secret, Node: k.Node,
		Audiences: w.Audience, ID: w.ID, Expires: time.Unix(w.Expires, 0), IssuedAt: time.Unix(w.IssuedAt, 0)}
	if t.opts.Lookup != nil {
		if err := t.opts.Lookup(ctx, c); err != nil {
			return nil, false, fmt.Errorf("authn: service account token: %w", err)
		}
	}
	resp := &Response{User: c.user(), Audiences: auds}
	if k.WarnAfter != 0 {
		use := TokenFresh
		if late := now.Unix() - k.WarnAfter; now.After(time.Unix(k.WarnAfter, 0)) {
			use = TokenStale
			resp.Notes = []Note{{"authentication.k8s.io/stale-token", fmt.Sprintf("subject: %s, seconds after warning threshold: %d", w.Subject, late)}}
		}
		t.used(use)
	}
	return resp, true, nil
}

func (t *Tokens) used(u TokenUse) {
	if t.opts.Used != nil {
		t.opts.Used(u)
	}
}

// clockSkew is how far the signer's clock may be ahead.
const clockSkew = 10 * time.Second

// verify checks the header and the signature of a token.
func (t *Tokens) verify(h jwtHeader, signed string, sig []byte) error {
	if h.Critical != nil {
		return errors.New("authn: service account token: the header has critical extensions, and none is supported")
	}
	for _, k := range *t.keys.Load() {
		if k.alg == h.Algorithm && (h.KeyID == "" || h.KeyID == k.id) && k.verify(signed, sig) {
			return nil
		}
	}
	return errors.New("authn: service account token: the signature is not by a known key")
}

// accepted returns those audiences of a token that the request, or else the server, accepts.
func (t *Tokens) accepted(ctx context.Context, audiences []string) ([]string, error) {
	wanted := AudiencesFrom(ctx)
	if len(wanted) == 0 {
		wanted = t.opts.Audiences
	}
	var out []string
	for _, a := range audiences {
		if slices.Contains(wanted, a) {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("authn: service account token is for audiences %q, not %q", audiences, wanted)
	}
	return out, nil
}

func (c *TokenClaims) user() *User {
	u := &User{
		Name: UserName(c.Namespace, c.ServiceAccount.Name), UID: c.ServiceAccount.UID,
		Groups: []string{GroupServiceAccounts, GroupServiceAccounts + ":" + c.Namespace},
		Extra:  map[string][]string{},
	}
	if c.ID != "" {
		u.Extra[ExtraCredentialID] = []string{CredentialID(c.ID)}
	}
	if c.Pod != nil {
		u.Extra[ExtraPodName], u.Extra[ExtraPodUID] = []string{c.Pod.Name}, []string{c.Pod.UID}
	}
	if c.Node != nil {
		u.Extra[ExtraNodeName] = []string{c.Node.Name}
		if c.Node.UID != "" {
			u.Extra[ExtraNodeUID] = []string{c.Node.UID}
		}
	}
	return u
}

// JWKS returns the set of public keys as served at /openid/v1/jwks.
func (t *Tokens) JWKS() ([]byte, error) {
	set := struct {
		Keys []jwk `json:"keys"`
	}{}
	for _, k := range *t.keys.Load() {
		j, err := k.jwk()
		if err != nil {
			return nil, err
		}
		if !slices.Contains(set.Keys, j) { // the signing key may be among those that verify, too
			set.Keys = append(set.Keys, j)
		}
	}
	return json.Marshal(set)
}

// Discovery returns the document served at /.well-known/openid-configuration. jwksURI is where JWKS is
// served.
func (t *Tokens) Discovery(jwksURI string) ([]byte, error) {
	var algs []string
	for _, k := range *t.keys.Load() {
		if !slices.Contains(algs, k.alg) {
			algs = append(algs, k.alg)
		}
	}
	return json.Marshal(struct {
		Issuer        string   `json:"issuer"`
		JWKSURI       string   `json:"jwks_uri"`
		ResponseTypes []string `json:"response_types_supported"`
		SubjectTypes  []string `json:"subject_types_supported"`
		SigningAlgs   []string `json:"id_token_signing_alg_values_supported"`
	}{t.Issuer(), jwksURI, []string{"id_token"}, []string{"public"}, algs})
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
