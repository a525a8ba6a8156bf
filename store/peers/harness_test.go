package peers_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/peers"
	"github.com/keelson-dev/keelson/store/pipenet"
	"github.com/keelson-dev/keelson/store/registry"
)

// sharedStore is a store that servers of several processes write to.
type sharedStore struct{ store.Store }

// Capabilities implements store.Store.
func (s sharedStore) Capabilities() store.Capabilities {
	c := s.Store.Capabilities()
	c.Shared = true
	return c
}

// cluster is several servers over one store, and the network between them.
type cluster struct {
	t       *testing.T
	store   store.Store
	proxies *certs.Authority // of the client certificates between servers
	serving *certs.Authority // of the certificates of peers that are no servers of this package

	own   atomic.Pointer[tls.Certificate]
	roots atomic.Pointer[x509.CertPool]

	mu      sync.Mutex
	network map[string]*pipenet.Listener // by address
	dialed  []string
	seen    []seen
	counts  map[string]int
}

// seen is a request as a server got it.
type seen struct {
	host   string // of the server
	user   authn.User
	header http.Header
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{t: t, network: map[string]*pipenet.Listener{}, counts: map[string]int{}}
	mem := memory.New(memory.Options{})
	t.Cleanup(func() { _ = mem.Close() })
	c.store = sharedStore{mem}
	var err error
	c.proxies, err = certs.NewAuthority("front proxy")
	require.NoError(t, err)
	c.serving, err = certs.NewAuthority("peers")
	require.NoError(t, err)
	pair, err := c.proxies.Client("front-proxy-client")
	require.NoError(t, err)
	own := pair.TLS()
	c.own.Store(&own)
	c.roots.Store(c.serving.Pool())
	return c
}

// dial connects to the server at an address.
func (c *cluster) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.mu.Lock()
	l := c.network[address]
	c.dialed = append(c.dialed, address)
	c.mu.Unlock()
	if l == nil {
		return nil, errors.New("connection refused")
	}
	return l.Dial(ctx, network, address)
}

// connect puts a server on the network; nil takes it off.
func (c *cluster) connect(address string, l *pipenet.Listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.network[address] = l
}

func (c *cluster) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what]++
}

// counted returns how often something was measured.
func (c *cluster) counted(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[what]
}

// last returns the last request that a server got.
func (c *cluster) last(host string) *seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.seen) - 1; i >= 0; i-- {
		if c.seen[i].host == host {
			return &c.seen[i]
		}
	}
	return nil
}

// Thing is a kind that some servers have.
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// schemeWith returns the built-in kinds and a kind Thing for each resource, as group/version/resource.
func schemeWith(t *testing.T, resources ...string) *scheme.Scheme {
	s, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	for _, r := range resources {
		part := strings.Split(r, "/")
		require.NoError(t, scheme.Add[*Thing](s, schema.GroupVersion{Group: part[0], Version: part[1]}, scheme.Kind{Resource: part[2], Namespaced: true}))
	}
	return s
}

// identity is the name of the lease of the server of a host.
func identity(host string) string {
	return controlplane.BookkeepingOptions{Hostname: host}.IdentityName()
}

// address is that at which peers reach the server of a host: hosts are a, b, and so on.
func address(host string) string { return "10.0.0." + string('1'+host[0]-'a') + ":6443" }

// start starts a server that has these further resources, until the test ends.
func (c *cluster) start(host string, resources ...string) *planetest.Plane {
	c.t.Helper()
	p := planetest.Start(c.t, planetest.Over(c.store), func(o *controlplane.Options) {
		o.Server.Scheme = schemeWith(c.t, resources...)
		o.Server.Peers = c.peers(host)
		o.Server.Intercept = func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
			c.mu.Lock()
			c.seen = append(c.seen, seen{host: host, user: *authn.UserFrom(r.Context()), header: r.Header.Clone()})
			c.mu.Unlock()
			next(w, r)
		}
		o.Server.Metrics.DiscoveryMerged = func(cached bool) { c.count(map[bool]string{true: "hit", false: "miss"}[cached]) }
		o.Server.Metrics.DiscoveryAlone = func() { c.count("alone") }
		o.Bookkeeping = controlplane.BookkeepingOptions{Hostname: host, PeerAddress: address(host)}
		o.RequestHeader = &authn.RequestHeaderOptions{ClientCAs: c.proxies.Pool, AllowedNames: []string{"front-proxy-client"},
			UsernameHeaders: []string{"X-Remote-User"}, UIDHeaders: []string{"X-Remote-Uid"}, GroupHeaders: []string{"X-Remote-Group"}, ExtraPrefixes: []string{"X-Remote-Extra-"}}
	})
	pool := c.roots.Load().Clone()
	pool.AppendCertsFromPEM(p.CA.CertPEM())
	c.roots.Store(pool)
	c.connect(address(host), p.Listener)
	return p
}

