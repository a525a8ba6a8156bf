package proxy

import (
	"net/netip"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// forget makes connection tracking forget the UDP flows to endpoints that no longer serve. UDP has no
// connections that end: a client that goes on sending would be sent to an endpoint that is gone for ever, or
// past a Service that had no endpoint when it began. A flow to an endpoint that serves stays, even where
// policies, hints or the endpoint's coming end send new flows elsewhere.
func (p *Proxy) forget(f Family, fam *family) {
	if !fam.flows {
		return
	}
	stale := staleFlows(fam.all())
	if stale == nil {
		fam.flows = false
		return
	}
	n, err := p.opts.Kernel.DeleteFlows(f, stale)
	call2(p.opts.Metrics.FlowsDeleted, f, n)
	if err != nil {
		p.log.Warn("delete stale UDP flows failed", "family", f, "err", err)
		return
	}
	fam.flows = false
	if n > 0 {
		p.log.Debug("stale UDP flows deleted", "family", f, "n", n)
	}
}

// staleFlows returns what tells the flows to forget, or nil if there is no UDP port with endpoints. Flows of
// ports without are left: nothing better is known for them.
func staleFlows(ports []*ServicePort) func(Flow) bool {
	byAddr := map[netip.AddrPort][]netip.AddrPort{}
	byNodePort := map[uint16][]netip.AddrPort{}
	for _, p := range ports {
		if p.Name.Protocol != corev1.ProtocolUDP {
			continue
		}
		ok := p.Serving
		if len(ok) == 0 {
			continue
		}
		byAddr[netip.AddrPortFrom(p.ClusterIP, p.Port)] = ok
		for _, a := range slices.Concat(p.ExternalIPs, p.LoadBalancerIPs) {
			byAddr[netip.AddrPortFrom(a, p.Port)] = ok
		}
		if p.NodePort != 0 {
			byNodePort[p.NodePort] = ok
		}
	}
	if len(byAddr) == 0 {
		return nil
	}
	return func(fl Flow) bool {
		ok, ours := byAddr[fl.To]
		if !ours {
			ok, ours = byNodePort[fl.To.Port()]
		}
		return ours && !slices.Contains(ok, fl.Server)
	}
}
