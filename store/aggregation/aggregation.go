// Package aggregation serves API versions that other servers serve: those of the APIService objects with a
// service, such as metrics.k8s.io. It is the [apiserver.Aggregation] of a server.
//
// A request is authenticated, limited, authorized and recorded by this server, and then passed on with the
// caller's name in the headers X-Remote-User, -Uid, -Group and -Extra-, which the other server trusts because
// of the client certificate of Options.Certificate. It guarantees that
//
//   - the other server's certificate is verified for NAME.NAMESPACE.svc by caBundle, or by the authorities of
//     the system without one, and not at all with insecureSkipTLSVerify;
//   - a connection is tried at every ready endpoint of the service, in random order, before a request fails;
//   - the condition Available says whether a request for the version's list of resources succeeds. It is
//     checked every 30 seconds, more often while it fails, and at once after a connection failed or the
//     service or its endpoints changed;
//   - a server that cannot be reached, or stalls, costs requests for its versions only: they get 503 without
//     waiting for it, and discovery shows them as stale;
//   - no credential of a caller reaches another server, and none of its redirects reaches a caller.
package aggregation

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
	"github.com/keelson-dev/keelson/store/webhook"
)

// Options configure an Aggregator. The zero value sends no client certificate: servers that authenticate
// proxies see requests without a user then.
type Options struct {
	// Certificate returns the client certificate by which other servers know this one. It is called for each
	// request; after it has returned another pointer, requests go over new connections. Nil sends none.
	Certificate func() *tls.Certificate
	// AllowRedirects passes redirects of other servers on to clients, which would follow them with their
	// credentials. Otherwise they are an error.
	AllowRedirects bool
	// Dial opens the connections, at NAME.NAMESPACE.svc:PORT. Nil means the network, at an endpoint of the
	// service or at its cluster IP.
	Dial webhook.DialFunc
	// LocalAt is a revision of the store at which no APIService has a service, see [Aggregator.Local]: Run
	// reads only what has changed since. Zero means that it reads all of them.
	LocalAt int64
	// InProcess are versions that this process serves itself, as long as no APIService with a service has a
	// version of their group. It must not be changed afterwards.
	InProcess []InProcess
	// Logger receives changes of availability; nil discards.
	Logger *slog.Logger
	// Metrics are called when the availability of an APIService changes.
	Metrics Metrics
}

// Metrics receive what is known of APIServices, by the names of the objects. Each may be nil, and must be
// safe for concurrent use.
type Metrics struct {
	// Failed is called when one that was available no longer is, with the reason of its condition.
	Failed func(name, reason string)
	// Forgotten is called when one has been deleted.
	Forgotten func(name string)
	// Deprecated is called for each request to the server of one whose certificate has a deprecated property.
	Deprecated func(name string, d webhook.Deprecation)
}

// Resource is that of APIService objects.
var Resource = apiregistrationv1.GroupVersion.WithResource("apiservices")

// Aggregator is an apiserver.Aggregation by APIService objects. It is safe for concurrent use.
type Aggregator struct {
	access registry.Access
	opts   Options
	synced chan struct{}
	once   sync.Once // closes synced
	// backends are replaced as a whole.
	backends atomic.Pointer[map[schema.GroupVersion]*backend]
	state    atomic.Pointer[apiserver.Aggregated]

	mu sync.Mutex // held while one of them is replaced
}

// New returns an Aggregator of the APIService objects that a reads.
func New(a registry.Access, opts Options) *Aggregator {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	g := &Aggregator{access: a, opts: opts, synced: make(chan struct{})}
	g.backends.Store(&map[schema.GroupVersion]*backend{})
	g.publishState()
	return g
}

// Synced implements apiserver.Aggregation.
func (g *Aggregator) Synced() <-chan struct{} { return g.synced }

// Backend implements apiserver.Aggregation.
func (g *Aggregator) Backend(gv schema.GroupVersion) (to http.RoundTripper, host string) {
	all := *g.backends.Load()
	if b := all[gv]; b != nil {
		return b, b.host
	}
	for i := range g.opts.InProcess {
		if p := &g.opts.InProcess[i]; p.GroupVersion == gv && !claims(all, gv.Group) {
			return p, gv.Group
		}
	}
	return nil, ""
}

// claims reports whether a backend serves a version of a group.
func claims(all map[schema.GroupVersion]*backend, group string) bool {
	for gv := range all {
		if gv.Group == group {
			return true
		}
	}
	return false
}

