package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
)

// IdentityLabel and Component are key and value of the label of the identity leases of servers.
const (
	IdentityLabel = "apiserver.kubernetes.io/identity"
	Component     = "kube-apiserver"
)

// The documents of a peer are read within readTimeout, and each is at most maxDocument bytes long.
const (
	readTimeout = 10 * time.Second
	maxDocument = 32 << 20
)

// reader is the user that reads what peers serve.
var reader = &authn.User{Name: "system:apiserver", UID: "system:apiserver", Groups: []string{authn.GroupAuthenticated}}

// server is a peer, by its lease.
type server struct {
	holder string             // of its lease, another one after each restart
	cancel context.CancelFunc // ends reading what it serves
	served
}

// served is what a peer serves.
type served struct {
	resources map[schema.GroupVersionResource]bool
	groups    []apidiscoveryv2.APIGroupDiscovery // of /apis
}

// leaseSource are the leases of kube-system, of which those of servers count. start starts a goroutine.
func (p *Peers) leaseSource(start func(func(context.Context)) context.CancelFunc) source {
	return source{
		resource: coordinationv1.GroupVersion.WithResource("leases"), namespace: metav1.NamespaceSystem,
		failed: func() { p.discoveryFailed("lease_list") },
		set: func(name string, obj metav1.Object) {
			if l, ok := obj.(*coordinationv1.Lease); ok && l.Labels[IdentityLabel] == Component && l.Spec.HolderIdentity != nil {
				p.setServer(name, *l.Spec.HolderIdentity, start)
			} else {
				p.removeServer(name)
			}
		},
	}
}

// setServer takes over the holder of a peer's lease, and reads what it serves if that is another one.
func (p *Peers) setServer(id, holder string, start func(func(context.Context)) context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.servers[id]
	if id == p.id || old != nil && old.holder == holder {
		return
	}
	s := &server{holder: holder}
	if old != nil {
		old.cancel()
		s.served = old.served // until it is read
	}
	p.servers[id] = s
	s.cancel = start(func(ctx context.Context) { p.read(ctx, id, s) })
}

func (p *Peers) removeServer(id string) {
	p.mu.Lock()
	s := p.servers[id]
	delete(p.servers, id)
	p.mu.Unlock()
	if s != nil {
		s.cancel()
		p.publish()
		p.opts.Logger.Info("a peer has ended", "peer", id)
	}
}

// read reads what a peer serves, again and again until it succeeds or ctx ends.
func (p *Peers) read(ctx context.Context, id string, s *server) {
	_ = backoff.Retry(ctx, backoff.Policy{}, nil, func(ctx context.Context) error { // ends with ctx
		found, err := p.discover(ctx, id)
		if err != nil {
			if ctx.Err() == nil {
				p.opts.Logger.Warn("reading what a peer serves failed", "peer", id, "err", err)
			}
			return err
		}
		p.mu.Lock()
		s.served = *found
		p.mu.Unlock()
		p.publish()
		p.opts.Logger.Info("it was read what a peer serves", "peer", id, "resources", len(found.resources))
		return nil
	})
}

// discover reads the discovery documents of a peer, which leave out those of its own peers.
func (p *Peers) discover(ctx context.Context, id string) (*served, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	host, err := Address(ctx, *p.store.Load(), id)
	if err != nil {
		p.discoveryFailed("hostport_resolution")
		return nil, err
	}
	out := &served{resources: map[schema.GroupVersionResource]bool{}}
	for _, path := range []string{"/api", "/apis"} {
		list, err := p.document(ctx, host, path)
		if err != nil {
			p.discoveryFailed("fetch_discovery")
			return nil, err
		}
		out.add(list)
	}
	return out, nil
}

// add adds a document. The core group is not in that of /apis, and a group is there once.
func (s *served) add(list *apidiscoveryv2.APIGroupDiscoveryList) {
	for _, g := range list.Items {
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				s.resources[schema.GroupVersionResource{Group: g.Name, Version: v.Version, Resource: r.Resource}] = true
			}
		}
		known := slices.ContainsFunc(s.groups, func(o apidiscoveryv2.APIGroupDiscovery) bool { return o.Name == g.Name })
		if g.Name != "" && !known {
			s.groups = append(s.groups, g)
		}
	}
}

// accept prefers the documents without those of other peers; servers before 1.36 ignore the profile.
const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer," +
	"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

func (p *Peers) document(ctx context.Context, host, path string) (*apidiscoveryv2.APIGroupDiscoveryList, error) {
	header := http.Header{"Accept": {accept}, apiserver.PeerProxiedHeader: {"true"}}
	resp, body, err := p.client.Get(ctx, reader, &url.URL{Scheme: "https", Host: host, Path: path}, header, maxDocument)
	code := http.StatusServiceUnavailable
	if resp != nil {
		code = resp.StatusCode
	}
	p.proxied(code, schema.GroupVersionResource{})
	if err != nil {
		return nil, err
	}
	list := &apidiscoveryv2.APIGroupDiscoveryList{}
	if err := codec.Unmarshal(body, list); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", path, host, err)
	}
	if list.Kind != "APIGroupDiscoveryList" {
		return nil, errors.New(path + " of " + host + " is no list of what it serves")
	}
	return list, nil
}

// fill adds what the peers serve, without the versions that every server serves.
func (s *state) fill(servers map[string]*server, f *foreign) {
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		peer := servers[id]
		for r := range peer.resources {
			if !f.has(r.GroupVersion()) {
				s.resources[r] = append(s.resources[r], id)
			}
		}
		var groups []apidiscoveryv2.APIGroupDiscovery
		for _, g := range peer.groups {
			g.Versions = slices.DeleteFunc(slices.Clone(g.Versions), func(v apidiscoveryv2.APIVersionDiscovery) bool {
				return f.has(schema.GroupVersion{Group: g.Name, Version: v.Version})
			})
			if len(g.Versions) > 0 {
				groups = append(groups, g)
			}
		}
		if len(groups) > 0 {
			if s.discovery.Peers == nil {
				s.discovery.Peers = map[string][]apidiscoveryv2.APIGroupDiscovery{}
			}
			s.discovery.Peers[id] = groups
		}
	}
}
