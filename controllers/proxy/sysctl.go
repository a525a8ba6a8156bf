package proxy

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"
)

// sysctls sets what the rules cannot work without, and the limits that were asked for.
func (p *Proxy) sysctls() error {
	k, c := p.opts.Kernel, p.opts.Conntrack
	must := map[string]string{"net/ipv4/ip_forward": "1"}
	if p.opts.Mode == IPTables && !p.opts.NoLocalhostNodePorts {
		must["net/ipv4/conf/all/route_localnet"] = "1"
	}
	if c.Max > 0 {
		must["net/netfilter/nf_conntrack_max"] = strconv.Itoa(c.Max)
	}
	if c.TCPBeLiberal {
		must["net/netfilter/nf_conntrack_tcp_be_liberal"] = "1"
	}
	for name, d := range map[string]time.Duration{
		"tcp_timeout_established": c.TCPEstablished, "tcp_timeout_close_wait": c.TCPCloseWait, "udp_timeout": c.UDP, "udp_timeout_stream": c.UDPStream,
	} {
		if d > 0 {
			must["net/netfilter/nf_conntrack_"+name] = strconv.Itoa(int(d / time.Second))
		}
	}
	for _, name := range sorted(must) {
		if err := k.SetSysctl(name, must[name]); err != nil {
			// Inside a network namespace some limits can only be read.
			if now, rerr := k.Sysctl(name); rerr == nil && now == must[name] {
				continue
			}
			return fmt.Errorf("proxy: the node must have %s=%s: %w", name, must[name], err)
		}
	}
	// Not every kernel has these: bridged pods of one node answer each other past the rules without the first two, and the
	// last one is not there without IPv6.
	for _, name := range []string{"net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables", "net/ipv6/conf/all/forwarding"} {
		if err := k.SetSysctl(name, "1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.log.Warn("a parameter of the kernel could not be set", "err", err)
		}
	}
	return nil
}
