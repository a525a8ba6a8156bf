// Package peers passes requests for resources that a server does not serve on to a server over the same store
// that does: the mixed version proxy of Kubernetes, for upgrades of several API servers one after the other
// and for servers with different sets of APIs. [Peers] is the [apiserver.Peers] of a server.
//
// Servers find each other by their identity leases in kube-system and by a key of the store that has the
// address of each and expires ([Publish]). Both are those of kube-apiserver 1.36, which may be among them. It
// guarantees that
//
//   - a request is passed on only if this server does not serve its resource, only once (the header
//     X-Kubernetes-Peer-Proxied), and with the caller's name in the headers X-Remote-User, -Uid, -Group and
//     -Extra-, which the peer trusts because of the client certificate of Options.Certificate;
//   - the certificate of a peer is verified for kubernetes.default.svc by Options.Roots;
//   - versions of CustomResourceDefinitions and of APIServices with a service are never passed on, and for
//     five minutes after their deletion neither: all servers serve them, by the objects in the store;
//   - what a peer serves is read when it appears and when it has restarted, and is remembered as long as its
//     lease exists; a peer that stalls or cannot be read delays no other;
//   - where several peers serve a resource one of them is chosen at random, and another one if it accepts no
//     connection. If none can be reached the response is 503.
package peers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/internal/frontproxy"
	"github.com/keelson-dev/keelson/store/webhook"
)

// Options configure Peers.
type Options struct {
	// Certificate returns the client certificate by which peers know this server, see frontproxy of
	// Kubernetes. It is called for each request. Nil sends none: peers see requests without a user then.
	Certificate func() *tls.Certificate
	// Roots returns the authorities of the certificates of peers. It is called for each request. Nil means
	// those of the system.
	Roots func() *x509.CertPool
	// Dial opens the connections, at the address that a peer has published. Nil means the network.
	Dial webhook.DialFunc
	// Logger receives peers that appear, disappear or cannot be read; nil discards.
	Logger *slog.Logger
	// Metrics are called as requests are passed on.
	Metrics Metrics
}

// Metrics receive what is passed on. Each may be nil, and must be safe for concurrent use.
type Metrics struct {
	// Proxied is called when a request has been sent to a peer, with the status code of its response, 503 if
	// there was none. The resource is empty for requests for discovery documents.
	Proxied func(code int, resource schema.GroupVersionResource)
	// Failed is called when a request could not be sent; why is endpoint_resolution.
	Failed func(why string, resource schema.GroupVersionResource)
	// DiscoveryFailed is called when it could not be read what a peer serves; why is lease_list,
	// hostport_resolution or fetch_discovery.
	DiscoveryFailed func(why string)
}

// ServerName is that for which the certificates of peers are verified.
const ServerName = "kubernetes.default.svc"

// Peers is an apiserver.Peers by identity leases. It is safe for concurrent use.
type Peers struct {
	id     string
	opts   Options
	client *frontproxy.Client
	store  atomic.Pointer[store.Store] // nil before Run
	state  atomic.Pointer[state]

	mu      sync.Mutex // held while state is replaced
	servers map[string]*server
	foreign foreign
	waiting int           // sources that have not been read for the first time
	deleted chan struct{} // a version was added to foreign.deleted
}

// state is what is known of the peers.
type state struct {
	resources map[schema.GroupVersionResource][]string // identities of the peers that serve each
	discovery *apiserver.PeerDiscovery
}

// New returns the Peers of the server with an identity, the name of its lease: see
// [github.com/keelson-dev/keelson/store/controlplane.BookkeepingOptions].
func New(id string, opts Options) *Peers {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Peers{id: id, opts: opts, servers: map[string]*server{}, foreign: newForeign(), deleted: make(chan struct{}, 1)}
	p.client = frontproxy.New(frontproxy.Options{TLS: &tls.Config{MinVersion: tls.VersionTLS12, ServerName: ServerName},
		Roots: opts.Roots, Certificate: opts.Certificate, Dial: opts.Dial})
	p.publish()
	return p
}

// Discovery implements apiserver.Peers.
func (p *Peers) Discovery() *apiserver.PeerDiscovery { return p.state.Load().discovery }

// Peer implements apiserver.Peers.
func (p *Peers) Peer(ctx context.Context, resource schema.GroupVersionResource) (to http.RoundTripper, host string, err error) {
	ids := slices.Clone(p.state.Load().resources[resource])
	st := p.store.Load()
	if len(ids) == 0 || st == nil {
		return nil, "", nil
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	t := &target{peers: p, resource: resource, store: *st, others: ids}
	if host, err = t.next(ctx); err != nil {
		p.failed("endpoint_resolution", resource)
		p.opts.Logger.Warn("no address of a peer is known", "resource", resource.String(), "peers", ids, "err", err)
		return nil, "", apierrors.NewServiceUnavailable("Error getting ip and port info of the remote server while proxying")
	}
	return t, host, nil
}

func (p *Peers) failed(why string, resource schema.GroupVersionResource) {
	if p.opts.Metrics.Failed != nil {
		p.opts.Metrics.Failed(why, resource)
	}
}

func (p *Peers) proxied(code int, resource schema.GroupVersionResource) {
	if p.opts.Metrics.Proxied != nil {
		p.opts.Metrics.Proxied(code, resource)
	}
}

func (p *Peers) discoveryFailed(why string) {
	if p.opts.Metrics.DiscoveryFailed != nil {
		p.opts.Metrics.DiscoveryFailed(why)
	}
}

// Run implements apiserver.Peers: it follows the leases of peers, CustomResourceDefinitions and APIServices
// until ctx ends. Until all of them have been read nothing is passed on.
func (p *Peers) Run(ctx context.Context, s *apiserver.Server) {
	st := s.Registry().Store()
	p.store.Store(&st)
	defer p.client.Close()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	start := func(f func(context.Context)) context.CancelFunc {
		each, cancel := context.WithCancel(ctx)
		tasks.Go(func() { f(each) })
		return cancel
	}
	sources := []source{p.leaseSource(start), p.foreign.definitions(p), p.foreign.services(p)}
	p.mu.Lock()
	p.waiting = len(sources)
	p.mu.Unlock()
	p.publish()
	for _, src := range sources {
		tasks.Go(func() { p.follow(ctx, s, src) })
	}
	for ctx.Err() == nil {
		p.mu.Lock()
		wait := p.foreign.expiry()
		p.mu.Unlock()
		expires, cancel := context.WithTimeout(ctx, wait)
		select {
		case <-expires.Done():
			p.publish()
		case <-p.deleted:
		}
		cancel()
	}
}

// publish replaces the state by what is known now.
func (p *Peers) publish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.foreign.expire()
	next := &state{resources: map[schema.GroupVersionResource][]string{}, discovery: &apiserver.PeerDiscovery{Own: p.id}}
	if p.waiting == 0 {
		next.fill(p.servers, &p.foreign)
	}
	p.state.Store(next)
}
