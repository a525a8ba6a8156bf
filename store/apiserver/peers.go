package apiserver

import (
	"context"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// Peers are servers over the same store, of which some may serve resources that this one does not: servers of
// another version during an upgrade, or with another --runtime-config. store/peers finds them. All methods
// may be called concurrently.
type Peers interface {
	// Run follows the peers of s until ctx ends. It is called once, by the server's Run.
	Run(ctx context.Context, s *Server)
	// Peer returns the transport to a peer that serves a resource, and its host; nil if none does. It is
	// called for resources that this server does not serve. Requests have the caller in their context, see
	// authn.UserFrom. An error, of Peer or of the transport, is sent to the client if it is an
	// *apierrors.StatusError.
	Peer(ctx context.Context, resource schema.GroupVersionResource) (to http.RoundTripper, host string, err error)
	// Discovery returns what the peers serve; the result must not be changed, and is another one after each
	// change.
	Discovery() *PeerDiscovery
}

// PeerDiscovery is what the servers over a store serve, as the merged discovery document shows it.
type PeerDiscovery struct {
	// Own is the identity of this server. Where servers describe a group differently, the first in the order
	// of identities counts.
	Own string
	// Peers are the groups of the others, by identity, in the order of their documents.
	Peers map[string][]apidiscoveryv2.APIGroupDiscovery
}

// PeerProxiedHeader marks requests that a peer has passed on, with the value true: they are served here or
// not at all, so that no two servers pass a request back and forth.
const PeerProxiedHeader = "X-Kubernetes-Peer-Proxied"

// servePeer passes a request for a resource that this server does not serve on to a peer that does, and
// reports whether there is one.
func (s *Server) servePeer(r *request) bool {
	if s.opts.Peers == nil || r.Header.Get(PeerProxiedHeader) == "true" {
		return false
	}
	to, host, err := s.opts.Peers.Peer(r.Context(), r.info.GVR)
	if err != nil {
		r.fail(err)
		return true
	}
	if to == nil {
		return false
	}
	s.serveElsewhere(r, to, host)
	return true
}

// peerDocument is the merged discovery document of what this server and its peers serve.
type peerDocument struct {
	local *discovery
	peers *PeerDiscovery
	aggregated
}

// mergedDocument returns the document of /apis with what the peers serve; nil without peers.
func (s *Server) mergedDocument(d *discovery) *peerDocument {
	if s.opts.Peers == nil {
		return nil
	}
	peers := s.opts.Peers.Discovery()
	m := s.peerDocument.Load()
	cached := m != nil && m.local == d && m.peers == peers
	if !cached {
		m = &peerDocument{local: d, peers: peers}
		s.peerDocument.Store(m)
	}
	if hook := s.opts.Metrics.DiscoveryMerged; hook != nil {
		hook(cached)
	}
	return m
}
