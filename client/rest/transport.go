package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// checkFiles is how often credential files are checked for changes.
const checkFiles = 10 * time.Second

// files are the contents of the files a Config names.
type files struct {
	ca, cert, key []byte
	token         string
}

func (f *files) sameTLS(o *files) bool {
	return bytes.Equal(f.ca, o.ca) && bytes.Equal(f.cert, o.cert) && bytes.Equal(f.key, o.key)
}

func (c *Config) readFiles() (*files, error) {
	var errs []error
	read := func(path string) []byte {
		if path == "" {
			return nil
		}
		b, err := os.ReadFile(path)
		errs = append(errs, err)
		return b
	}
	f := &files{ca: read(c.TLS.CAFile), cert: read(c.TLS.CertFile), key: read(c.TLS.KeyFile)}
	f.token = string(bytes.TrimSpace(read(c.BearerTokenFile)))
	return f, errors.Join(errs...)
}

// transports are the connections made with one set of certificates. When a certificate changes new ones
// replace them; requests in flight end on the previous ones.
type transports struct {
	files *files
	cert  *tls.Certificate // from a CredentialSource
	// main uses HTTP/2 if the server supports it; upgrade only HTTP/1.1, for WebSocket and SPDY. Both are nil
	// with Config.Transport.
	main, upgrade *http.Transport
	// wrapped are the same, or Config.Transport, inside Config.Wrap.
	wrappedMain, wrappedUpgrade http.RoundTripper
}

func (c *Config) newTransports(f *files, cert *tls.Certificate, https bool) (*transports, error) {
	if c.Transport != nil && cert != nil {
		return nil, errors.New("rest: Config.Credentials returned a certificate, which Config.Transport cannot use")
	}
	t := &transports{files: f, cert: cert, wrappedMain: c.Transport, wrappedUpgrade: c.Transport}
	if c.Transport == nil {
		var tc *tls.Config
		if https {
			var err error
			if tc, err = c.tlsConfig(f, cert); err != nil {
				return nil, err
			}
		}
		t.main, t.upgrade = c.httpTransport(tc, true), c.httpTransport(tc, false)
		t.wrappedMain, t.wrappedUpgrade = t.main, t.upgrade
	}
	if c.Wrap != nil {
		t.wrappedMain, t.wrappedUpgrade = c.Wrap(t.wrappedMain), c.Wrap(t.wrappedUpgrade)
	}
	return t, nil
}

// expired returns when the client certificate expired, if it has: the reply of the server is a 401 without
// that reason.
func (t *transports) expired() (time.Time, bool) {
	if t.main == nil || t.main.TLSClientConfig == nil || t.main.TLSClientConfig.GetClientCertificate == nil {
		return time.Time{}, false
	}
	cert, err := t.main.TLSClientConfig.GetClientCertificate(nil)
	if err != nil || cert.Leaf == nil || time.Now().Before(cert.Leaf.NotAfter) {
		return time.Time{}, false
	}
	return cert.Leaf.NotAfter, true
}

func (t *transports) closeIdle() {
	if t.main != nil {
		t.main.CloseIdleConnections()
		t.upgrade.CloseIdleConnections()
	}
}

func (c *Config) httpTransport(tc *tls.Config, http2 bool) *http.Transport {
	dial := c.Dial
	proxy := c.Proxy
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 15 * time.Second}).DialContext
		if proxy == nil {
			proxy = http.ProxyFromEnvironment
		}
	}
	t := &http.Transport{
		Proxy:                 proxy,
		DialContext:           dial,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   64,
		DisableCompression:    !c.Compression,
		WriteBufferSize:       16 << 10,
		ReadBufferSize:        16 << 10,
		Protocols:             new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	if tc != nil {
		t.TLSClientConfig = tc.Clone()
	}
	if http2 && tc != nil {
		t.Protocols.SetHTTP2(true)
		t.HTTP2 = &http.HTTP2Config{
			SendPingTimeout: 5 * time.Second, PingTimeout: 4 * time.Second,
			// Lists are many megabytes: fewer, larger frames.
			MaxReadFrameSize: 64 << 10,
		}
	}
	return t
}

