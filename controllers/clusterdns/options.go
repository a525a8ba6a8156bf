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

// PodMode says how names of pods are answered.
type PodMode string

// The modes.
const (
	// PodsInsecure answers every address in a namespace that exists, whether there is such a pod or not.
	PodsInsecure PodMode = "insecure"
	// PodsVerified answers addresses of pods of the namespace only; it holds all pods in memory.
	PodsVerified PodMode = "verified"
	// PodsDisabled knows no names of pods.
	PodsDisabled PodMode = "disabled"
)

// Options of a server. The zero value knows cluster.local, listens nowhere and passes nothing on.
type Options struct {
	// Domain of the cluster; empty means cluster.local.
	Domain string
	// Addresses to listen on, as host:port, with UDP and TCP.
	Addresses []string
	// PacketConns and Listeners are served too, and closed when Run returns.
	PacketConns []net.PacketConn
	Listeners   []net.Listener
	// Upstreams are resolvers for all other names, as host or host:port; see [ResolvConf]. With none such
	// queries are refused. They are asked in this order, the next when one fails or has not answered after a
	// quarter of a second; one that has failed three times in a row is asked last. Their answers are kept for
	// as long as the records allow, 30 s at most, 10,000 of them.
	Upstreams []string
	// UpstreamTimeout is how long they have to answer, all together; 0 means 2 s.
	UpstreamTimeout time.Duration
	// MaxForwards is how many queries may wait for upstreams at once; more fail at once. 0 means 500.
	MaxForwards int
	// TTL of all records, in whole seconds; 0 means 5 s.
	TTL time.Duration
	// Pods says how names of pods are answered; empty means PodsInsecure.
	Pods PodMode
	// Answered, if set, is told of every answer: the type asked for, the result code, and how long it took.
	Answered func(qtype, rcode string, forwarded bool, took time.Duration)
	// Logger gets what cannot be returned; nil means that of the manager.
	Logger *slog.Logger
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

// ResolvConf returns the resolvers a file such as /etc/resolv.conf names, as host:port, without those in
// except: a server must not pass queries on to itself.
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