// peers returns the Peers of the server of a host.
func (c *cluster) peers(host string) *peers.Peers {
	return peers.New(identity(host), peers.Options{Certificate: c.own.Load, Roots: c.roots.Load, Dial: c.dial, Metrics: peers.Metrics{
		Proxied:         func(code int, r schema.GroupVersionResource) { c.count(http.StatusText(code) + " " + r.Resource) },
		Failed:          func(why string, r schema.GroupVersionResource) { c.count(why + " " + r.Resource) },
		DiscoveryFailed: func(why string) { c.count(why) },
	}})
}

// response is what a client got.
type response struct {
	code   int
	header http.Header
	body   string
}

// client is an HTTP client of a server.
func client(p *planetest.Plane) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: p.Listener.Dial, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

// request is one with the token of the administrator.
func request(t *testing.T, method, path, body string, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://pipe"+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer masters-token")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// do sends a request to a server.
func (c *cluster) do(p *planetest.Plane, method, path, body string, header ...string) response {
	c.t.Helper()
	resp, err := client(p).Do(request(c.t, method, path, body, header...))
	require.NoError(c.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return response{resp.StatusCode, resp.Header, string(data)}
}

// stranger is a peer that is no server of this package: what it answers is up to its handler.
type stranger struct {
	*pipenet.Listener
	server *http.Server
}

// stranger puts a peer on the network that has a certificate for a name, and its lease and address in the
// store until the test ends.
func (c *cluster) stranger(p *planetest.Plane, host string, ca *certs.Authority, name string, handler http.HandlerFunc) *stranger {
	c.t.Helper()
	s := c.listen(host, ca, name, handler)
	c.publish(host)
	c.lease(p, host, "1")
	return s
}

// listen puts a peer on the network.
func (c *cluster) listen(host string, ca *certs.Authority, name string, handler http.HandlerFunc) *stranger {
	c.t.Helper()
	pair, err := ca.Serving("peer", name)
	require.NoError(c.t, err)
	s := &stranger{Listener: pipenet.New()}
	s.server = &http.Server{Handler: handler, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair.TLS()}, ClientCAs: c.proxies.Pool(), ClientAuth: tls.RequireAndVerifyClientCert},
		ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.server.ServeTLS(s.Listener, "", "") }()
	c.t.Cleanup(func() { _ = s.server.Close(); <-done })
	c.connect(address(host), s.Listener)
	return s
}

// says is a handler that writes a text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// changeLease changes the lease of a host, through a server.
func (c *cluster) changeLease(p *planetest.Plane, host string, change func(*coordinationv1.Lease)) {
	c.t.Helper()
	_, err := p.Server.Access().Update(c.t.Context(), leases, planetest.Key("kube-system", identity(host)), func(obj metav1.Object) error {
		change(obj.(*coordinationv1.Lease))
		return nil
	}, registry.Write{})
	require.NoError(c.t, err)
}

// publish keeps the address of a host in the store until the test ends.
func (c *cluster) publish(host string) {
	ctx, cancel := context.WithCancel(c.t.Context())
	done := make(chan struct{})
	require.NoError(c.t, peers.Publish(ctx, c.store, identity(host), address(host)))
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(peers.Refresh):
				_ = peers.Publish(ctx, c.store, identity(host), address(host))
			}
		}
	}()
	c.t.Cleanup(func() { cancel(); <-done })
}

// lease writes the identity lease of a host, through a server.
func (c *cluster) lease(p *planetest.Plane, host, holder string) {
	c.t.Helper()
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: identity(host), Labels: map[string]string{peers.IdentityLabel: peers.Component}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(3600)), RenewTime: new(metav1.NowMicro())}}
	_, err := p.Server.Access().Create(c.t.Context(), leases, l, registry.Write{})
	require.NoError(c.t, err)
}

var leases = coordinationv1.GroupVersion.WithResource("leases")

// serves is the handler of a peer whose discovery lists a resource, given as group/version/resource; other
// requests go to rest.
func serves(resource string, rest http.HandlerFunc) http.HandlerFunc {
	part := strings.Split(resource, "/")
	return func(w http.ResponseWriter, r *http.Request) {
		items := ""
		switch r.URL.Path {
		case "/apis":
			items = `{"metadata":{"name":"` + part[0] + `"},"versions":[{"version":"` + part[1] + `","resources":[{"resource":"` + part[2] + `","scope":"Namespaced","verbs":["get"]}]}]}`
		case "/api":
		default:
			rest(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[`+items+`]}`)
	}
}
