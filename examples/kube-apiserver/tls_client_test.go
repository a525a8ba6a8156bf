package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/etcdserver"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/pipenet"
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

// Each reading of the authorities of kubelets has an outcome, for the metric of kube-apiserver.
func TestReadingsOfAuthorities(t *testing.T) {
	ca, err := certs.NewAuthority("first")
	require.NoError(t, err)
	files := newClientFiles(t, ca)
	synctest.Test(t, func(t *testing.T) {
		var outcomes []string
		n := &nodeClient{caFile: files.ca, timeout: time.Minute, dial: pipenet.New().Dial, read: func(result, reason string) { outcomes = append(outcomes, result+" "+reason) }}
		transport, _, err := n.transports(slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what is sent does not matter
		for _, change := range []func() error{
			func() error { return nil },
			func() error { return os.WriteFile(files.ca, slices.Concat(ca.CertPEM(), ca.CertPEM()), 0o600) },
			func() error { return os.WriteFile(files.ca, nil, 0o600) },
			func() error { return os.WriteFile(files.ca, []byte("text"), 0o600) },
			func() error { return os.Remove(files.ca) },
		} {
			require.NoError(t, change())
			time.Sleep(component.ReloadEvery)
			_, err := transport.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "https://node/", nil))
			require.Error(t, err)
		}
		require.Equal(t, []string{"success unchanged", "success updated", "failure empty", "failure ca_parse_error", "failure read_error"}, outcomes)
	})
}

// rotatingKubelet is a kubelet whose certificate and authority of clients can be replaced, and what reaches
// it. It responds with the issuer of the client's certificate.
type rotatingKubelet struct {
	t         *testing.T
	config    atomic.Pointer[tls.Config]
	transport http.RoundTripper
	stop      func()
}

func startRotatingKubelet(t *testing.T, files clientFiles) *rotatingKubelet {
	k := &rotatingKubelet{t: t}
	listener := pipenet.New()
	srv := &http.Server{
		TLSConfig: &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.config.Load(), nil }},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Issuer.CommonName+"\n")
			if r.URL.Path == "/follow" {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
		})}
	served := make(chan error, 1)
	go func() { served <- srv.ServeTLS(listener, "", "") }()
	k.stop = func() {
		require.NoError(t, srv.Close())
		<-served
	}
	n := &nodeClient{caFile: files.ca, certFile: files.cert, keyFile: files.key, timeout: time.Minute, dial: listener.Dial}
	var err error
	k.transport, _, err = n.transports(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return k
}

// serve uses a certificate of one authority, and accepts clients with one of any of the others.
func (k *rotatingKubelet) serve(ca *certs.Authority, clients ...*certs.Authority) {
	pair, err := ca.Serving("node", "node")
	require.NoError(k.t, err)
	pool := x509.NewCertPool()
	for _, ca := range clients {
		pool.AddCert(ca.Cert)
	}
	k.config.Store(&tls.Config{Certificates: []tls.Certificate{pair.TLS()}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert})
}

func (k *rotatingKubelet) get(path string) *http.Response {
	r, err := http.NewRequestWithContext(k.t.Context(), http.MethodGet, "https://node"+path, nil)
	require.NoError(k.t, err)
	resp, err := k.transport.RoundTrip(r)
	require.NoError(k.t, err)
	return resp
}

// issuer sends requests for several seconds, and requires that each reaches the kubelet with a certificate of
// that issuer.
func (k *rotatingKubelet) issuer(want string) {
	k.t.Helper()
	for range 40 {
		resp := k.get("/")
		b, err := io.ReadAll(resp.Body)
		require.NoError(k.t, err)
		require.NoError(k.t, resp.Body.Close())
		require.Equal(k.t, want+"\n", string(b))
		time.Sleep(component.ReloadEvery / 10)
	}
}

// While the authority and the pair for kubelets are replaced, no request fails, and the kubelet sees the new
// certificate also if its connections are always in use. A stream that is open goes on.
func TestNoKubeletRequestFailsWhileFilesChange(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first, err := certs.NewAuthority("first")
		require.NoError(t, err)
		second, err := certs.NewAuthority("second")
		require.NoError(t, err)
		files := clientFiles{filepath.Join(dir, "ca.crt"), filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key")}
		files.write(t, first)
		write := func(name string, data []byte) {
			require.NoError(t, os.WriteFile(name, data, 0o600))
			time.Sleep(component.ReloadEvery)
		}
		k := startRotatingKubelet(t, files)
		k.serve(first, first, second)
		stream := k.get("/follow")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, stream.Body)
		}()
		k.issuer("first")
		pair, err := second.Client("server")
		require.NoError(t, err)
		write(files.ca, append(first.CertPEM(), second.CertPEM()...))
		write(files.cert, pair.CertPEM())
		k.issuer("first") // the key is another certificate's
		write(files.key, pair.KeyPEM())
		k.issuer("second")
		k.serve(second, second)
		write(files.ca, second.CertPEM())
		k.issuer("second")
		synctest.Wait()
		select {
		case <-ended:
			t.Error("the stream has ended")
		default:
		}
		require.NoError(t, stream.Body.Close())
		<-ended
		k.stop()
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
