package authn

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
)

// ClientCertificates identifies users by the TLS client certificate: the common name is the user, the
// organizations are the groups. roots is called for every request, so that a reloaded CA takes effect at
// once; while it returns nil no certificate is accepted. The result of a verification is cached for a minute,
// as long as its connection presents it and the roots stay the same, because verifying costs more than most
// requests.
func ClientCertificates(roots func() *x509.CertPool) Authenticator {
	cache := &verifiedCache{byLeaf: map[*x509.Certificate]verdict{}}
	return Func(func(r *http.Request) (*Response, bool, error) {
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
			return nil, false, nil
		}
		leaf, pool, now := r.TLS.PeerCertificates[0], roots(), time.Now()
		if pool == nil { // crypto/x509 would use the system's authorities, which do not certify users
			return nil, false, nil
		}
		if resp := cache.get(leaf, pool, now); resp != nil {
			return resp, true, nil
		}
		opts := x509.VerifyOptions{
			Roots: pool, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		for _, c := range r.TLS.PeerCertificates[1:] {
			opts.Intermediates.AddCert(c)
		}
		if _, err := leaf.Verify(opts); err != nil {
			return nil, false, fmt.Errorf("authn: client certificate of %q: %w", leaf.Subject.CommonName, err)
		}
		u, err := userOf(leaf)
		if u == nil || err != nil {
			return nil, false, err
		}
		resp := &Response{User: u}
		cache.put(leaf, verdict{resp, pool, now.Add(verifiedTTL)}, now)
		return resp, true, nil
	})
}

// userOf returns the user that a verified certificate names; nil if it names none.
func userOf(leaf *x509.Certificate) (*User, error) {
	info, err := authenticationv1.CertificateUser(leaf)
	if err != nil {
		return nil, fmt.Errorf("authn: %w", err)
	}
	if info == nil {
		return nil, nil
	}
	u := &User{Name: info.Username, UID: info.UID, Groups: info.Groups, Extra: map[string][]string{}}
	for k, v := range info.Extra {
		u.Extra[k] = v
	}
	return u, nil
}

const (
	verifiedTTL = time.Minute
	maxVerified = 4096
)

// verifiedCache caches results by the address of the certificate, which is the same for the lifetime of a
// connection. Safe for concurrent use.
type verifiedCache struct {
	mu     sync.Mutex
	byLeaf map[*x509.Certificate]verdict
}

type verdict struct {
	resp  *Response
	pool  *x509.CertPool
	until time.Time
}

func (v *verifiedCache) get(leaf *x509.Certificate, pool *x509.CertPool, now time.Time) *Response {
	v.mu.Lock()
	defer v.mu.Unlock()
	d, ok := v.byLeaf[leaf]
	if !ok || d.pool != pool || now.After(d.until) || now.After(leaf.NotAfter) {
		return nil
	}
	return d.resp
}

func (v *verifiedCache) put(leaf *x509.Certificate, d verdict, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.byLeaf) >= maxVerified {
		for l, old := range v.byLeaf {
			if now.After(old.until) {
				delete(v.byLeaf, l)
			}
		}
		if len(v.byLeaf) >= maxVerified {
			clear(v.byLeaf)
		}
	}
	v.byLeaf[leaf] = d
}
