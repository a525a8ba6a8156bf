package controllertest

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

// Host is the URL of the server. It is reachable through [Cluster.Dial] only.
const Host = "https://apiserver.test"

// Cluster is a running API server with controllers. Its methods fail the test instead of returning errors.
type Cluster struct {
	t      testing.TB
	opts   Options
	bubble bool
	net    *network
	store  *memory.Store
	server *controlplane.ControlPlane
	pki    pki
	conn   client.Conn
	hooks  *hooks // nil without webhooks
	guard  *guard
	last   *failures

	mu    sync.Mutex
	conns []*rest.Conn
	stops []func() // of what was started, in order
	ended bool
}

// Start starts a server and the controllers of opts. They stop with the test; in a bubble, pass the T of
// synctest.Test.
func Start(t testing.TB, opts Options) *Cluster {
	t.Helper()
	return start(t, opts, Snapshot{})
}

func start(t testing.TB, opts Options, from Snapshot) *Cluster {
	t.Helper()
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Scheme == nil {
		opts.Scheme = api.Scheme()
	}
	c := &Cluster{t: t, opts: opts, bubble: inBubble(), net: newNetwork()}
	c.guard, c.last = newGuard(opts.MaxRuns, c.bubble), &failures{next: opts.Logger.Handler()}
	if from.bubble && !c.bubble {
		t.Fatalf("controllertest: the snapshot was made in a bubble, at %s: use it in one", from.at.Format(time.DateOnly))
	}
	if c.bubble {
		if wait := time.Until(from.at); wait > 0 {
			time.Sleep(wait)
		}
	}
	var err error
	if c.pki, err = newPKI(from); err != nil {
		t.Fatalf("controllertest: %v", err)
	}
	c.store = memory.NewFromSnapshot(from.store, memory.Options{})
	if err := c.serve(); err != nil {
		t.Fatalf("controllertest: %v", err)
	}
	t.Cleanup(c.end)
	c.conn = c.Conn()
	c.waitReady()
	if from.store.Revision() <= 1 {
		c.load()
	}
	if len(opts.Controllers) > 0 {
		c.Run(c.Manager("controllers", opts.Controllers...))
	}
	return c
}

// serve makes the server and runs it until the test ends.
func (c *Cluster) serve() error {
	so := c.opts.Server
	so.Store = c.store
	if so.BookmarkInterval == 0 {
		// In memory no connection is lost silently, so bookmarks are rare to keep virtual hours cheap.
		so.BookmarkInterval = time.Minute
	}
	disable := c.opts.DisableAdmission
	if !slices.Contains(c.opts.EnableAdmission, "ServiceAccount") && !slices.Contains(disable, "ServiceAccount") {
		disable = append([]string{"ServiceAccount"}, disable...)
	}
	pool := c.pki.ca.Pool()
	var err error
	c.server, err = controlplane.New(controlplane.Options{
		Server: so, ClientCAs: func() *x509.CertPool { return pool }, BootstrapTokens: true, Anonymous: true, ServiceAccountKeys: []any{c.pki.account.Key},
		EnableAdmission: c.opts.EnableAdmission, DisableAdmission: disable, Plugins: c.opts.Plugins, Logger: c.opts.Logger,
		WebhookDial: c.dialWebhook,
	})
	if err != nil {
		return err
	}
	serving, err := c.pki.ca.Serving("kube-apiserver", strings.TrimPrefix(Host, "https://"), "localhost", "127.0.0.1", "::1",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	c.pki.serving = serving
	c.background("API server", c.server.Run)
	c.background("API server's listener", func(ctx context.Context) error { return c.server.Serve(ctx, c.net, c.tls()) })
	if c.opts.Webhooks.Handler != nil {
		c.serveWebhooks()
	}
	return nil
}

func (c *Cluster) tls() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c.pki.serving.TLS()}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS13}
}

