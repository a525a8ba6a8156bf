package controllertest

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/controllertest/internal/direct"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

// Cluster is a running API server with controllers. Its methods fail the test instead of returning errors;
// those of a cluster made by [New] panic instead.
type Cluster struct {
	*cluster
	t tester // that the methods fail
}

// cluster is what all views of a Cluster share, see [Cluster.With].
type cluster struct {
	owner  tester // fails when a part of the cluster does
	opts   Options
	bubble bool
	host   string
	net    *network
	direct *direct.Server
	store  *memory.Store
	server *controlplane.ControlPlane
	pki    *pki
	conn   client.Conn
	hooks  *hooks // nil without webhooks
	guard  *guard
	draws  *draws
	last   *failures
	gate   gate
	trace  *trace
	schema served
	from   int64 // the store's revision after the start of the server

	listening sync.Once
	ending    sync.Once

	mu       sync.Mutex
	conns    []*rest.Conn
	stops    []func() // of what was started beside the server, in order
	servers  []func() // stop the server and its listeners
	ended    bool
	lastUsed usedObject
}

// Start starts a server and the controllers of opts. They stop with the test; in a bubble, pass the T of
// synctest.Test.
func Start(t testing.TB, opts Options) *Cluster {
	t.Helper()
	return start(t, opts, Snapshot{})
}

func start(t testing.TB, opts Options, from Snapshot) *Cluster {
	t.Helper()
	c := &Cluster{newCluster(t, opts), t}
	if c.bubble && outside(t) {
		t.Fatalf("controllertest: this T is of outside the bubble: pass the T of the function that synctest.Test calls")
	}
	t.Cleanup(c.end)
	if err := c.open(context.Background(), from); err != nil {
		t.Fatalf("controllertest: %v", err)
	}
	return c
}

// outside reports whether t is certainly not the T of a bubble.
func outside(t testing.TB) (yes bool) {
	d, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return false
	}
	defer func() { yes = recover() == nil }()
	d.Deadline() // panics in a bubble
	return true
}

// New starts a server and the controllers of opts without a test, for TestMain and for other test frameworks.
// ctx ends the wait for the start, not the cluster: call Close. What would fail the test of a cluster made by
// [Start] panics, or is returned by Close if it happens in the background; see [Cluster.With] for helpers
// that fail a test.
func New(ctx context.Context, opts Options) (*Cluster, error) { return open(ctx, opts, Snapshot{}) }

// NewFrom is [StartFrom] as [New] is [Start].
func NewFrom(ctx context.Context, s Snapshot, opts Options) (*Cluster, error) {
	return open(ctx, opts, s)
}

func open(ctx context.Context, opts Options, from Snapshot) (*Cluster, error) {
	t := &untested{}
	c := &Cluster{newCluster(t, opts), t}
	if err := c.open(ctx, from); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("controllertest: %w", err)
	}
	return c, nil
}

// With returns c for use in a test: its methods fail t, and what they start ends with c.
func (c *Cluster) With(t testing.TB) *Cluster { return &Cluster{c.cluster, t} }

// Close stops everything and returns when it has stopped. For a cluster made by [New] it returns what has
// failed in the background; that of [Start] fails its test, which also calls Close at its end.
func (c *Cluster) Close() error {
	c.end()
	if t, ok := c.owner.(*untested); ok {
		return t.close()
	}
	return nil
}

func newCluster(owner tester, opts Options) *cluster {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Scheme == nil {
		opts.Scheme = api.Scheme()
	}
	c := &cluster{owner: owner, opts: opts, bubble: inBubble(), host: hostInProcess(), net: newNetwork()}
	c.guard, c.last, c.trace = newGuard(opts.MaxRuns, c.bubble), &failures{next: opts.Logger.Handler()}, newTrace()
	return c
}

