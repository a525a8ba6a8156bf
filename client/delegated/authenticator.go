package delegated

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/client"
)

// groupAuthenticated is the group of every authenticated user, except those in system:unauthenticated.
const (
	groupAuthenticated   = "system:authenticated"
	groupUnauthenticated = "system:unauthenticated"
	anonymous            = "system:anonymous"
)

// AuthenticatorOptions choose the credentials that are accepted. The zero value accepts tokens only.
type AuthenticatorOptions struct {
	// ClientCAs returns the authorities of client certificates and is called for each request. Certificates
	// are not accepted if it is nil or returns nil.
	ClientCAs func() *x509.CertPool
	// NoTokens accepts no bearer tokens.
	NoTokens bool
	// Audiences lists the accepted audiences, one of which a token must have; empty means the API server's
	// own.
	Audiences []string
	// TTL is how long the result of a TokenReview is cached, of valid and of invalid tokens; 0 means 2
	// minutes.
	TTL time.Duration
	// Timeout of one review; 0 means 10 s.
	Timeout time.Duration
}

// Authenticator identifies the user of a request. Create it with [NewAuthenticator]. It is safe for
// concurrent use.
type Authenticator struct {
	opts    AuthenticatorOptions
	reviews *client.Client[*authenticationv1.TokenReview]
	// By the token's digest; nil for bad tokens.
	cache *reviewCache[[sha256.Size]byte, *authenticationv1.UserInfo]
}

// NewAuthenticator returns an authenticator that reviews tokens through conn, which may be nil with NoTokens.
func NewAuthenticator(conn client.Conn, opts AuthenticatorOptions) *Authenticator {
	if opts.TTL <= 0 {
		opts.TTL = 2 * time.Minute
	}
	if opts.Timeout <= 0 {
		opts.Timeout = 10 * time.Second
	}
	a := &Authenticator{opts: opts, cache: newReviewCache[[sha256.Size]byte, *authenticationv1.UserInfo]()}
	if !opts.NoTokens {
		a.reviews = client.For[*authenticationv1.TokenReview](conn)
	}
	return a
}

// ErrInvalidToken is the error for a bearer token that the API server does not accept.
var ErrInvalidToken = errors.New("delegated: invalid bearer token")

// Authenticate identifies the user by the TLS client certificate, else by the bearer token of the
// Authorization header. It returns false and no error when the request has neither, and an error when its
// credentials are refused or cannot be reviewed. The user is in the group system:authenticated, unless
// it is system:anonymous or in system:unauthenticated, and must not be changed.
func (a *Authenticator) Authenticate(r *http.Request) (*authenticationv1.UserInfo, bool, error) {
	u, certErr := a.certificate(r)
	if u != nil {
		return u, true, nil
	}
	token := bearer(r)
	if token == "" || a.opts.NoTokens {
		return nil, false, certErr
	}
	u, err := a.cache.get(r.Context(), sha256.Sum256([]byte(token)), func(ctx context.Context) (*authenticationv1.UserInfo, time.Duration, error) {
		u, err := a.review(ctx, token)
		return u, a.opts.TTL, err
	})
	if err == nil && u == nil {
		err = ErrInvalidToken
	}
	if err != nil {
		return nil, false, errors.Join(certErr, err)
	}
	return u, true, nil
}

// certificate returns the user of the client certificate, nil if there is none, or an error if it is refused.
func (a *Authenticator) certificate(r *http.Request) (*authenticationv1.UserInfo, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || a.opts.ClientCAs == nil {
		return nil, nil
	}
	// A nil pool would mean the system's roots.
	roots := a.opts.ClientCAs()
	if roots == nil {
		return nil, nil
	}
	leaf := r.TLS.PeerCertificates[0]
	opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, c := range r.TLS.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(opts); err != nil {
		return nil, fmt.Errorf("delegated: client certificate of %q: %w", leaf.Subject.CommonName, err)
	}
	u, err := authenticationv1.CertificateUser(leaf)
	if err != nil || u == nil {
		return nil, err
	}
	return authenticated(u), nil
}

// review returns nil for a token that the API server does not accept.
func (a *Authenticator) review(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, a.opts.Timeout)
	defer cancel()
	r, err := a.reviews.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: a.opts.Audiences}})
	if err != nil {
		return nil, fmt.Errorf("delegated: review of a token: %w", err)
	}
	st := &r.Status
	switch {
	case !st.Authenticated:
		return nil, nil
	case st.User.Username == "":
		return nil, errors.New("delegated: review of a token: the result has no user")
	case len(a.opts.Audiences) > 0 && !slices.ContainsFunc(st.Audiences, func(s string) bool { return slices.Contains(a.opts.Audiences, s) }):
		return nil, nil // a server that knows no audiences has not checked them
	}
	return authenticated(&st.User), nil
}

func authenticated(u *authenticationv1.UserInfo) *authenticationv1.UserInfo {
	if u.Username != anonymous && !slices.Contains(u.Groups, groupAuthenticated) && !slices.Contains(u.Groups, groupUnauthenticated) {
		u.Groups = append(slices.Clip(u.Groups), groupAuthenticated)
	}
	return u
}

func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