// background runs f until the cluster is stopped; an error before that fails the test. The returned function
// stops f earlier.
func (c *Cluster) background(name string, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(ctx); err != nil && ctx.Err() == nil {
			c.t.Errorf("controllertest: %s ended: %v", name, err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	c.mu.Lock()
	c.stops = append(c.stops, stop)
	c.mu.Unlock()
	return stop
}

// end stops everything in reverse order of starting.
func (c *Cluster) end() {
	c.mu.Lock()
	stops, conns := c.stops, c.conns
	c.stops, c.conns, c.ended = nil, nil, true
	c.mu.Unlock()
	for i := len(stops) - 1; i >= 2; i-- {
		stops[i]()
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	c.report()
	c.net.closeAll() // all clients have stopped: the server need not wait for their connections
	var both sync.WaitGroup
	for _, stop := range stops[:2] {
		both.Go(stop)
	}
	both.Wait()
	_ = c.store.Close()
}

// waitReady waits until the server answers /readyz.
func (c *Cluster) waitReady() {
	c.t.Helper()
	var err error
	for range 10_000 {
		if c.bubble {
			idle() // no part of the start needs time to pass
		}
		if _, err = c.conn.Do(context.Background(), &client.Request{Method: http.MethodGet, Path: "/readyz"}); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	c.t.Fatalf("controllertest: the API server did not become ready: %v", err)
}

// Dial connects to the server; the address is ignored. It can be used as the Dial of any rest.Config.
func (c *Cluster) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return c.net.Dial(ctx, network, address)
}

// Transport returns an HTTP transport that connects to the server, at [Host], as user or, without one, as an
// administrator. Its idle connections are closed when the test ends. For client-go:
//
//	&rest.Config{Host: controllertest.Host, Transport: c.Transport()}
func (c *Cluster) Transport(user ...client.User) *http.Transport {
	c.t.Helper()
	pair := c.certificate(user)
	tr := &http.Transport{DialContext: c.Dial, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
		RootCAs: c.pki.ca.Pool(), Certificates: []tls.Certificate{pair.TLS()}, MinVersion: tls.VersionTLS13}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stops = append(c.stops, tr.CloseIdleConnections)
	return tr
}

// Access contains the parameters of a connection, in types that every client library accepts. For client-go:
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
	pair := c.certificate(user)
	return Access{Host: Host, Dial: c.Dial, CA: c.pki.ca.CertPEM(), Cert: pair.CertPEM(), Key: pair.KeyPEM()}
}

// Config returns the configuration of client/rest for connections as user or, without one, as an
// administrator.
func (c *Cluster) Config(user ...client.User) rest.Config {
	c.t.Helper()
	a := c.Access(user...)
	return rest.Config{Host: a.Host, Dial: a.Dial, Scheme: c.opts.Scheme, UserAgent: "controllertest", Wrap: c.guard.transport,
		TLS: rest.TLSConfig{CAData: a.CA, CertData: a.Cert, KeyData: a.Key}}
}

// Conn returns a new connection as user or, without one, as an administrator. It is closed when the test
// ends.
func (c *Cluster) Conn(user ...client.User) client.Conn {
	c.t.Helper()
	return c.connect(c.Config(user...))
}

func (c *Cluster) connect(cfg rest.Config) client.Conn {
	c.t.Helper()
	conn, err := rest.New(cfg, rest.Options{Logger: slog.New(c.last)})
	if err != nil {
		c.t.Fatalf("controllertest: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, conn)
	return conn
}

// Manager returns a manager that acts as Options.As, with the controllers of add. Pass it to [Cluster.Run].
func (c *Cluster) Manager(name string, add ...Adder) *manager.Manager {
	c.t.Helper()
	return c.ManagerOver(c.managerConn(name), name, add...)
}

// ManagerOver is like Manager with another connection, such as one wrapped to delay or fail requests.
func (c *Cluster) ManagerOver(conn client.Conn, name string, add ...Adder) *manager.Manager {
	c.t.Helper()
	m := manager.New(conn, manager.Options{Logger: slog.New(c.last).With("manager", name), Wrap: c.guard.wrap})
	for _, f := range add {
		if err := f(m); err != nil {
			c.t.Fatalf("controllertest: manager %s: %v", name, err)
		}
	}
	return m
}

func (c *Cluster) managerConn(name string) client.Conn {
	c.t.Helper()
	var user []client.User
	if c.opts.As.Name != "" {
		user = append(user, c.opts.As)
	}
	cfg := c.Config(user...)
	cfg.UserAgent = name
	return c.connect(cfg)
}

// Run runs r until the test ends; an error before that fails the test. The returned function stops it earlier
// and waits for it.
func (c *Cluster) Run(r manager.Runnable) (stop func()) { return c.background("manager", r.Run) }

// Server returns the API server, for tests of its Go API.
func (c *Cluster) Server() *apiserver.Server { return c.server.Server }

// Tokens returns the signer of the service account tokens that the server accepts.
func (c *Cluster) Tokens() *authn.Tokens { return c.server.Tokens() }

// RootCA returns the certificate of the cluster's certificate authority in PEM.
func (c *Cluster) RootCA() []byte { return c.pki.ca.CertPEM() }

// Authority returns the cluster's certificate authority. The server accepts the client certificates it signs.
func (c *Cluster) Authority() *certs.Authority { return c.pki.ca }

func (c *Cluster) certificate(user []client.User) *certs.Pair {
	c.t.Helper()
	u := client.User{Name: "kubernetes-admin", Groups: []string{"system:masters"}}
	if len(user) > 0 {
		u = user[0]
	}
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended {
		c.t.Fatal("controllertest: the cluster was stopped with its test")
	}
	pair, err := c.pki.client(u)
	if err != nil {
		c.t.Fatalf("controllertest: %v", err)
	}
	return pair
}