// open starts everything.
func (c *Cluster) open(ctx context.Context, from Snapshot) (err error) {
	seed, err := seedOf(&c.opts)
	if err != nil {
		return err
	}
	c.draws = newDraws(seed, c.bubble)
	if c.bubble {
		if c.gate.order, err = newOrder(); err != nil {
			return err
		}
		if c.gate.order != 0 {
			c.guard.instant = time.Second // watches take some time
		}
	}
	if err := from.usable(c.bubble); err != nil {
		return err
	}
	if c.pki, err = newPKI(from.keys); err != nil {
		return err
	}
	created := from.store.Revision() <= 1
	if err := c.setSchema(&from, created); err != nil {
		return err
	}
	if created {
		from.store, from.image = c.newState()
	}
	c.store = memory.NewFromSnapshot(from.store, memory.Options{})
	if err := c.serve(from.image); err != nil {
		return err
	}
	if c.conn, err = c.dialed(c.Config()); err != nil {
		return err
	}
	if err := c.await(ctx); err != nil {
		return err
	}
	if created && from.image == nil {
		c.keepState()
	}
	c.from = c.store.Snapshot().Revision()
	c.draws.started(c.from)
	if created {
		if err := c.load(ctx); err != nil {
			return err
		}
	}
	if len(c.opts.Controllers) == 0 {
		return nil
	}
	conn, err := c.dialed(c.managerConfig("controllers"))
	if err != nil {
		return err
	}
	m, err := c.manager(conn, "controllers", c.opts.Controllers)
	if err == nil {
		c.Run(m)
	}
	return err
}

// serve makes the server, which begins with an image unless it is nil, and runs it until the end.
func (c *cluster) serve(from *controlplane.Image) error {
	so := c.opts.Server
	so.Store = traced{c.store, c.trace}
	if so.CompactInterval == 0 {
		so.CompactInterval = -1 // the history needs the old states, and the store bounds them
	}
	if so.BookmarkInterval == 0 {
		// In memory no connection is lost silently, so bookmarks are rare to keep virtual hours cheap.
		so.BookmarkInterval = 10 * time.Minute
	}
	so.Registry.Draw = c.draws.number
	so.Intercept = c.gate.intercept(so.Intercept)
	disable := c.opts.DisableAdmission
	if !slices.Contains(c.opts.EnableAdmission, "ServiceAccount") && !slices.Contains(disable, "ServiceAccount") {
		disable = append([]string{"ServiceAccount"}, disable...)
	}
	var err error
	c.server, err = controlplane.New(controlplane.Options{
		Server: so, Image: from, Authenticator: trusting, ClientCAs: func() *x509.CertPool { return c.pki.roots() }, BootstrapTokens: true,
		Anonymous: true, ServiceAccountKeys: []any{c.pki.made().account}, EnableAdmission: c.opts.EnableAdmission, DisableAdmission: disable,
		Plugins: c.opts.Plugins, Logger: c.opts.Logger, WebhookDial: c.dialWebhook,
	})
	if err != nil {
		return err
	}
	c.direct = direct.New(c.context, c.server)
	if c.draws.seed != 0 && c.bubble {
		c.direct.Serialize(c.draws.seed)
		c.guard.instant = time.Second // requests take some time
	}
	c.serveBy("API server", c.server.Run)
	if c.opts.Webhooks.Handler != nil {
		c.serveWebhooks()
	}
	return nil
}

// trusting identifies callers in process before others.
func trusting(builtin authn.Authenticator) authn.Authenticator {
	return authn.Union(direct.Authenticator(), builtin)
}

// listen serves connections made with Dial. Most clusters have none.
func (c *cluster) listen() { c.listenOn(c.net) }

func (c *cluster) listenOn(l net.Listener) {
	c.serveBy("API server's listener", func(ctx context.Context) error { return c.server.Serve(ctx, l, c.pki.server()) })
}

// serveBy runs a part of the server, which ends after everything else.
func (c *cluster) serveBy(name string, f func(context.Context) error) {
	stop := c.begin(name, f)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers = append(c.servers, stop)
}

// background runs f until the cluster is stopped; an error before that fails the test. The returned function
// stops f earlier.
func (c *cluster) background(name string, f func(context.Context) error) (stop func()) {
	stop = c.begin(name, f)
	c.onEnd(stop)
	return stop
}

