package proxy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/informers"
)

// watchServiceCIDRs watches the ranges of cluster IPs if they are needed and not part of the options. Nothing
// waits for them: where the server does not serve them, or the proxy may not read them, traffic to unknown
// cluster IPs is not dropped.
func (p *Proxy) watchServiceCIDRs(set *informers.Set) {
	if p.opts.Mode != NFTables || len(p.opts.ServiceCIDRs) > 0 {
		return
	}
	p.serviceCIDRs = informers.For(set, informers.Options[*networkingv1.ServiceCIDR]{})
	p.serviceCIDRs.AddHandler(p.onServiceCIDR, informers.HandlerOptions{})
}

func (p *Proxy) onServiceCIDR(e informers.Event[*networkingv1.ServiceCIDR]) {
	if e.Type == informers.Updated && slices.Equal(e.Old().Spec.CIDRs, e.New().Spec.CIDRs) {
		return
	}
	p.lookAgain()
}

// lookAtServiceCIDRs takes over the ranges of the API. Those that are being deleted count until they are
// gone: Services may still have addresses in them.
func (p *Proxy) lookAtServiceCIDRs() error {
	if p.serviceCIDRs == nil {
		return nil
	}
	if !p.serviceCIDRs.HasSynced() { // with the next sync
		p.mu.Lock()
		p.stale = true
		p.mu.Unlock()
		return nil
	}
	var ranges []netip.Prefix
	err := p.serviceCIDRs.Lister().ViewAll(informers.ListOptions{}, func(c *networkingv1.ServiceCIDR) bool {
		for _, s := range c.Spec.CIDRs {
			if r, err := netip.ParsePrefix(s); err == nil {
				ranges = append(ranges, r)
			}
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("proxy: service CIDRs: %w", err)
	}
	p.opts.ServiceCIDRs = disjoint(ranges)
	return nil
}

// disjoint are the ranges without those that others contain, sorted.
func disjoint(ranges []netip.Prefix) []netip.Prefix {
	sorted := slices.Clone(ranges)
	for i, r := range sorted {
		sorted[i] = r.Masked()
	}
	slices.SortFunc(sorted, func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(a.Bits(), b.Bits()), a.Addr().Compare(b.Addr()))
	})
	var out []netip.Prefix
	for _, r := range sorted {
		if !slices.ContainsFunc(out, func(wide netip.Prefix) bool { return wide.Overlaps(r) }) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return out
}
