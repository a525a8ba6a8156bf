package proxy

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// forget makes connection tracking forget the UDP flows to endpoints that no longer serve. UDP has no
// connections that end: a client that goes on sending would be sent to a deleted endpoint forever, or
// past a Service that had no endpoint when it began. A flow to an endpoint that serves stays, even where
// policies, hints or the endpoint's coming end send new flows elsewhere.
func (p *Proxy) forget(f Family, fam *family) {
	var ports []*ServicePort
	for name := range fam.flows {
		if sp := fam.table.lookup(name); sp != nil {
			ports = append(ports, sp)
		}
	}
	if stale := StaleFlows(ports); stale != nil {
		began := time.Now()
		n, err := p.opts.Kernel.DeleteFlows(f, stale)
		call2(p.opts.Metrics.FlowsChecked, f, time.Since(began))
		call2(p.opts.Metrics.FlowsDeleted, f, n)
		if err != nil {
			p.log.Warn("delete stale UDP flows failed", "family", f, "err", err)
			return // they are looked at with the next sync
		}
		if n > 0 {
			p.log.Debug("stale UDP flows deleted", "family", f, "n", n)
		}
	}
	clear(fam.flows)
}

// stalesFlows reports whether a change may leave UDP flows that lead to the wrong place: an endpoint no
// longer serves, or the port, or one of its addresses, did not have any before.
func stalesFlows(c Change) bool {
	if c.Name().Protocol != corev1.ProtocolUDP || c.Now == nil || len(c.Now.Serving) == 0 {
		return false
	}
	if c.Was == nil || len(c.Was.Serving) == 0 || !c.Was.sameFronts(c.Now) {
		return true
	}
	return slices.ContainsFunc(c.Was.Serving, func(ep netip.AddrPort) bool { return !slices.Contains(c.Now.Serving, ep) })
}

// StaleFlows returns what reports whether a flow to one of the ports leads to an endpoint that no longer
// serves, or past the Service; nil if there is no UDP port with endpoints. Flows of ports without are left:
// nothing better is known for them.
func StaleFlows(ports []*ServicePort) func(Flow) bool {
	byAddr := map[netip.AddrPort][]netip.AddrPort{}
	byNodePort := map[uint16][]netip.AddrPort{}
	for _, p := range ports {
		if p.Name.Protocol != corev1.ProtocolUDP || len(p.Serving) == 0 {
			continue
		}
		for a := range p.addresses() {
			byAddr[netip.AddrPortFrom(a, p.Port)] = p.Serving
		}
		if p.NodePort != 0 {
			byNodePort[p.NodePort] = p.Serving
		}
	}
	if len(byAddr)+len(byNodePort) == 0 {
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
