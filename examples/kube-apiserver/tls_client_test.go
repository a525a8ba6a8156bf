package main

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/etcdserver"
	"github.com/keelson-dev/keelson/store/memory"
)

// Connections to kubelets and to etcd use the authority and the client certificate that are on disk when they
// are opened: a server that replaces both without a restart still reaches peers that have replaced theirs.
func TestClientFilesAreReloaded(t *testing.T) {
	first, err := certs.NewAuthority("first")
	require.NoError(t, err)
	second, err := certs.NewAuthority("second")
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)

	t.Run("kubelet", func(t *testing.T) {
		files := newClientFiles(t, first)
		peer := newPeer(t, first)
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(r.TLS.PeerCertificates[0].Issuer.CommonName))
		})}
		go func() { _ = srv.Serve(peer) }()
		t.Cleanup(func() { _ = srv.Close() })
		n := &nodeClient{caFile: files.ca, certFile: files.cert, keyFile: files.key, timeout: time.Minute}
		transport, unverified, err := n.transports(log)
		require.NoError(t, err)
		getOver := func(transport http.RoundTripper) string {
			resp, err := transport.RoundTrip(httptest.NewRequest(http.MethodGet, "https://"+peer.Addr().String(), nil))
			if err != nil {
				return err.Error()
			}
			defer resp.Body.Close()
			b := make([]byte, 100)
			n, _ := resp.Body.Read(b)
			return string(b[:n])
		}
		get := func() string { return getOver(transport) }
		require.Equal(t, "first", get())
		peer.replace(t, second)
		require.Contains(t, get(), "certificate")
		require.NotContains(t, getOver(unverified), "failed to verify", "the kubelet's certificate is not checked")
		files.write(t, second)
		require.Eventually(t, func() bool { return get() == "second" }, time.Minute, 50*time.Millisecond)
	})

	t.Run("etcd", func(t *testing.T) {
		files := newClientFiles(t, first)
		peer := newPeer(t, first)
		st := memory.New(memory.Options{})
		t.Cleanup(func() { require.NoError(t, st.Close()) })
		served := make(chan error, 1)
		go func() { served <- etcdserver.New(st, etcdserver.Options{}).Serve(t.Context(), peer) }()
		t.Cleanup(func() { <-served })
		o := &options{backend: "etcd3", etcdServers: []string{"https://" + peer.Addr().String()}, etcdPrefix: "/registry",
			etcdCAFile: files.ca, etcdCertFile: files.cert, etcdKeyFile: files.key}
		opened, err := o.openStore(t.Context(), log)
		require.NoError(t, err)
		t.Cleanup(opened.close)
		before := peer.accepted.Load()
		peer.replace(t, second)
		files.write(t, second)
		require.Eventually(t, func() bool {
			_, err := opened.List(t.Context(), "/", store.ListOptions{})
			return err == nil && peer.accepted.Load() > before
		}, time.Minute, 50*time.Millisecond)
	})
}

// clientFiles are an authority and a client certificate on disk.
type clientFiles struct{ ca, cert, key string }

func newClientFiles(t *testing.T, ca *certs.Authority) clientFiles {
	dir := t.TempDir()
	f := clientFiles{filepath.Join(dir, "ca.crt"), filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key")}
	f.write(t, ca)
	return f
}

func (f clientFiles) write(t *testing.T, ca *certs.Authority) {
	pair, err := ca.Client("server")
	require.NoError(t, err)
	for name, data := range map[string][]byte{f.ca: ca.CertPEM(), f.cert: pair.CertPEM(), f.key: pair.KeyPEM()} {
		require.NoError(t, os.WriteFile(name, data, 0o600))
	}
}

// tlsPeer is a TLS listener that accepts clients of one authority only, which can be replaced.
type tlsPeer struct {
	net.Listener
	config   atomic.Pointer[tls.Config]
	accepted atomic.Int64

	mu    sync.Mutex
	conns []net.Conn
}

func newPeer(t *testing.T, ca *certs.Authority) *tlsPeer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &tlsPeer{Listener: l}
	p.replace(t, ca)
	return p
}

// replace serves with certificates of another authority, and closes the connections that there are.
func (p *tlsPeer) replace(t *testing.T, ca *certs.Authority) {
	pair, err := ca.Serving("peer", "127.0.0.1")
	require.NoError(t, err)
	p.config.Store(&tls.Config{Certificates: []tls.Certificate{pair.TLS()}, ClientCAs: ca.Pool(),
		ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"h2", "http/1.1"}})
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// Accept implements net.Listener.
func (p *tlsPeer) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	p.accepted.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
	return tls.Server(c, p.config.Load()), nil
}
