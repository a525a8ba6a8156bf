package controllertest

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/certs"
)

// Host is the URL of the server for connections made with [Cluster.Dial], by which alone it can be reached.
const Host = "https://apiserver.test"

// started counts the clusters of the process.
var started atomic.Int64

// hostInProcess returns another URL for each cluster: a leader of one cluster sends its fence token to that
// cluster only, and its connections distinguish clusters by the URL.
func hostInProcess() string { return fmt.Sprintf("%s:%d", Host, started.Add(1)) }

// RoundTripper returns a transport in process that acts as user or, without one, as an administrator. It
// calls the server's handler, without TLS, HTTP/2 and pings, so it is much cheaper than [Cluster.Transport];
// requests pass authentication, authorization and all other filters in the same way. For client-go:
//
//	&rest.Config{Host: controllertest.Host, Transport: c.RoundTripper()}
func (c *Cluster) RoundTripper(user ...client.User) http.RoundTripper {
	c.t.Helper()
	c.running()
	return c.direct.Transport(caller(userOf(user)))
}

// Config returns the configuration of client/rest for connections in process, see [Cluster.RoundTripper], as
// user or, without one, as an administrator. For the credentials of a connection by TLS see [Cluster.Access].
func (c *Cluster) Config(user ...client.User) rest.Config {
	c.t.Helper()
	return rest.Config{Host: c.host, Transport: c.RoundTripper(user...), Scheme: c.opts.Scheme, UserAgent: "controllertest", Wrap: c.guard.transport}
}

// Conn returns a new connection as user or, without one, as an administrator. It is closed when the test
// ends.
func (c *Cluster) Conn(user ...client.User) client.Conn {
	c.t.Helper()
	return c.connect(c.Config(user...))
}

func (c *Cluster) connect(cfg rest.Config) client.Conn {
	c.t.Helper()
	conn, err := c.dialed(cfg)
	if err != nil {
		c.t.Fatalf("controllertest: %v", err)
	}
	return conn
}

// dialed returns a connection that end closes.
func (c *cluster) dialed(cfg rest.Config) (client.Conn, error) {
	conn, err := rest.New(cfg, rest.Options{Logger: slog.New(c.last)})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, conn)
	return conn, nil
}

// Dial connects to the server; the address is ignored. It can be used as the Dial of any rest.Config.
func (c *Cluster) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.listening.Do(c.listen)
	return c.net.Dial(ctx, network, address)
}

// Transport returns an HTTP transport that connects to the server by TLS, at [Host], as user or, without one,
// as an administrator. Its idle connections are closed when the test ends. For client-go:
//
//	&rest.Config{Host: controllertest.Host, Transport: c.Transport()}
func (c *Cluster) Transport(user ...client.User) *http.Transport {
	c.t.Helper()
	ca, pair := c.certificate(user)
	tr := &http.Transport{DialContext: c.Dial, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
		RootCAs: ca.pool, Certificates: []tls.Certificate{pair.TLS()}, MinVersion: tls.VersionTLS13}}
	c.onEnd(tr.CloseIdleConnections)
	return tr
}

// Access contains the parameters of a connection by TLS, in types that every client library accepts. For
// client-go:
//
//	&rest.Config{Host: a.Host, Dial: a.Dial,
//		TLSClientConfig: rest.TLSClientConfig{CAData: a.CA, CertData: a.Cert, KeyData: a.Key}}
//
// See the package comment for what upstream managers need in a bubble.
type Access struct {
	Host          string
	Dial          func(ctx context.Context, network, address string) (net.Conn, error)
	CA, Cert, Key []byte // PEM
}

// Access returns the parameters of connections as user or, without one, as an administrator.
func (c *Cluster) Access(user ...client.User) Access {
	c.t.Helper()
	ca, pair := c.certificate(user)
	return Access{Host: Host, Dial: c.Dial, CA: ca.CertPEM(), Cert: pair.CertPEM(), Key: pair.KeyPEM()}
}

// RootCA returns the certificate of the cluster's certificate authority in PEM.
func (c *Cluster) RootCA() []byte {
	c.t.Helper()
	return c.authority().CertPEM()
}

// Authority returns the cluster's certificate authority. The server accepts the client certificates it signs.
func (c *Cluster) Authority() *certs.Authority {
	c.t.Helper()
	return c.authority().Authority
}

func (c *Cluster) authority() *authority {
	c.t.Helper()
	ca, err := c.pki.ca()
	if err != nil {
		c.t.Fatalf("controllertest: %v", err)
	}
	return ca
}

func (c *Cluster) certificate(user []client.User) (*authority, *certs.Pair) {
	c.t.Helper()
	c.running()
	ca, pair, err := c.pki.client(userOf(user))
	if err != nil {
		c.t.Fatalf("%v", err)
	}
	return ca, pair
}

// running fails the test if the cluster has ended.
func (c *Cluster) running() {
	c.t.Helper()
	if c.hasEnded() {
		c.t.Fatalf("controllertest: the cluster was stopped with its test")
	}
}
