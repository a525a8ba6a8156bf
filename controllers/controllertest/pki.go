package controllertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/certs"
)

// keys are those of one cluster, which its snapshots share: immutable data without bubble.
type keys struct {
	account crypto.Signer // signs service account tokens
	ca      *authority    // nil until a certificate is needed
}

// authority is what is needed to connect by TLS.
type authority struct {
	*certs.Authority
	pool    *x509.CertPool
	serving tls.Certificate
}

// pki makes the certificates of one cluster when they are first needed: connections in process need none.
type pki struct {
	mu      sync.Mutex
	keys    keys
	clients map[string]*certs.Pair // by user
}

// validity of the certificates of a cluster, longer than the virtual time any test sleeps.
const validity = 200 * 365 * 24 * time.Hour

// newPKI continues with the keys of a snapshot, if there are some.
func newPKI(from keys) (*pki, error) {
	p := &pki{keys: from, clients: map[string]*certs.Pair{}}
	if p.keys.account != nil {
		return p, nil
	}
	var err error
	p.keys.account, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return p, err
}

// made returns the keys made so far.
func (p *pki) made() keys {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys
}

// ca returns the authority, which it makes if necessary.
func (p *pki) ca() (*authority, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.authority()
}

// authority is called with mu held.
func (p *pki) authority() (*authority, error) {
	if p.keys.ca != nil {
		return p.keys.ca, nil
	}
	ca, err := certs.NewAuthorityFor("keelson", validity)
	if err != nil {
		return nil, err
	}
	ca.Validity = validity
	serving, err := ca.Serving("kube-apiserver", strings.TrimPrefix(Host, "https://"), "localhost", "127.0.0.1", "::1",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return nil, err
	}
	p.keys.ca = &authority{ca, ca.Pool(), serving.TLS()}
	return p.keys.ca, nil
}

// roots returns the pool of the authority.
func (p *pki) roots() *x509.CertPool {
	ca, err := p.ca()
	if err != nil {
		return x509.NewCertPool() // trusts nothing; the listener reports the error
	}
	return ca.pool
}

// server is the TLS configuration of the API server.
func (p *pki) server() *tls.Config {
	return &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS13, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		ca, err := p.ca()
		if err != nil {
			return nil, err
		}
		return &ca.serving, nil
	}}
}

// client returns the authority and the certificate of a user, one per name and groups.
func (p *pki) client(u client.User) (*authority, *certs.Pair, error) {
	switch {
	case u.Name == "":
		return nil, nil, errors.New("controllertest: the user has no name")
	case u.UID != "" || len(u.Extra) > 0:
		return nil, nil, fmt.Errorf("controllertest: user %s: a certificate contains only name and groups; use Conn for UID and Extra", u.Name)
	}
	key := fmt.Sprintf("%q %q", u.Name, u.Groups)
	p.mu.Lock()
	defer p.mu.Unlock()
	ca, err := p.authority()
	if err != nil {
		return nil, nil, err
	}
	if pair := p.clients[key]; pair != nil {
		return ca, pair, nil
	}
	pair, err := ca.Client(u.Name, u.Groups...)
	if err == nil {
		p.clients[key] = pair
	}
	return ca, pair, err
}