func (c *Config) tlsConfig(f *files, cert *tls.Certificate) (*tls.Config, error) {
	tc := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.TLS.ServerName, InsecureSkipVerify: c.TLS.Insecure}
	ca := c.TLS.CAData
	if f.ca != nil {
		ca = f.ca
	}
	if len(ca) > 0 {
		if c.TLS.Insecure {
			return nil, errors.New("rest: TLS.Insecure and a CA exclude each other")
		}
		tc.RootCAs = x509.NewCertPool()
		if !tc.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("rest: the CA holds no PEM certificate")
		}
	}
	certPEM, keyPEM := c.TLS.CertData, c.TLS.KeyData
	if f.cert != nil {
		certPEM = f.cert
	}
	if f.key != nil {
		keyPEM = f.key
	}
	if cert == nil && len(certPEM)+len(keyPEM) > 0 {
		pair, err := tls.X509KeyPair(certPEM, keyPEM)
		if err != nil {
			return nil, fmt.Errorf("rest: the client certificate: %w", err)
		}
		cert = &pair
	}
	if cert != nil {
		// A callback, unlike Certificates, sends it even if the server does not list its issuer.
		tc.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	return tc, nil
}

// current returns the current transports, which it replaces if a certificate has changed, and the credential.
func (c *Conn) current(ctx context.Context, rejected *Credential) (*transports, *Credential, error) {
	var cred *Credential
	if c.cfg.Credentials != nil {
		var err error
		if cred, err = c.cfg.Credentials.Credential(ctx, rejected); err != nil {
			return nil, nil, fmt.Errorf("rest: credential: %w", err)
		}
	}
	c.state.mu.Lock()
	t, look := c.state.t, c.watchesFiles && (time.Since(c.state.checked) >= checkFiles || rejected != nil && c.cfg.Credentials == nil)
	if look {
		c.state.checked = time.Now()
	}
	c.state.mu.Unlock()
	f := t.files
	if look {
		// A file may be unreadable while it is replaced: keep the previous contents.
		if n, err := c.cfg.readFiles(); err == nil {
			f = n
		}
	}
	var cert *tls.Certificate
	if cred != nil {
		cert = cred.Certificate
	}
	if f.sameTLS(t.files) && sameCert(cert, t.cert) && f.token == t.files.token {
		return t, cred, nil
	}
	var next *transports
	if f.sameTLS(t.files) && sameCert(cert, t.cert) {
		// Only the token has changed: the connections stay.
		n := *t
		n.files = f
		next = &n
	} else {
		var err error
		if next, err = c.cfg.newTransports(f, cert, c.base.Scheme == "https"); err != nil {
			if look {
				return t, cred, nil // partly written files: keep the previous contents
			}
			return nil, nil, err
		}
	}
	c.state.mu.Lock()
	won := c.state.t == t
	if won {
		c.state.t = next
		if next.main != t.main {
			// Requests in flight end on the old connections; Close must close these too.
			c.state.old = append(c.state.old, t)
			c.state.old = c.state.old[max(0, len(c.state.old)-8):]
		}
	} else {
		next, t = c.state.t, next
	}
	c.state.mu.Unlock()
	if t.main != next.main {
		t.closeIdle()
	}
	return next, cred, nil
}

func sameCert(a, b *tls.Certificate) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || len(a.Certificate) != len(b.Certificate) {
		return false
	}
	for i := range a.Certificate {
		if !bytes.Equal(a.Certificate[i], b.Certificate[i]) {
			return false
		}
	}
	return true
}

type connState struct {
	mu      sync.Mutex
	t       *transports
	old     []*transports // the last few before t
	checked time.Time
}
