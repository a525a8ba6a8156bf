package component

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"sync"
)

// ClientTLS are the files that secure connections a program makes. New connections use the current content of
// the files.
type ClientTLS struct {
	authorities *Reloaded[*x509.CertPool]   // nil: the system's
	pair        *Reloaded[*tls.Certificate] // nil: none is sent
}

// NewClientTLS reads the files; caFile, or certFile and keyFile, may be empty.
func NewClientTLS(log *slog.Logger, caFile, certFile, keyFile string) (*ClientTLS, error) {
	var c ClientTLS
	var err error
	if caFile != "" {
		if c.authorities, err = Reload(log, ReadPool, caFile); err != nil {
			return nil, err
		}
	}
	if certFile != "" {
		if c.pair, err = Reload(log, ReadPair, certFile, keyFile); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// OnRead makes read be called after each reading of the authorities but the first, with whether they have
// changed; the error is ErrEmpty, one of reading the file, or says that it has no certificate. It must be
// called before the first connection.
func (c *ClientTLS) OnRead(read func(changed bool, err error)) {
	if c.authorities != nil {
		c.authorities.read = read
	}
}

// Config returns the configuration of a new connection.
func (c *ClientTLS) Config() *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.authorities != nil {
		cfg.RootCAs = c.authorities.Get()
	}
	if c.pair != nil {
		// A callback, unlike Certificates, sends it even if the server does not list its issuer.
		pair := c.pair.Get()
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
	}
	return cfg
}

// version is comparable, and another one after the files have changed.
func (c *ClientTLS) version() (v struct {
	authorities *x509.CertPool
	pair        *tls.Certificate
}) {
	if c.authorities != nil {
		v.authorities = c.authorities.Get()
	}
	if c.pair != nil {
		v.pair = c.pair.Get()
	}
	return v
}

// NewTransport returns a transport whose requests go over connections that were opened with the current
// files, so that a certificate which has been replaced is no longer relied on when it expires. Requests in
// progress end on the connections that they have. configure makes the transport for one content of the files.
func NewTransport(files *ClientTLS, configure func(*tls.Config) *http.Transport) http.RoundTripper {
	var mu sync.Mutex
	var current *http.Transport
	made := files.version()
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		files.version() // which may read the files, before the lock is held
		mu.Lock()
		previous := current
		// Under the lock, or a request with the previous version would replace the transport of a later one.
		if now := files.version(); current == nil || now != made {
			current, made = configure(files.Config()), now
		}
		t := current
		mu.Unlock()
		if previous != nil && previous != t {
			previous.CloseIdleConnections()
		}
		return t.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// ErrEmpty is the error of a file of authorities without content.
var ErrEmpty = errors.New("it is empty")

// ReadPool reads the certificates of authorities.
func ReadPool(contents [][]byte) (*x509.CertPool, error) {
	if len(contents[0]) == 0 {
		return nil, ErrEmpty
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(contents[0]) {
		return nil, errors.New("there is no certificate in it")
	}
	return pool, nil
}

// ReadPair reads a certificate and its key.
func ReadPair(contents [][]byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	return &pair, err
}

// Authorities are the certificate authorities of clients.
type Authorities struct {
	Pool *x509.CertPool
	Text []byte // of the file
}

// ReadAuthorities reads the certificates of authorities, and keeps their text.
func ReadAuthorities(contents [][]byte) (Authorities, error) {
	pool, err := ReadPool(contents)
	return Authorities{pool, contents[0]}, err
}
