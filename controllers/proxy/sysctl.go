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
	must := map[string]string{"net/ipv4/ip_forward": "1"}
	if p.opts.Mode == IPTables && !p.opts.NoLocalhostNodePorts {
		must["net/ipv4/conf/all/route_localnet"] = "1"
	}
	for _, name := range sorted(must) {
		if err := p.opts.Kernel.SetSysctl(name, must[name]); err != nil {
			return fmt.Errorf("proxy: the node must have %s=%s: %w", name, must[name], err)
		}
	}
	wish := p.opts.Conntrack.sysctls()
	// Bridged pods of one node would answer each other past the rules without the first two. Not every kernel
	// has them, nor the last one.
	for _, name := range []string{"net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables", "net/ipv6/conf/all/forwarding"} {
		wish[name] = "1"
	}
	for _, name := range sorted(wish) {
		if err := p.wish(name, wish[name]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.log.Warn("set kernel parameter failed", "err", err)
		}
	}
	return nil
}

// wish sets a parameter that can be done without. The number of connections is never lowered; inside a
// network namespace it can only be read.
func (p *Proxy) wish(name, value string) error {
	if name == conntrackMax {
		if now, err := p.opts.Kernel.Sysctl(name); err == nil {
			have, _ := strconv.Atoi(now)
			if want, _ := strconv.Atoi(value); have >= want {
				return nil
			}
		}
	}
	return p.opts.Kernel.SetSysctl(name, value)
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
