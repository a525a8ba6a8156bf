package proxy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Prepare sets the kernel parameters that a proxy with these options needs, which takes more privileges than
// writing rules: Run needs only CAP_NET_ADMIN afterwards. It returns an error if the mode is not available on
// the node.
func Prepare(ctx context.Context, opts Options) error {
	opts, err := opts.withDefaults()
	if err != nil {
		return err
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	for {
		b, err := NewBackend(opts.Mode, IPv4, opts.backend(log))
		if err != nil {
			return err
		}
		if err = b.Probe(ctx); err == nil {
			return opts.sysctls(log)
		}
		if opts.Mode != IPVS || !opts.FallBack || ctx.Err() != nil {
			return err
		}
		log.Warn("mode ipvs is not available, falling back to iptables", "err", err)
		opts.Mode = IPTables
	}
}

// sysctls sets what the rules cannot work without, and the limits of the options.
func (opts *Options) sysctls(log *slog.Logger) error {
	must := map[string]string{"net/ipv4/ip_forward": "1"}
	if opts.Mode == IPTables && !opts.NoLocalhostNodePorts {
		must["net/ipv4/conf/all/route_localnet"] = "1"
	}
	if opts.Mode == IPVS {
		must["net/ipv4/vs/conntrack"] = "1" // or packets would keep their source
	}
	for _, name := range slices.Sorted(maps.Keys(must)) {
		if err := opts.Kernel.SetSysctl(name, must[name]); err != nil {
			return fmt.Errorf("proxy: the node must have %s=%s: %w", name, must[name], err)
		}
	}
	wish := opts.Conntrack.sysctls()
	if opts.Mode == IPVS {
		release, _ := opts.Kernel.Sysctl("kernel/osrelease")
		maps.Copy(wish, opts.IPVS.sysctls(versionIn(release)))
	}
	// Bridged pods of one node would answer each other past the rules without the first two. Not every kernel
	// has them, nor the last one.
	for _, name := range []string{"net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables", "net/ipv6/conf/all/forwarding"} {
		wish[name] = "1"
	}
	for _, name := range slices.Sorted(maps.Keys(wish)) {
		if err := wishSysctl(opts.Kernel, name, wish[name]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Warn("set kernel parameter failed", "err", err)
		}
	}
	return nil
}

// wishSysctl sets a parameter that can be done without. The number of connections is never lowered; inside a
// network namespace it can only be read.
func wishSysctl(k Kernel, name, value string) error {
	if name == conntrackMax {
		if now, err := k.Sysctl(name); err == nil {
			have, _ := strconv.Atoi(now)
			if want, _ := strconv.Atoi(value); have >= want {
				return nil
			}
		}
	}
	return k.SetSysctl(name, value)
}

const conntrackMax = "net/netfilter/nf_conntrack_max"

func (c *Conntrack) sysctls() map[string]string {
	out := map[string]string{}
	if c.Max > 0 {
		out[conntrackMax] = strconv.Itoa(c.Max)
	}
	if c.TCPBeLiberal {
		out["net/netfilter/nf_conntrack_tcp_be_liberal"] = "1"
	}
	for name, d := range map[string]time.Duration{
		"tcp_timeout_established": c.TCPEstablished, "tcp_timeout_close_wait": c.TCPCloseWait, "udp_timeout": c.UDP, "udp_timeout_stream": c.UDPStream,
	} {
		if d > 0 {
			out["net/netfilter/nf_conntrack_"+name] = strconv.Itoa(int(d / time.Second))
		}
	}
	return out
}

// sysctls let connections to deleted endpoints expire, and templates of session affinity to drained ones.
// Before Linux 5.9, a connection from a port that was used recently would wait for a second.
func (o *IPVSOptions) sysctls(kernel version) map[string]string {
	out := map[string]string{"net/ipv4/vs/expire_nodest_conn": "1", "net/ipv4/vs/expire_quiescent_template": "1"}
	if !kernel.atLeast(5, 9) {
		out["net/ipv4/vs/conn_reuse_mode"] = "0"
	}
	if o.StrictARP {
		out["net/ipv4/conf/all/arp_ignore"] = "1"
		out["net/ipv4/conf/all/arp_announce"] = "2"
	}
	return out
}
