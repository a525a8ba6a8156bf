package authn

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4" // see issuerkeys.go
)

// IssuersOptions configure Issuers.
type IssuersOptions struct {
	// Algorithms are those that tokens may be signed with, of [SigningAlgorithms]; nil means all.
	Algorithms []string
	// AccountIssuers are the issuers of service account tokens, whose URLs no issuer may have.
	AccountIssuers []string
	// Dial opens connections to the issuers; nil means the network, and the proxy of the environment.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Authenticated is called for each token of an issuer: with its URL, whether it identifies a user, and
	// how long that took. Fetched is called for each fetch of an issuer's keys, with the document that has
	// them, and Removed when an issuer is no longer in force. All may be nil, must be fast and safe for
	// concurrent use.
	Authenticated func(issuer string, took time.Duration, err error)
	Fetched       func(issuer string, keySet []byte, err error)
	Removed       func(issuer string)
}

// Issuers authenticates the tokens of OpenID Connect issuers, JSON web tokens. A token of another issuer is
// not its business. The keys of an issuer are fetched when its first token comes, again for a token with an
// unknown key, at most every ten seconds, and in the background when they are ten minutes old. While an
// issuer cannot be reached its known keys remain valid.
type Issuers struct {
	opts       IssuersOptions
	algorithms []jose.SignatureAlgorithm
	current    atomic.Pointer[map[string]*issuer] // by URL
}

// NewIssuers checks the authenticators as [ParseConfiguration] does and begins to fetch the keys of their
// issuers.
func NewIssuers(authenticators []JWTAuthenticator, opts IssuersOptions) (*Issuers, error) {
	s := &Issuers{opts: opts, algorithms: signingAlgorithms}
	if opts.Algorithms != nil {
		s.algorithms = nil
		for _, name := range opts.Algorithms {
			a := jose.SignatureAlgorithm(name)
			if !slices.Contains(signingAlgorithms, a) {
				return nil, fmt.Errorf("authn: unsupported signing algorithm %q; supported are %s", name, strings.Join(SigningAlgorithms(), ", "))
			}
			s.algorithms = append(s.algorithms, a)
		}
	}
	if s.opts.Fetched == nil {
		s.opts.Fetched = func(string, []byte, error) {}
	}
	next, err := s.build(authenticators)
	if err != nil {
		return nil, err
	}
	for _, i := range next {
		_, _ = i.keys.begin() // an error comes up again with a token
	}
	s.current.Store(&next)
	return s, nil
}

// Replace puts other authenticators in force when the keys of all their issuers are there. After an error
// those before stay in force. Keys of issuers that stay as they are remain known.
func (s *Issuers) Replace(ctx context.Context, authenticators []JWTAuthenticator) error {
	next, err := s.build(authenticators)
	if err != nil {
		return err
	}
	errs := make([]error, len(authenticators))
	var fetches sync.WaitGroup
	for n := range authenticators {
		i := next[authenticators[n].Issuer.URL]
		if i.keys.current.Load() != nil {
			continue
		}
		fetches.Go(func() {
			f, err := i.keys.begin()
			if f != nil {
				select {
				case <-f.done:
				case <-ctx.Done():
				}
				err = i.keys.failure()
			}
			if err == nil && i.keys.current.Load() == nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				errs[n] = fmt.Errorf("authn: issuer %s: %w", i.config.Issuer.URL, err)
			}
		})
	}
	fetches.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	before := *s.current.Swap(&next)
	for url := range before {
		if next[url] == nil && s.opts.Removed != nil {
			s.opts.Removed(url)
		}
	}
	return nil
}

// build makes the issuers of authenticators, those in force that are the same.
func (s *Issuers) build(authenticators []JWTAuthenticator) (map[string]*issuer, error) {
	known := map[string]*issuer{}
	if p := s.current.Load(); p != nil {
		known = *p
	}
	expressions, wrong := (&Configuration{JWT: authenticators}).compile(s.opts.AccountIssuers)
	if err := wrong.Err(); err != nil {
		return nil, fmt.Errorf("authn: %w", err)
	}
	next := map[string]*issuer{}
	for n := range authenticators {
		a := &authenticators[n]
		if old := known[a.Issuer.URL]; old != nil && reflect.DeepEqual(old.config, *a) {
			next[a.Issuer.URL] = old
			continue
		}
		next[a.Issuer.URL] = &issuer{config: *a, expressions: expressions[n], algorithms: s.algorithms, keys: s.keys(&a.Issuer)}
	}
	return next, nil
}

// keys returns the keys of an issuer, none of which is known yet.
func (s *Issuers) keys(i *Issuer) *issuerKeys {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: s.opts.Dial, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true} // the next fetch is minutes away
	if s.opts.Dial != nil {
		transport.Proxy = nil
	}
	if ca := i.CertificateAuthority; ca != "" {
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(ca)) // validation has parsed it
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Scheme != "https" || len(via) >= 10 {
			return fmt.Errorf("redirected to %s, or too often", r.URL)
		}
		return nil
	}}
	return &issuerKeys{issuer: i.URL, client: client, fetched: s.opts.Fetched,
		document: cmp.Or(i.DiscoveryURL, strings.TrimSuffix(i.URL, "/")+"/.well-known/openid-configuration")}
}

// AuthenticateToken implements TokenAuthenticator.
func (s *Issuers) AuthenticateToken(ctx context.Context, token string) (*Response, bool, error) {
	all := *s.current.Load()
	if len(all) == 0 {
		return nil, false, nil
	}
	i := all[untrustedIssuer(token)]
	if i == nil {
		return nil, false, nil
	}
	began := time.Now()
	u, err := i.authenticate(ctx, token)
	if s.opts.Authenticated != nil {
		s.opts.Authenticated(i.config.Issuer.URL, time.Since(began), err)
	}
	if err != nil {
		return nil, false, fmt.Errorf("authn: token of issuer %s: %w", i.config.Issuer.URL, err)
	}
	return &Response{User: u}, true, nil
}
