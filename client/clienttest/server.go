// Package clienttest connects clients and servers inside one process, without a network: a real API server
// behind an in-memory listener (store/pipenet) that works in testing/synctest bubbles.
package clienttest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// Options configure a Server.
type Options struct {
	// Server are the options of the API server; zero means a memory store without authentication.
	Server apiserver.Options
	// Handler is served instead of an API server, if not nil.
	Handler http.Handler
	// Wrap, if not nil, wraps the handler: to count requests, or to fail them.
	Wrap func(http.Handler) http.Handler
	// TLS serves https and so HTTP/2; otherwise http, and HTTP/2 to clients that begin with it.
	TLS bool
	// Scheme of connections; nil means the server's.
	Scheme *scheme.Scheme
}

// Server is an API server that is reachable in memory only.
type Server struct {
	// API is the API server; nil if Options.Handler was given.
	API *apiserver.Server
	// Listener is the listener of the server.
	Listener *pipenet.Listener

	cfg   rest.Config
	mu    sync.Mutex
	conns []*rest.Conn
}

// Start starts a server that ends with the test, in the bubble of the caller if there is one. It must end
// before its bubble does: in a bubble call it with the T that synctest.Test gives.
func Start(t testing.TB, opts Options) *Server {
	t.Helper()
	s := &Server{Listener: pipenet.New()}
	h := opts.Handler
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	if h == nil {
		api, err := apiserver.New(opts.Server)
		if err != nil {
			t.Fatal(err)
		}
		s.API, h = api, api
		go func() { ran <- api.Run(ctx) }()
	} else {
		ran <- nil
	}
	if opts.Wrap != nil {
		h = opts.Wrap(h)
	}
	s.cfg = rest.Config{Host: "http://server.test", Dial: s.Listener.Dial, Scheme: opts.Scheme}
	if s.cfg.Scheme == nil && s.API != nil {
		s.cfg.Scheme = s.API.Scheme()
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{Handler: h, Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0)}
	var l net.Listener = s.Listener
	if opts.TLS {
		pair, ca, err := Certificate("server.test", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.cfg.Host, s.cfg.TLS.CAData = "https://server.test", ca
		srv.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}, ClientAuth: tls.RequestClientCert}
		l = tls.NewListener(l, srv.TLSConfig)
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(l) }()
	t.Cleanup(func() {
		for _, c := range s.conns {
			c.Close()
		}
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		srv.Close()
		<-served
	})
	return s
}

// Config returns the configuration of a connection to the server.
func (s *Server) Config() rest.Config { return s.cfg }

// Conn returns a new connection, which is closed when the test ends.
func (s *Server) Conn(t testing.TB, opts rest.Options) *rest.Conn {
	t.Helper()
	return s.ConnWith(t, s.cfg, opts)
}

// ConnWith is Conn with a modified Config.
func (s *Server) ConnWith(t testing.TB, cfg rest.Config, opts rest.Options) *rest.Conn {
	t.Helper()
	c, err := rest.New(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.conns = append(s.conns, c)
	s.mu.Unlock()
	return c
}

// Certificate returns a self-signed certificate for a host and a user, and its PEM form.
// user may be nil.
func Certificate(host string, user *pkix.Name, notAfter *time.Time) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: host}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		DNSNames: []string{host}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if user != nil {
		template.Subject = *user
	}
	if notAfter != nil {
		template.NotAfter = *notAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
