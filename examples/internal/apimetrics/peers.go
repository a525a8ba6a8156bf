package apimetrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/peers"
)

// peerings holds the metrics of requests that other servers over the same store serve.
type peerings struct {
	rerouted, failed, unread *prometheus.CounterVec
	hits, misses, alone      prometheus.Counter
}

func newPeerings(r *prometheus.Registry) *peerings {
	return &peerings{
		rerouted: counter(r, "apiserver_rerouted_request_total", "Requests sent to other API servers, which serve the resource; without a resource, those for what they serve.", "code", "group", "version", "resource"),
		failed:   counter(r, "apiserver_peer_proxy_errors_total", "Requests that could not be sent to another API server.", "type", "group", "version", "resource"),
		unread:   counter(r, "apiserver_peer_discovery_sync_errors_total", "Times that it could not be read what other API servers serve.", "type"),
		hits:     counter(r, "aggregator_discovery_peer_aggregated_cache_hits_total", "Discovery documents of all API servers that had been made before.").WithLabelValues(),
		misses:   counter(r, "aggregator_discovery_peer_aggregated_cache_misses_total", "Discovery documents of all API servers that were made.").WithLabelValues(),
		alone:    counter(r, "aggregator_discovery_nopeer_requests_total", "Requests for the discovery document of this API server alone.").WithLabelValues(),
	}
}

// merged counts a discovery document of all servers.
func (p *peerings) merged(cached bool) {
	if cached {
		p.hits.Inc()
	} else {
		p.misses.Inc()
	}
}

// Peers returns the hooks for the peers of a server.
func (m *Metrics) Peers() peers.Metrics {
	return peers.Metrics{
		Proxied: func(code int, r schema.GroupVersionResource) {
			m.peers.rerouted.WithLabelValues(strconv.Itoa(code), r.Group, r.Version, r.Resource).Inc()
		},
		Failed: func(why string, r schema.GroupVersionResource) {
			m.peers.failed.WithLabelValues(why, r.Group, r.Version, r.Resource).Inc()
		},
		DiscoveryFailed: func(why string) { m.peers.unread.WithLabelValues(why).Inc() },
	}
}