// Aggregated implements apiserver.Aggregation.
func (g *Aggregator) Aggregated() *apiserver.Aggregated { return g.state.Load() }

// Local reports that all APIServices have been read, and none of them has a service.
func (g *Aggregator) Local() bool {
	select {
	case <-g.synced:
		return len(*g.backends.Load()) == 0
	default:
		return false
	}
}

// Run implements apiserver.Aggregation: it follows the APIService objects and checks the servers until ctx
// ends.
func (g *Aggregator) Run(ctx context.Context) error {
	if _, _, ok := g.access.ResourceOf(apiregistrationv1.GroupVersion.WithKind("APIService")); !ok {
		close(g.synced)
		<-ctx.Done()
		return nil
	}
	var checks sync.WaitGroup
	defer checks.Wait()
	f := &follower{aggregator: g, known: map[string]*backend{}, start: func(b *backend) {
		var each context.Context
		each, b.cancel = context.WithCancel(ctx)
		checks.Go(func() { b.run(each) })
	}}
	defer f.stop()
	deliver := func(e registry.Event) error {
		switch {
		case e.Expired:
			f.again = map[string]bool{}
		case e.InitialEnd:
			f.removeMissing()
			g.once.Do(func() { close(g.synced) })
		case e.Type == cache.Bookmark:
		default:
			f.apply(e.Object.(*apiregistrationv1.APIService), e.Type == cache.Deleted)
		}
		return nil
	}
	var err error
	if from := g.opts.LocalAt; from > 0 {
		g.once.Do(func() { close(g.synced) })
		err = g.access.Follow(ctx, Resource, "", from, deliver)
	} else {
		err = g.access.Watch(ctx, Resource, "", deliver)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// follower holds the backends that the objects describe. It is used by one goroutine.
type follower struct {
	aggregator *Aggregator
	known      map[string]*backend // by name of the object
	again      map[string]bool     // names seen since the watch began again; nil if it did not
	start      func(b *backend)
}

// apply takes over a changed or deleted object.
func (f *follower) apply(o *apiregistrationv1.APIService, deleted bool) {
	if f.again != nil {
		f.again[o.Name] = true
	}
	if m := f.aggregator.opts.Metrics; deleted && m.Forgotten != nil {
		m.Forgotten(o.Name)
	}
	old := f.known[o.Name]
	if deleted || o.Spec.Service == nil || o.Spec.Group == "" || o.Spec.Group == Resource.Group {
		f.remove(o.Name)
		return
	}
	if old != nil && old.uid == o.UID && old.sameServer(&o.Spec) {
		if old.priorities(&o.Spec) {
			f.aggregator.publishState()
		}
		return
	}
	if old != nil {
		old.cancel()
		old.client.Close()
	}
	b := newBackend(f.aggregator, o)
	if old != nil && old.uid == o.UID {
		b.inherit(old)
	}
	f.known[o.Name] = b
	f.start(b)
	f.publish()
}

func (f *follower) remove(name string) {
	b := f.known[name]
	if b == nil {
		return
	}
	delete(f.known, name)
	b.cancel()
	b.client.Close()
	f.publish()
}

// removeMissing removes what was not seen since the watch began again.
func (f *follower) removeMissing() {
	if f.again == nil {
		return
	}
	for name := range maps.Clone(f.known) {
		if !f.again[name] {
			f.remove(name)
		}
	}
	f.again = nil
}

func (f *follower) publish() {
	next := make(map[schema.GroupVersion]*backend, len(f.known))
	for _, b := range f.known {
		next[b.gv] = b
	}
	f.aggregator.backends.Store(&next)
	f.aggregator.publishState()
}

// stop ends all checks.
func (f *follower) stop() {
	for _, b := range f.known {
		b.cancel()
		b.client.Close()
	}
}

// publishState replaces what discovery and OpenAPI show.
func (g *Aggregator) publishState() {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := &apiserver.Aggregated{}
	all := *g.backends.Load()
	for _, b := range all {
		next.Versions = append(next.Versions, b.version())
	}
	for i := range g.opts.InProcess {
		if p := &g.opts.InProcess[i]; !claims(all, p.GroupVersion.Group) {
			next.Versions = append(next.Versions, p.version())
		}
	}
	slices.SortFunc(next.Versions, func(a, b apiserver.AggregatedVersion) int {
		return cmp.Compare(a.GroupVersion.String(), b.GroupVersion.String())
	})
	g.state.Store(next)
}
