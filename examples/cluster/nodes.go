package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/delegated"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/fakestorage"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/store/certs"
)

var readyz = &client.Request{Method: http.MethodGet, Path: "/readyz"}

func (c *cluster) addScheduler(m *manager.Manager) error {
	return scheduler.Add(m, scheduler.Options{})
}

// nodeConn returns the transport to kubelets: with the server's client certificate, trusting the cluster's
// authority, over HTTP/1.1, which upgrades to streams need.
func (c *cluster) nodeConn() http.RoundTripper {
	return &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: c.pki.ca.Pool(), Certificates: []tls.Certificate{c.pki.kubelet.TLS()}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 10, IdleConnTimeout: time.Minute,
	}
}

// fakeNodes is the name of the part that simulates nodes.
const fakeNodes = "fake-nodes"

type starter func(as *certs.Pair, name string, build func(*manager.Manager) error) bool

// startNodes starts the nodes of the chosen runtime.
func (c *cluster) startNodes(ctx context.Context, start starter, fail func(error), wg *sync.WaitGroup) bool {
	if c.real() {
		return c.startRealNode(ctx, start, fail, wg)
	}
	c.say("simulating %d node(s)", c.nodes)
	prefix, err := netip.ParsePrefix(c.podCIDR)
	if err != nil {
		fail(fmt.Errorf("--cluster-cidr: %w", err))
		return false
	}
	if err := c.grant(ctx, rightsOfFakeNodes, rightsOnKubelets); err != nil {
		fail(err)
		return false
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
		return false
	}
	return start(c.pki.fakeNodes, fakeNodes, func(m *manager.Manager) error {
		gate := c.nodeGate(m.Conn())
		gate.Attributes = fakenode.Attributes
		o := fakenode.Options{Count: c.nodes, PodCIDR: prefix, Port: int32(l.Addr().(*net.TCPAddr).Port)}
		if c.nodes > 1<<(24-min(prefix.Bits(), 24)) {
			o.PodCIDR = netip.Prefix{} // the default grows with the number of nodes
		}
		if err := errors.Join(fakenode.Add(m, o), fakestorage.Add(m, fakestorage.Options{})); err != nil {
			return err
		}
		m.AddWithoutLeaderElection("fake kubelet API", manager.Func(func(ctx context.Context) error { return c.serveKubelet(ctx, l, gate.Wrap(fakenode.NewServer(m))) }))
		return nil
	})
}

// nodeGate authenticates and authorizes the clients of a kubelet API through the API server.
func (c *cluster) nodeGate(conn client.Conn) delegated.Gate {
	pool := c.pki.ca.Pool()
	return delegated.Gate{
		Authenticate: delegated.NewAuthenticator(conn, delegated.AuthenticatorOptions{ClientCAs: func() *x509.CertPool { return pool }}).Authenticate,
		Authorize:    delegated.NewAuthorizer(conn, delegated.AuthorizerOptions{}).Authorize, Logger: c.log,
	}
}

// serveKubelet serves the fake nodes' kubelet API.
func (c *cluster) serveKubelet(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{c.pki.node.TLS()}, ClientCAs: c.pki.ca.Pool(), ClientAuth: tls.RequestClientCert,
			MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}}
	done := make(chan error, 1)
	go func() { done <- s.ServeTLS(l, "", "") }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		_ = s.Close() // streams end with the cluster
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}

// waitNodes waits until every node is ready and schedulable, and reports its progress.
func (c *cluster) waitNodes(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the nodes did not become ready within two minutes"))
	defer cancel()
	conn, err := rest.New(c.restConfig(c.pki.program, "cluster"), rest.Options{Logger: c.log})
	if err != nil {
		return err
	}
	defer conn.Close()
	want := c.nodes
	if c.real() {
		want = 1
	}
	said := time.Now()
	for {
		n := 0
		list, err := client.For[*corev1.Node](conn).List(ctx, client.ListOptions{ResourceVersion: "0"})
		if err == nil {
			for _, node := range list.Items {
				if len(node.Spec.Taints) == 0 && nodeReady(node) {
					n++
				}
			}
		}
		if n >= want {
			return nil
		}
		if time.Since(said) > 2*time.Second {
			c.say("%d of %d nodes ready", n, want)
			said = time.Now()
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func nodeReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
