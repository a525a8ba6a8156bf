package clusterdns

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// PodMode defines how names of pods are resolved.
type PodMode string

// The modes.
const (
	// PodsInsecure resolves every address in an existing namespace, whether there is such a pod or not.
	PodsInsecure PodMode = "insecure"
	// PodsVerified resolves only addresses of pods of the namespace. It caches all pods in memory.
	PodsVerified PodMode = "verified"
	// PodsDisabled resolves no names of pods.
	PodsDisabled PodMode = "disabled"
)

// Options of a server. The zero value serves cluster.local, does not listen and does not forward queries.
type Options struct {
	// Domain of the cluster; empty means cluster.local.
	Domain string
	// Addresses to listen on, as host:port, with UDP and TCP.
	Addresses []string
	// PacketConns and Listeners are served too, and closed when Run returns.
	PacketConns []net.PacketConn
	Listeners   []net.Listener
	// Upstreams are resolvers for all other names, as host or host:port; see [ResolvConf]. If there are none,
	// such queries are refused. The one that has been fastest lately is queried first, and the next one if it
	// fails or has not responded after 250 ms. One that has failed three times in a row is queried last. Up
	// to 10,000 responses are cached for as long as their records allow, but at most 30 s; one that is
	// requested in the last tenth of its life is fetched again before it expires.
	Upstreams []string
	// UpstreamTimeout is the total time for the queries of all upstreams; 0 means 2 s.
	UpstreamTimeout time.Duration
	// MaxForwards is the maximum number of queries that wait for upstreams, equal ones included; further ones
	// fail immediately. 0 means 500.
	MaxForwards int
	// TTL of all records, in whole seconds; 0 means 5 s.
	TTL time.Duration
	// Pods defines how names of pods are resolved; empty means PodsInsecure.
	Pods PodMode
	// Metrics are the metrics hooks.
	Metrics Metrics
	// Logger receives failures; nil means the logger of the manager.
	Logger *slog.Logger
}

// Metrics are hooks that the server calls; each may be nil. They are called concurrently.
type Metrics struct {
	// Answered is called after every response with the query type, the response code and the duration.
	// forwarded reports whether it was a query for upstreams, cached or not.
	Answered func(qtype, rcode string, forwarded bool, took time.Duration)
	// Cached is called for every query for upstreams; hit reports whether the response was cached.
	Cached func(hit bool)
	// Exchanged is called after every query of an upstream, unless another was faster. err is nil if it has
	// responded, whatever the response code.
	Exchanged func(upstream string, took time.Duration, err error)
}

func (opts Options) withDefaults() (Options, error) {
	if opts.Domain == "" {
		opts.Domain = "cluster.local"
	}
	if _, ok := dns.IsDomainName(opts.Domain); !ok || strings.Trim(opts.Domain, ".") == "" {
		return opts, fmt.Errorf("clusterdns: %q is not a domain", opts.Domain)
	}
	opts.Domain = dns.CanonicalName(opts.Domain)
	if opts.UpstreamTimeout <= 0 {
		opts.UpstreamTimeout = 2 * time.Second
	}
	if opts.MaxForwards <= 0 {
		opts.MaxForwards = 500
	}
	if opts.TTL <= 0 {
		opts.TTL = 5 * time.Second
	}
	switch opts.Pods {
	case "":
		opts.Pods = PodsInsecure
	case PodsInsecure, PodsVerified, PodsDisabled:
	default:
		return opts, fmt.Errorf("clusterdns: Pods %q is not one of %s, %s, %s", opts.Pods, PodsInsecure, PodsVerified, PodsDisabled)
	}
	upstreams := make([]string, len(opts.Upstreams))
	for i, u := range opts.Upstreams {
		if _, _, err := net.SplitHostPort(u); err != nil {
			u = net.JoinHostPort(strings.Trim(u, "[]"), "53")
		}
		upstreams[i] = u
	}
	opts.Upstreams = upstreams
	return opts, nil
}

// ResolvConf returns the resolvers in a file such as /etc/resolv.conf as host:port, without those in except,
// because a server must not forward queries to itself.
func ResolvConf(path string, except ...string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("clusterdns: %w", err)
	}
	defer f.Close()
	c, err := dns.ClientConfigFromReader(f)
	if err != nil {
		return nil, fmt.Errorf("clusterdns: %s: %w", path, err)
	}
	var out []string
	for _, s := range c.Servers {
		if u := net.JoinHostPort(s, c.Port); !slices.Contains(except, u) && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out, nil
}