// onEnd calls stop at the end, before what was started earlier is stopped.
func (c *cluster) onEnd(stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stops = append(c.stops, stop)
}

// begin runs f. The returned function stops it and waits.
func (c *cluster) begin(name string, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(c.context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(ctx); err != nil && ctx.Err() == nil {
			c.owner.Errorf("controllertest: %s ended: %v", name, err)
		}
	}()
	return sync.OnceFunc(func() { cancel(); <-done })
}

// end stops everything in reverse order of starting, once.
func (c *cluster) end() { c.ending.Do(c.stop) }

func (c *cluster) stop() {
	c.mu.Lock()
	stops, conns, servers := c.stops, c.conns, c.servers
	c.stops, c.conns, c.servers, c.ended = nil, nil, nil, true
	c.mu.Unlock()
	for _, stop := range slices.Backward(stops) {
		stop()
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	c.report()
	c.recordReplay()
	// All clients have stopped: the server need not wait for their connections.
	c.net.closeAll()
	if c.direct != nil {
		_ = c.direct.Close()
	}
	var all sync.WaitGroup
	for _, stop := range servers {
		all.Go(stop)
	}
	all.Wait()
	if c.store != nil {
		_ = c.store.Close()
	}
}

func (c *cluster) hasEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// await waits until the server decides requests by the policy that every cluster has.
func (c *cluster) await(ctx context.Context) error {
	select {
	case <-c.server.Ready():
	case <-ctx.Done():
		return fmt.Errorf("the API server is not ready: %w", context.Cause(ctx))
	}
	if c.bubble {
		c.idle() // what the start writes is written
	}
	return nil
}

// Manager returns a manager that acts as Options.As, with the controllers of add. Pass it to [Cluster.Run].
func (c *Cluster) Manager(name string, add ...Adder) *manager.Manager {
	c.t.Helper()
	return c.ManagerOver(c.connect(c.managerConfig(name)), name, add...)
}

// ManagerOver is like Manager with another connection, such as one wrapped to delay or fail requests.
func (c *Cluster) ManagerOver(conn client.Conn, name string, add ...Adder) *manager.Manager {
	c.t.Helper()
	m, err := c.manager(conn, name, add)
	if err != nil {
		c.t.Fatalf("controllertest: %v", err)
	}
	return m
}

func (c *cluster) manager(conn client.Conn, name string, add []Adder) (*manager.Manager, error) {
	m := manager.New(conn, manager.Options{Logger: slog.New(c.last).With("manager", name), OnEvent: c.trace.onEvent, Informers: c.informers(),
		Wrap: func(ctx context.Context, run *reconcile.Run, next func(context.Context) (reconcile.Result, error)) (reconcile.Result, error) {
			return c.trace.wrap(ctx, run, func(ctx context.Context) (reconcile.Result, error) { return c.guard.wrap(ctx, next) })
		}})
	for _, f := range add {
		if err := f(m); err != nil {
			return nil, fmt.Errorf("manager %s: %w", name, err)
		}
	}
	return m, nil
}

// informers are the options of the informers of managers. In a bubble their watches last, to keep virtual
// hours cheap.
func (c *cluster) informers() (o informers.SetOptions) {
	if c.bubble {
		o.Timeout = 24 * time.Hour
	}
	return o
}

func (c *Cluster) managerConfig(name string) rest.Config {
	c.t.Helper()
	var user []client.User
	if c.opts.As.Name != "" {
		user = append(user, c.opts.As)
	}
	cfg := c.Config(user...)
	cfg.UserAgent = name
	return cfg
}

// Run runs r until the test ends; an error before that fails the test. The returned function stops it earlier
// and waits for it.
func (c *Cluster) Run(r manager.Runnable) (stop func()) { return c.background("manager", r.Run) }

// Server returns the API server, for tests of its Go API.
func (c *Cluster) Server() *apiserver.Server { return c.server.Server }

// Tokens returns the signer of the service account tokens that the server accepts.
func (c *Cluster) Tokens() *authn.Tokens { return c.server.Tokens() }
